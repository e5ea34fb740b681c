internal import Einlass

/// Reads from the database. The caller has begun the transaction.
extension OpenStore: StoreReader {
  var whole: AccountStore.Snapshot? { nil }
  var revision: Int64 { get throws(Problem) { try connection.meta().revision } }

  func account(_ id: Account.ID) throws(Problem) -> Account? { try connection.account(id) }

  func accounts(
    of provider: String?, after position: Int64, limit: Int
  ) throws(Problem) -> [Account] {
    try connection.accounts(of: provider, after: position, limit: limit)
  }

  func lastUsedAccounts(of provider: String, limit: Int) throws(Problem) -> [Account] {
    try connection.lastUsedAccounts(of: provider, limit: limit)
  }

  func accounts(
    of provider: String, subject: String, limit: Int
  ) throws(Problem) -> [Account] {
    try connection.accounts(of: provider, subject: subject, limit: limit)
  }

  func accounts(
    of provider: String, username: String, limit: Int
  ) throws(Problem) -> [Account] {
    try connection.accounts(of: provider, username: username, limit: limit)
  }

  func accounts(withResourceBelow prefix: String) throws(Problem) -> [Account] {
    try connection.accounts(withResourceBelow: prefix)
  }

  func preferredAccount(of provider: String, by application: String) throws(Problem) -> Account? {
    try connection.preferredAccount(of: provider, by: application)
  }

  func grant(_ place: AccessGrant.Place) throws(Problem) -> AccessGrant? {
    try connection.grant(place)
  }

  func grants(after place: AccessGrant.Place?, limit: Int) throws(Problem) -> [AccessGrant] {
    try connection.grants(after: place, limit: limit)
  }

  func registrations(at provider: String) throws(Problem) -> [StoredRegistration.Known] {
    try connection.registrationRows(at: provider).map(\.known)
  }

  var registrations: [StoredRegistration.Known] {
    get throws(Problem) { try connection.registrationRows().map(\.known) }
  }
}

extension Database {
  /// A store with at most this many accounts and grants is read as a whole and cached, because
  /// repeated queries cost more.
  private static var smallLimit: Int { 100 }

  /// Returns the store's clear content, or `nil` if it is larger than `smallLimit`.
  func smallSnapshot() throws(Problem) -> AccountStore.Snapshot? {
    let count = try first(
      """
      SELECT (SELECT count(*) FROM (SELECT 1 FROM account LIMIT ?1) AS a)
        + (SELECT count(*) FROM (SELECT 1 FROM access_grant LIMIT ?1) AS g)
      """, .integer(Int64(Self.smallLimit + 1))
    ) { row throws(Problem) in try row.integer(0) }
    guard let count, count <= Self.smallLimit else { return nil }
    return AccountStore.Snapshot(
      revision: try meta().revision,
      accounts: try accounts(of: nil, after: .min, limit: Self.smallLimit),
      grants: try grants(after: nil, limit: Self.smallLimit),
      registrations: try registrationRows().map(\.known))
  }
}
