internal import Einlass

private enum AccountSelection {
  static let whole = columns(
    scopes: """
      (SELECT scopes FROM credential WHERE credential.account = account.id AND resource = ''
        ORDER BY generation DESC LIMIT 1)
      """)
  /// Cheaper, because SQLite builds a table to sort for each row with scopes.
  static let withoutScopes = columns(scopes: "NULL")

  private static func columns(scopes: String) -> String {
    """
    SELECT id, provider, username, display_name, subject, email, avatar, health,
      EXISTS (SELECT 1 FROM credential WHERE credential.account = account.id),
      added_at, last_used_at, position,
      EXISTS (SELECT 1 FROM preference WHERE preference.account = account.id),
      EXISTS (SELECT 1 FROM credential WHERE credential.account = account.id AND resource <> ''),
      email_verified, reported,
      EXISTS (SELECT 1 FROM service_refusal WHERE service_refusal.account = account.id),
      EXISTS (SELECT 1 FROM credential WHERE credential.account = account.id AND refused <> 0),
      \(scopes),
      (SELECT max(refresh_expires_at) FROM credential
        WHERE credential.account = account.id AND resource = '')
    FROM account
    """
  }
}

extension Database {
  private func accounts(
    _ rest: String, _ values: SQLValue..., columns: String = AccountSelection.whole
  ) throws(Problem) -> [Account] {
    let found = try all("\(columns) \(rest)", values: values) { row throws(Problem) in
      (
        try Self.account(row), isPreferred: try row.integer(12) != 0,
        hasResources: try row.integer(13) != 0, hasServiceRefusals: try row.integer(16) != 0,
        hasRefused: try row.integer(17) != 0
      )
    }
    var accounts: [Account] = []
    for (account, isPreferred, hasResources, hasServiceRefusals, hasRefused) in found {
      var account = account
      if hasServiceRefusals { account.serviceRefusals = try serviceRefusals(of: account.id) }
      if hasRefused { account.refusedResources = try refusedResources(of: account.id) }
      if isPreferred { account.preferredBy = try applications(preferring: account.id) }
      if hasResources { account.resources = try resources(of: account.id) }
      accounts.append(account)
    }
    return accounts
  }

  func account(_ id: Account.ID, withScopes: Bool = true) throws(Problem) -> Account? {
    try accounts(
      "WHERE id = ?1", .text(id.rawValue),
      columns: withScopes ? AccountSelection.whole : AccountSelection.withoutScopes
    ).first
  }

  /// Returns the accounts after a position, in order of adding. `nil` means all providers.
  func accounts(
    of provider: String?, after position: Int64, limit: Int
  ) throws(Problem) -> [Account] {
    guard let provider else {
      return try accounts(
        "WHERE position > ?1 ORDER BY position LIMIT ?2", .integer(position), .integer(Int64(limit))
      )
    }
    return try accounts(
      "WHERE provider = ?1 AND position > ?2 ORDER BY position LIMIT ?3", .text(provider),
      .integer(position), .integer(Int64(limit)))
  }

  /// Returns the most recently used accounts first. Unused accounts follow in order of adding.
  func lastUsedAccounts(of provider: String, limit: Int) throws(Problem) -> [Account] {
    try accounts(
      "WHERE provider = ?1 ORDER BY last_used_at DESC NULLS LAST, position LIMIT ?2",
      .text(provider),
      .integer(Int64(limit)))
  }

  /// Returns the accounts of one subject, in order of adding.
  func accounts(
    of provider: String, subject: String, limit: Int
  ) throws(Problem) -> [Account] {
    try accounts(
      "WHERE provider = ?1 AND subject = ?2 ORDER BY position LIMIT ?3", .text(provider),
      .text(subject), .integer(Int64(limit)))
  }

  /// Returns a provider's accounts with this user name, in order of adding. Without the sign before
  /// `position` SQLite would read all accounts in that order.
  func accounts(
    of provider: String, username: String, limit: Int
  ) throws(Problem) -> [Account] {
    try accounts(
      "WHERE provider = ?1 AND username = ?2 ORDER BY +position LIMIT ?3", .text(provider),
      .text(username), .integer(Int64(limit)))
  }

  /// Returns the accounts with a credential for a protected resource that begins with this text, in
  /// order of adding. Reads only the credentials for resources.
  func accounts(withResourceBelow prefix: String) throws(Problem) -> [Account] {
    try accounts(
      """
      WHERE id IN (
        SELECT account FROM credential \(indexed(by: "credential_resource"))
        WHERE resource <> '' AND substr(resource, 1, length(?1)) = ?1)
      ORDER BY +position
      """, .text(prefix))
  }

