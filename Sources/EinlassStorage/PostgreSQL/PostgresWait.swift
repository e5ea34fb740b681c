internal import Einlass
internal import EinlassSystem

/// How long a request waits for the database: until its deadline, and longer while the grace period
/// lasts, up to the usual patience in all.
///
/// An immediate request has two seconds. They are enough to notice a server that is silent, but not
/// for a new connection to a busy server, or for many statements over a slow network.
struct PostgresWait {
  private let deadline: Deadline
  private let last = AccountStore.Patience.usual.deadline
  let grace: GracePeriod

  init(until deadline: Deadline, _ grace: GracePeriod) {
    self.deadline = deadline
    self.grace = grace
  }

  var end: Deadline { max(deadline, min(grace.end, last)) }

  /// At least 1, because libpq has to be asked at all.
  var millisecondsLeft: Int32 { max(1, end.millisecondsLeft) }
}

/// The time in which the database is waited for although the deadline of a request is over, because
/// it has just answered a statement of this process, or is being connected to.
final class GracePeriod: Sendable {
  private let period = Lock(Deadline.now)

  var end: Deadline { period.withLock { $0 } }

  func begin(milliseconds: Int = 2_000) {
    let end = Deadline(milliseconds: milliseconds)
    period.withLock { $0 = max($0, end) }
  }

  func cancel() { period.withLock { $0 = .now } }
}
