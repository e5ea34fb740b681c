internal import Einlass
internal import EinlassSystem

/// How long a request waits for the database: until its deadline, and longer while the grace period
/// lasts.
///
/// An immediate request has two seconds. They are enough to notice a server that is silent, but not
/// for a new connection to a busy server, or for many statements over a slow network.
struct PostgresWait {
  private let deadline: Deadline
  private let last: Deadline
  let grace: GracePeriod

  init(until deadline: Deadline, _ grace: GracePeriod) {
    self.deadline = deadline
    self.grace = grace
    // Eight seconds more for an immediate request, and ten seconds from now for any other one.
    last = min(
      AccountStore.Patience.usual.deadline,
      Deadline(monotonicMilliseconds: deadline.monotonicMilliseconds + 8_000))
  }

  /// At least the deadline.
  var end: Deadline { max(deadline, min(grace.end(of: deadline), last)) }

  /// At least 1, because a statement is sent even when the time is over.
  var millisecondsLeft: Int32 { max(1, end.millisecondsLeft) }

  /// The wait for a lock, 0 or less without time for it. The server's sentence about a held lock must
  /// come before the limit of this process.
  var lockMilliseconds: Int32 {
    (grace.hasMetLock(deadline) ? deadline : end).millisecondsLeft - 500
  }
}

/// The time in which the database is waited for although the deadline of a request is over, because
/// it has just answered a statement of this process, or is being connected to.
///
/// A failed wait ends it for the requests that have arrived before. Otherwise each of them would wait
/// for the same server or lock in turn.
final class GracePeriod: Sendable {
  private struct State {
    var end = Deadline.now
    /// Requests with an earlier deadline have no grace until the next answer.
    var deadlineAfterSilence = Deadline.now
    /// Requests with an earlier deadline have no grace for locks.
    var deadlineAfterLock = Deadline.now
  }

  private let state = Lock(State())

  /// Returns the end for a request with this deadline.
  func end(of deadline: Deadline) -> Deadline {
    state.withLock { deadline < $0.deadlineAfterSilence ? .now : $0.end }
  }

  /// Returns whether a request with this deadline has arrived before the end of a wait for a lock.
  func hasMetLock(_ deadline: Deadline) -> Bool {
    state.withLock { deadline < $0.deadlineAfterLock }
  }

  /// Begins after each answer.
  func begin() {
    state.withLock {
      $0.end = .ofImmediateRequest
      $0.deadlineAfterSilence = .now
    }
  }

  /// Begins for a new connection, because other requests need it too. libpq gives a host three seconds.
  func beginConnecting() { state.withLock { $0.end = Deadline(milliseconds: 3_000) } }

  /// The server did not answer, or could not be connected to.
  func endBySilence() { state.withLock { $0.deadlineAfterSilence = .ofImmediateRequest } }

  /// Another machine keeps a lock.
  func endByLock() { state.withLock { $0.deadlineAfterLock = .ofImmediateRequest } }
}

extension Deadline {
  /// The deadline of an immediate request that arrives now.
  fileprivate static var ofImmediateRequest: Deadline { Deadline(milliseconds: 2_000) }
}
