/// The attempts, one second apart, at a change of the store that must not be lost.
struct SaveAttempts {
  private var left = 60

  /// Waits for the next attempt. Returns `false` after the last one.
  mutating func wait(_ effects: Effects) async throws(Problem) -> Bool {
    left -= 1
    guard left > 0 else { return false }
    try await effects.sleepUntil(effects.now() + 1)
    return true
  }
}

extension Problem {
  /// Whether the database of the store is out of reach. A change may have arrived although its answer
  /// was lost.
  var isStoreUnreachable: Bool { detail == StoreDetail.unreachable.rawValue }
}

extension AccountStore {
  /// Adds the account. An account with the same id is that of an earlier attempt, whose answer was
  /// lost.
  func addAgain(_ new: NewAccount) throws(Problem) -> Added {
    do throws(Problem) { return try add(new, .usual) } catch {
      guard error.reason == .accountExists, error.account == new.account.id else { throw error }
      return Added(account: try account(new.account.id), created: true, revision: try revision())
    }
  }
}
