public import Einlass
import EinlassSystem

/// A clock that changes only by `advance`, for `--test` and for tests.
public final class TestClock: Sendable {
  private struct Sleeper {
    var wakesAt: Duration
    var continuation: CheckedContinuation<Bool, Never>
  }

  private struct State {
    var elapsed = Duration.zero
    var sleepers: [Int: Sleeper] = [:]
    /// Sleepers that were cancelled before they were registered.
    var cancelled: Set<Int> = []
    var nextNumber = 0
  }

  private let start: UnixTime
  private let state = Lock(State())

  /// Creates a clock with this time.
  public init(startingAt start: UnixTime) { self.start = start }

  /// The clock's time, in whole seconds.
  public var now: UnixTime { start + state.withLock { $0.elapsed.components.seconds } }

  /// Moves the clock forward and wakes due sleepers, earliest first.
  public func advance(_ duration: Duration) {
    let awake = state.withLock { state in
      state.elapsed += max(duration, .zero)
      let due = state.sleepers.filter { $0.value.wakesAt <= state.elapsed }
      for number in due.keys { state.sleepers[number] = nil }
      return due.sorted { ($0.value.wakesAt, $0.key) < ($1.value.wakesAt, $1.key) }
    }
    for (_, sleeper) in awake { sleeper.continuation.resume(returning: true) }
  }

  /// Waits until the clock shows this time. Throws `cancelled` when the task is cancelled.
  public func sleep(until time: UnixTime) async throws(Problem) {
    let number = state.withLock { state in
      state.nextNumber += 1
      return state.nextNumber
    }
    let isTimeUp = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        startSleeping(number, .seconds(time - start), continuation)
      }
    } onCancel: {
      cancel(number)
    }
    // A cancellation after the wake-up has inserted this number.
    state.withLock { _ = $0.cancelled.remove(number) }
    if !isTimeUp { throw .sleepCancelled }
  }

  /// The number of sleepers, for tests that wait for one.
  public var sleeperCount: Int { state.withLock { $0.sleepers.count } }

  private func startSleeping(
    _ number: Int, _ wakesAt: Duration, _ continuation: CheckedContinuation<Bool, Never>
  ) {
    let outcome: Bool? = state.withLock { state in
      if state.cancelled.remove(number) != nil { return false }
      if wakesAt <= state.elapsed { return true }
      state.sleepers[number] = Sleeper(wakesAt: wakesAt, continuation: continuation)
      return nil
    }
    if let outcome { continuation.resume(returning: outcome) }
  }

  private func cancel(_ number: Int) {
    let sleeper = state.withLock { state in
      let sleeper = state.sleepers.removeValue(forKey: number)
      if sleeper == nil { state.cancelled.insert(number) }
      return sleeper
    }
    sleeper?.continuation.resume(returning: false)
  }
}

extension Problem {
  static let sleepCancelled = Problem(.cancelled, "The request was cancelled.")
}
