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

  /// Waits for the next attempt while the database of the store is away. The change may have arrived
  /// although its answer was lost. Throws another problem at once, and this one after the last
  /// attempt.
  mutating func wait(
    after problem: Problem, in store: AccountStore, _ effects: Effects
  ) async throws(Problem) {
    guard store.isAway(problem), try await wait(effects) else { throw problem }
  }
}

extension AccountStore {
  /// Whether this problem of a database passes. A change whose answer was lost may still hold its
  /// locks, and a server that was not promoted yet takes no changes.
  func isAway(_ problem: Problem) -> Bool {
    let passing: [Problem.StoreDetail] = [.unreachable, .locked, .readOnly]
    return isRemote && passing.contains { $0.rawValue == problem.detail }
  }

  /// Returns a provider's accounts, last used first, also if the database is away at first.
  func lastUsedAccounts(
    of provider: Provider, limit: Int, _ effects: Effects
  ) async throws(Problem) -> [Account] {
    var attempts = SaveAttempts()
    while true {
      do throws(Problem) {
        return try read { reader throws(Problem) in
          try reader.lastUsedAccounts(of: provider.id, limit: limit)
        }
      } catch { try await attempts.wait(after: error, in: self, effects) }
    }
  }

  /// Adds the account. An account with the same id is that of an earlier attempt, whose answer was
  /// lost.
  func addAgain(_ new: NewAccount) throws(Problem) -> Added {
    do throws(Problem) { return try add(new, .usual) } catch {
      guard error.reason == .accountExists, error.account == new.account.id else { throw error }
      return Added(account: try account(new.account.id), created: true, revision: try revision())
    }
  }
}
