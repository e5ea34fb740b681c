internal import CSystem

/// The end of a time limit that several waits share.
///
/// Uses the monotonic clock, which does not follow changes of the wall clock.
public struct Deadline: Comparable, Sendable {
  /// The moment in milliseconds, for callers with an injected clock.
  public let monotonicMilliseconds: Int64

  /// Ends at this moment of the system's monotonic clock.
  public init(monotonicMilliseconds: Int64) { self.monotonicMilliseconds = monotonicMilliseconds }

  /// Ends this many milliseconds from now.
  public init(milliseconds: Int) {
    monotonicMilliseconds = csystem_monotonic_milliseconds() + Int64(milliseconds)
  }

  /// Whether one deadline comes before another.
  public static func < (one: Deadline, other: Deadline) -> Bool {
    one.monotonicMilliseconds < other.monotonicMilliseconds
  }

  /// Already over: for calls that must not wait at all.
  public static let now = Deadline(monotonicMilliseconds: 0)

  /// Whether waiting is not allowed at all.
  public var isNow: Bool { monotonicMilliseconds == 0 }

  /// The remaining milliseconds, 0 after the end.
  public var millisecondsLeft: Int32 {
    Int32(clamping: max(0, monotonicMilliseconds - csystem_monotonic_milliseconds()))
  }
}
