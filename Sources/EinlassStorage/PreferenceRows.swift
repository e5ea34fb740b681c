internal import Einlass

/// Which account an application prefers.
struct Preference {
  var account: Account.ID
  var application: String
}

extension SQLiteConnection {
  /// All, in the order of their applications.
  func preferences() throws(Problem) -> [Preference] {
    try all("SELECT account, application FROM preference ORDER BY application") {
      row throws(Problem) in
      Preference(account: Account.ID(rawValue: try row.text(0)), application: try row.text(1))
    }
  }

  /// Replaces the application's preference at a provider; `nil` for none.
  func prefer(_ account: Account.ID?, application: String, provider: String) throws(Problem) {
    try run(
      "DELETE FROM preference WHERE application = ?1 AND provider = ?2", .text(application),
      .text(provider))
    guard let account else { return }
    try run(
      "INSERT INTO preference (application, provider, account) VALUES (?1, ?2, ?3)",
      .text(application), .text(provider), .text(account.rawValue))
  }
}

extension [Account] {
  /// The same accounts, each saying who prefers it and which resources it has credentials for.
  func marked(by preferences: [Preference], _ resources: [Account.ID: [String]]) -> [Account] {
    if preferences.isEmpty, resources.isEmpty { return self }
    let applications = Dictionary(grouping: preferences, by: \.account)
    return map { account in
      var account = account
      account.preferredBy = applications[account.id]?.map(\.application) ?? []
      account.resources = resources[account.id] ?? []
      return account
    }
  }
}
