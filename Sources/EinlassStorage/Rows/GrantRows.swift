internal import Einlass

extension SQLiteConnection {
  private static let grantColumns = """
    SELECT application, provider, state, permissions, audience, includes, changed_at FROM access_grant
    """

  func grant(_ place: AccessGrant.Place) throws(Problem) -> AccessGrant? {
    try first(
      "\(Self.grantColumns) WHERE application = ?1 AND provider = ?2", .text(place.application),
      .text(place.provider), read: Self.grant)
  }

  /// Returns the grants after a place, or from the first on, in the order of their places.
  func grants(after place: AccessGrant.Place?, limit: Int) throws(Problem) -> [AccessGrant] {
    // The pair of empty strings precedes every place, because no provider id is empty.
    try all(
      """
      \(Self.grantColumns)
      WHERE (provider, application) > (?1, ?2) ORDER BY provider, application LIMIT ?3
      """, .text(place?.provider ?? ""), .text(place?.application ?? ""), .integer(Int64(limit)),
      read: Self.grant)
  }

  private static func grant(_ row: borrowing SQLiteStatement) throws(Problem) -> AccessGrant {
    AccessGrant(
      application: try row.text(0), provider: try row.text(1), state: try row.word(2),
      permissions: TextList.items(try row.text(3)), audience: try row.optionalWord(4),
      includes: TextList.items(try row.text(5)).compactMap(AccessGrant.Inclusion.init),
      changedAt: try row.integer(6))
  }

  /// Adds the grant or replaces the one of the same application and provider.
  func put(_ grant: AccessGrant) throws(Problem) {
    try run(
      """
      INSERT OR REPLACE INTO access_grant
        (application, provider, state, permissions, audience, includes, changed_at)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
      """,
      .text(grant.application), .text(grant.provider), .text(grant.state.rawValue),
      .text(TextList.text(grant.permissions)), .optional(grant.audience?.rawValue),
      .text(TextList.text(grant.includes.map(\.rawValue))), .integer(grant.changedAt))
  }

  /// Removes the grant, so that the application counts as never asked. Returns `false` if there was
  /// none.
  func deleteGrant(application: String, provider: String) throws(Problem) -> Bool {
    try run(
      "DELETE FROM access_grant WHERE application = ?1 AND provider = ?2", .text(application),
      .text(provider))
    return changes > 0
  }
}
