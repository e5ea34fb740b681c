internal import Einlass

extension Database {
  private static var grantColumns: String {
    """
    SELECT application, provider, state, permissions, audience, includes, changed_at, accounts, title
    FROM access_grant
    """
  }

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

  /// Returns the grants for some accounts of the provider, this one among them.
  func grants(naming account: Account.ID, of provider: String) throws(Problem) -> [AccessGrant] {
    try all(
      "\(Self.grantColumns) WHERE provider = ?1 AND accounts IS NOT NULL", .text(provider),
      read: Self.grant
    ).filter { $0.accounts?.contains(account) == true }
  }

  private static func grant(_ row: any Row) throws(Problem) -> AccessGrant {
    AccessGrant(
      application: try row.text(0), provider: try row.text(1), state: try row.word(2),
      accounts: try row.optionalText(7).map { TextList.items($0).map(Account.ID.init(rawValue:)) },
      permissions: TextList.items(try row.text(3)), audience: try row.optionalWord(4),
      includes: TextList.items(try row.text(5)).compactMap(AccessGrant.Inclusion.init),
      title: try row.optionalText(8), changedAt: try row.integer(6))
  }

  /// Adds the grant or replaces the one of the same application and provider.
  func put(_ grant: AccessGrant) throws(Problem) {
    try run(
      AccessGrant.upsert,
      .text(grant.application), .text(grant.provider), .text(grant.state.rawValue),
      .text(TextList.text(grant.permissions)), .optional(grant.audience?.rawValue),
      .text(TextList.text(grant.includes.map(\.rawValue))), .integer(grant.changedAt),
      .optional(grant.accounts.map { TextList.text($0.map(\.rawValue)) }),
      .optional(grant.title))
  }

  /// Removes the grant, so that the application counts as never asked.
  func deleteGrant(_ place: AccessGrant.Place) throws(Problem) {
    try run(
      "DELETE FROM access_grant WHERE application = ?1 AND provider = ?2",
      .text(place.application), .text(place.provider))
  }
}

extension AccessGrant {
  fileprivate static let upsert = SQLiteConnection.upsert(
    "access_grant", key: ["application", "provider"],
    ["state", "permissions", "audience", "includes", "changed_at", "accounts", "title"])
}

extension OpenStore {
  /// Replaces a decision. Returns `false` if that changes nothing.
  func decide(
    _ place: AccessGrant.Place, _ edit: (AccessGrant?) -> AccessGrant?
  ) throws(Problem) -> Bool {
    let former = try connection.grant(place)
    let decision = edit(former)
    guard decision != former else { return false }
    if let decision { try connection.put(decision) } else { try connection.deleteGrant(place) }
    try connection.note(.grant(place))
    return true
  }
}

extension AccessGrant {
  /// Returns the decision without an account that was removed; `nil` if no account is left. A denial
  /// stays.
  func without(_ account: Account.ID) -> AccessGrant? {
    guard state == .granted, let accounts else { return self }
    var grant = self
    grant.accounts = accounts.filter { $0 != account }
    return grant.accounts == [] ? nil : grant
  }
}
