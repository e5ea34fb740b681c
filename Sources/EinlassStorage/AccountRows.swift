internal import Einlass

extension SQLiteConnection {
  private static var accountColumns: String {
    """
    SELECT id, provider, username, display_name, subject, email, avatar, health,
      EXISTS (SELECT 1 FROM credential WHERE credential.account = account.id),
      added_at, last_used_at, position FROM account
    """
  }

  /// All, in order of adding.
  func accounts() throws(Problem) -> [Account] {
    let accounts = try all("\(Self.accountColumns) ORDER BY position") { row throws(Problem) in
      try Self.account(row)
    }
    return accounts.marked(by: try preferences(), try resources())
  }

  func countAccounts() throws(Problem) -> Int64 {
    try first("SELECT count(*) FROM account") { row throws(Problem) in try row.integer(0) } ?? 0
  }

  func account(_ id: Account.ID) throws(Problem) -> Account? {
    let account = try first("\(Self.accountColumns) WHERE id = ?1", .text(id.rawValue)) {
      row throws(Problem) in
      try Self.account(row)
    }
    return try account.map { [$0] }?.marked(by: preferences(), resources()).first
  }

  /// Those among which a new account may find itself: what `NewAccount.existing(among:)` needs and no more.
  func candidates(for new: AccountStore.NewAccount) throws(Problem) -> [Account] {
    let provider = SQLiteValue.text(new.account.provider)
    if new.isOnlyOne {
      return try all(
        "\(Self.accountColumns) WHERE provider = ?1 ORDER BY position LIMIT 1", provider
      ) { row throws(Problem) in try Self.account(row) }
    }
    return try all(
      """
      \(Self.accountColumns)
      WHERE position IN (
        SELECT position FROM account WHERE provider = ?1 AND subject = ?2
        UNION SELECT position FROM account WHERE provider = ?1 AND username = ?3)
      ORDER BY position
      """, provider, .optional(new.account.subject), .text(new.account.username)
    ) { row throws(Problem) in try Self.account(row) }
  }

  /// Adds it behind all others, whatever its `position` says.
  func insert(_ account: Account) throws(Problem) {
    try run(
      """
      INSERT INTO account (id, provider, username, display_name, subject, email, avatar, health,
        added_at, last_used_at)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
      """,
      .text(account.id.rawValue), .text(account.provider), .text(account.username),
      .optional(account.displayName), .optional(account.subject), .optional(account.email),
      .optional(account.avatar), .text(account.health.rawValue), .integer(account.addedAt),
      .optional(account.lastUsedAt))
  }

  /// Writes the members that may change.
  func update(_ account: Account) throws(Problem) {
    try run(
      """
      UPDATE account SET username = ?2, display_name = ?3, subject = ?4, email = ?5, avatar = ?6,
        health = ?7, last_used_at = ?8
      WHERE id = ?1
      """,
      .text(account.id.rawValue), .text(account.username), .optional(account.displayName),
      .optional(account.subject), .optional(account.email), .optional(account.avatar),
      .text(account.health.rawValue), .optional(account.lastUsedAt))
  }

  /// Removes it and its credentials; `false` when there is none.
  func deleteAccount(_ id: Account.ID) throws(Problem) -> Bool {
    try run("DELETE FROM account WHERE id = ?1", .text(id.rawValue))
    return changes > 0
  }

  /// Those with a text that no einlass wrote, which they are not shown with.
  func accountsWrittenByOthers() throws(Problem) -> [Account.ID] {
    let found = try all(Self.accountColumns) { row throws(Problem) -> Account.ID? in
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

  private static func account(_ row: borrowing SQLiteStatement) throws(Problem) -> Account {
    Account(
      id: Account.ID(rawValue: try row.text(0)), provider: presentable(try row.text(1)),
      username: presentable(try row.text(2)),
      displayName: try row.optionalText(3).map { presentable($0) },
      subject: try row.optionalText(4).map { presentable($0) },
      email: try row.optionalText(5).map { presentable($0) },
      avatar: try row.optionalText(6).map { presentable($0, limitBytes: WebAddress.limitBytes) },
      health: try row.word(7), isSignedIn: try row.integer(8) != 0, addedAt: try row.integer(9),
      lastUsedAt: try row.optionalInteger(10), position: try row.integer(11))
  }
}
