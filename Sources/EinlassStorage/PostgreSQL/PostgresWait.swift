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
    // Ten seconds from the arrival of an immediate request, and for any other one from now.
    last = min(
      AccountStore.Patience.usual.deadline,
      Deadline(monotonicMilliseconds: deadline.monotonicMilliseconds + 8_000))
  }

  /// At least the deadline.
  var end: Deadline { max(deadline, min(grace.end(of: deadline), last)) }

  /// At least 1, because a statement is sent even when the time is over.
  var millisecondsLeft: Int32 { max(1, end.millisecondsLeft) }
}

/// The time in which the database is waited for although the deadline of a request is over, because
/// it has just answered a statement of this process, or is being connected to.
final class GracePeriod: Sendable {
  private struct State {
    var end = Deadline.now
    /// Requests with an earlier deadline have no grace.
    var firstDeadline = Deadline.now
  }

  private static let milliseconds = 2_000
  private let state = Lock(State())

  /// Returns the end for a request with this deadline.
  func end(of deadline: Deadline) -> Deadline {
    state.withLock { deadline < $0.firstDeadline ? .now : $0.end }
  }

  /// Begins after each answer.
  func begin() { begin(milliseconds: Self.milliseconds) }

  /// Begins for a new connection, because other requests need it too. libpq gives a host three seconds.
  func beginConnecting() { begin(milliseconds: 3_000) }

  /// Takes the grace from the immediate requests that have arrived until now, because the server is
  /// silent or another machine keeps the store locked. They would wait for that one after the other.
  func cancel() { state.withLock { $0.firstDeadline = Deadline(milliseconds: Self.milliseconds) } }

  private func begin(milliseconds: Int) {
    state.withLock { $0.end = Deadline(milliseconds: milliseconds) }
  }
}
