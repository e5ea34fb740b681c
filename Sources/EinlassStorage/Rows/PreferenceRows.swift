internal import Einlass

extension Database {
  /// Returns the applications that prefer an account, sorted.
  func applications(preferring account: Account.ID) throws(Problem) -> [String] {
    try all(
      "SELECT application FROM preference WHERE account = ?1 ORDER BY application",
      .text(account.rawValue)
    ) { row throws(Problem) in try row.text(0) }
  }

  /// Replaces the application's preferred account at a provider; `nil` removes it.
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
