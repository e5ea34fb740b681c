internal import CSystem

/// The moment by which enough was waited, over however many waits.
///
/// Counts on a clock that only runs forward, and tells nobody the time.
public struct Deadline: Comparable, Sendable {
  /// That moment, for whom the clock is handed in.
  public let monotonicMilliseconds: Int64

  /// A moment of the system's monotonic clock.
  public init(monotonicMilliseconds: Int64) { self.monotonicMilliseconds = monotonicMilliseconds }

  /// So many milliseconds from now.
  public init(milliseconds: Int) {
    monotonicMilliseconds = csystem_monotonic_milliseconds() + Int64(milliseconds)
  }

  /// Whether one deadline comes before another.
  public static func < (one: Deadline, other: Deadline) -> Bool {
    one.monotonicMilliseconds < other.monotonicMilliseconds
  }

  /// Over already: for what may not wait at all.
  public static let now = Deadline(monotonicMilliseconds: 0)

  /// Whether nothing may be waited for.
  public var isNow: Bool { monotonicMilliseconds == 0 }

  /// What is left, 0 when it is over.
  public var millisecondsLeft: Int32 {
    Int32(clamping: max(0, monotonicMilliseconds - csystem_monotonic_milliseconds()))
  }
}
