internal import CSystem

/// The moment by which enough was waited, over however many waits.
///
/// Counts on a clock that only runs forward, and tells nobody the time.
public struct Deadline: Sendable {
  let monotonicMilliseconds: Int64

  /// So many milliseconds from now.
  public init(milliseconds: Int) {
    monotonicMilliseconds = csystem_monotonic_milliseconds() + Int64(milliseconds)
  }

  private init() { monotonicMilliseconds = 0 }

  /// Over already: for what may not wait at all.
  public static let now = Deadline()

  /// What is left, 0 when it is over.
  public var millisecondsLeft: Int32 {
    Int32(clamping: max(0, monotonicMilliseconds - csystem_monotonic_milliseconds()))
  }
}