  func preferredAccount(of provider: String, by application: String) throws(Problem) -> Account? {
    try accounts(
      "WHERE id = (SELECT account FROM preference WHERE application = ?1 AND provider = ?2)",
      .text(application), .text(provider)
    ).first
  }

  /// Calls `body` with every account, in order of adding.
  func forEachAccount(_ body: (Account) throws(Problem) -> Void) throws(Problem) {
    try eachAccount(
      of: { last throws(Problem) in try accounts(of: nil, after: last, limit: 100) }, body)
  }

  func countAccounts() throws(Problem) -> Int64 {
    try first("SELECT count(*) FROM account") { row throws(Problem) in try row.integer(0) } ?? 0
  }

  /// Returns only the accounts that `NewAccount.existing(among:)` can choose from.
  func candidates(for new: AccountStore.NewAccount) throws(Problem) -> [Account] {
    if new.isOnlyOne {
      return try accounts(of: new.account.provider, after: .min, limit: 1)
    }
    return try accounts(
      """
      WHERE position IN (
        SELECT position FROM account WHERE provider = ?1 AND subject = ?2
        UNION SELECT position FROM account WHERE provider = ?1 AND username = ?3)
      ORDER BY position
      """, .text(new.account.provider), .optional(new.account.subject), .text(new.account.username))
  }

  /// Adds the account after all others and ignores its `position`.
  func insert(_ account: Account) throws(Problem) {
    try run(
      """
      INSERT INTO account (id, provider, username, display_name, subject, email, avatar, health,
        added_at, last_used_at, email_verified, reported)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
      """,
      .text(account.id.rawValue), .text(account.provider), .text(account.username),
      .optional(account.displayName), .optional(account.subject), .optional(account.email),
      .optional(account.avatar), .text(account.health.rawValue), .integer(account.addedAt),
      .optional(account.lastUsedAt), .integer(account.isEmailVerified ? 1 : 0),
      .integer(account.reportedBy))
  }

  func update(_ account: Account) throws(Problem) {
    try run(
      """
      UPDATE account SET username = ?2, display_name = ?3, subject = ?4, email = ?5, avatar = ?6,
        health = ?7, last_used_at = ?8, email_verified = ?9, reported = ?10
      WHERE id = ?1
      """,
      .text(account.id.rawValue), .text(account.username), .optional(account.displayName),
      .optional(account.subject), .optional(account.email), .optional(account.avatar),
      .text(account.health.rawValue), .optional(account.lastUsedAt),
      .integer(account.isEmailVerified ? 1 : 0), .integer(account.reportedBy))
  }

  /// Removes the account and, by cascade, its credentials. Returns `false` for an unknown id.
  func deleteAccount(_ id: Account.ID) throws(Problem) -> Bool {
    try run("DELETE FROM account WHERE id = ?1", .text(id.rawValue))
    return changes > 0
  }

  /// Returns the accounts with a text that einlass would not have written. `account(_:)` returns
  /// these texts cleaned, so the stored bytes are compared with the cleaned ones.
  func accountsWrittenByOthers() throws(Problem) -> [Account.ID] {
    let found = try all(AccountSelection.whole) { row throws(Problem) -> Account.ID? in
      let account = try Self.account(row)
      let shown = [
        account.provider, account.username, account.displayName, account.subject, account.email,
        account.avatar,
      ]
      for (column, text) in zip(Int32(1)..., shown) where try row.optionalText(column) != text {
        return account.id
      }
      return nil
    }
    return found.compactMap(\.self)
  }

  private static func account(_ row: any Row) throws(Problem) -> Account {
    var account = Account(
      id: Account.ID(rawValue: try row.text(0)), provider: presentable(try row.text(1)),
      username: presentable(try row.text(2)),
      displayName: try row.optionalText(3).map { presentable($0) },
      subject: try row.optionalText(4).map { presentable($0) },
      email: try row.optionalText(5).map { presentable($0) },
      avatar: try row.optionalText(6).map { presentable($0, limitBytes: WebAddress.limitBytes) },
      health: try row.word(7), isSignedIn: try row.integer(8) != 0, addedAt: try row.integer(9),
      lastUsedAt: try row.optionalInteger(10), position: try row.integer(11))
    account.isEmailVerified = try row.integer(14) != 0
    account.reportedBy = try row.integer(15)
    account.scopes = try row.optionalText(18).map(TextList.items) ?? []
    account.refreshExpiresAt = try row.optionalInteger(19)
    return account
  }
}
