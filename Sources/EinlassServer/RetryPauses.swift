internal import Einlass
internal import EinlassSystem

/// The pauses before an account's provider is asked again after a failed renewal. A pause doubles
/// with each failure and is at least as long as the provider asked for. Its length is partly
/// random, so that processes do not retry at the same moment. Each process has its own, because a
/// pause in the store would cost a durable write.
final class RetryPauses: Sendable {
  /// The longest pause, unless the provider asks for a longer one.
  private static let limitSeconds: Int64 = 60

  private struct Entry: Sendable {
    var count: Int
    var begin: UnixTime
    var seconds: Int64
    var problem: Problem
  }

  private let entries = Lock<[Account.ID: Entry]>([:])
  private let effects: Effects

  init(_ effects: Effects) { self.effects = effects }

  /// The pauses as the engine uses them.
  var pause: RetryPause {
    RetryPause(problem: { self.problem($0) }, note: { self.note($0, $1) })
  }

  private func problem(_ account: Account.ID) -> Problem? {
    let now = effects.now()
    return entries.withLock { entries in
      guard let entry = entries[account] else { return nil }
      // A clock that was set back ends the pause too.
      let left = entry.begin + entry.seconds - now
      guard (1...entry.seconds).contains(left) else { return nil }
      var problem = entry.problem
      problem.retryAfterSeconds = Int(left)
      return problem
    }
  }

  private func note(_ account: Account.ID, _ problem: Problem?) {
    guard let problem else { return entries.withLock { $0[account] = nil } }
    let isPassing = [.networkFailure, .providerFailure, .throttled].contains(problem.reason)
    guard problem.isRetryable, isPassing else { return }
    let now = effects.now()
    let chance = Int64(effects.randomBytes(1)[0])
    entries.withLock { entries in
      let count = (entries[account]?.count ?? 0) + 1
      let longest = min(1 << Int64(min(count, 10)), Self.limitSeconds)
      let own = longest - chance * (longest / 2) / 255
      entries[account] = Entry(
        count: count, begin: now, seconds: max(own, Int64(problem.retryAfterSeconds ?? 0)),
        problem: problem)
    }
  }
}
