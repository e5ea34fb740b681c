internal import Einlass

/// The table `service_refusal`: one row for each origin of a service, because helpers live for
/// milliseconds and no process can remember a refusal. The origin is the key and not the configured
/// service, because a service may be edited meanwhile. The time of a failing refresh is a row too,
/// because an older einlass refuses a store with another column.
extension Database {
  /// Returns the refusals of an account's credentials by services.
  func serviceRefusals(of account: Account.ID) throws(Problem) -> [ServiceRefusal] {
    try all(
      """
      SELECT client_id, resource, service, ends_at FROM service_refusal
      WHERE account = ?1 ORDER BY client_id, resource, service
      """, .text(account.rawValue)
    ) { row throws(Problem) in
      ServiceRefusal(
        of: .init(try row.text(0), resource: try row.text(1)), by: presentable(try row.text(2)),
        endsAt: try row.integer(3))
    }
  }

  /// Adds a refusal or replaces the one by the same service. Removes those of all accounts that have
  /// ended, except the marks of `ServiceRefusal.Refresh`.
  func put(
    _ refusal: ServiceRefusal, of account: Account.ID, at now: UnixTime
  ) throws(Problem) {
    try run(
      "DELETE FROM service_refusal WHERE service NOT LIKE 'refresh%' AND (ends_at <= ?1 OR ends_at > ?2)",
      .integer(now), .integer(ServiceRefusal.latestEnd(at: now)))
    try run(
      """
      INSERT INTO service_refusal (account, client_id, resource, service, ends_at)
      VALUES (?1, ?2, ?3, ?4, ?5)
      ON CONFLICT (account, client_id, resource, service) DO UPDATE SET ends_at = ?5
      """, .text(account.rawValue), .text(refusal.place.clientID), .text(refusal.place.resource),
      .text(refusal.service), .integer(refusal.endsAt))
    // Else the refusals of many made-up services would make the account too long for an answer.
    try run(
      """
      DELETE FROM service_refusal
      WHERE account = ?1 AND client_id = ?2 AND resource = ?3 AND service <> '' AND service NOT LIKE 'refresh%'
        AND service NOT IN (
        SELECT service FROM service_refusal
        WHERE account = ?1 AND client_id = ?2 AND resource = ?3 AND service <> '' AND service NOT LIKE 'refresh%'
        ORDER BY ends_at DESC, service LIMIT ?4)
      """, .text(account.rawValue), .text(refusal.place.clientID), .text(refusal.place.resource),
      .integer(ServiceRefusal.countLimit))
  }

  /// Removes the refusals of a credential that was replaced.
  func deleteServiceRefusals(
    of place: AccountStore.Place, _ account: Account.ID
  ) throws(Problem) {
    try runByCommit(
      """
      DELETE FROM service_refusal
      WHERE account = ?1 AND client_id = ?2 AND resource = ?3 AND service <> ''
      """,
      [.text(account.rawValue), .text(place.clientID), .text(place.resource)])
  }

  /// Returns the resources of an account's refused credentials that have no refresh token, sorted;
  /// empty for none in particular.
  func refusedResources(of account: Account.ID) throws(Problem) -> [String] {
    try all(
      """
      SELECT DISTINCT resource FROM credential
      WHERE account = ?1 AND refused <> 0 AND refresh_token IS NULL ORDER BY resource
      """, .text(account.rawValue)
    ) { row throws(Problem) in try row.text(0) }
  }
}
