/// Sleep for tasks, on one shared thread that exists only while a task sleeps.
///
/// `Task.sleep` would leave a timer behind that wakes the process every second for the rest of its
/// life.
public final class SleepThread: Sendable {
  private struct Sleeper {
    var deadline: Deadline
    var continuation: CheckedContinuation<Result<Bool, SystemError>, Never>
  }

  private struct State {
    var sleepers: [Int: Sleeper] = [:]
    /// Tasks cancelled before they began to sleep.
    var cancelled: Set<Int> = []
    var nextNumber = 0
    var isRunning = false
  }

  private let name: String
  private let wakeUp: WakeUp
  private let state = Lock(State())

  /// Creates no thread yet. The name has at most 15 bytes.
  public init(name: String) throws(SystemError) {
    self.name = name
    wakeUp = try WakeUp()
  }

  /// Sleeps until the deadline. Returns `false` at once if the task is cancelled. Throws if the
  /// system refuses a new thread.
  public func sleep(until deadline: Deadline) async throws(SystemError) -> Bool {
    let number = state.withLock { state in
      state.nextNumber += 1
      return state.nextNumber
    }
    let isTimeUp = await withTaskCancellationHandler {
      await withCheckedContinuation {
        startSleeping(number, Sleeper(deadline: deadline, continuation: $0))
      }
    } onCancel: {
      cancel(number)
    }
    // A cancellation after the wake-up has left an entry.
    state.withLock { _ = $0.cancelled.remove(number) }
    return try isTimeUp.get()
  }

  private func startSleeping(_ number: Int, _ sleeper: Sleeper) {
    let isStarting: Bool? = state.withLock { state in
      if state.cancelled.remove(number) != nil { return nil }
      state.sleepers[number] = sleeper
      defer { state.isRunning = true }
      return !state.isRunning
    }
    switch isStarting {
    case nil: sleeper.continuation.resume(returning: .success(false))
    case false?: wakeUp.ring()
    case true?:
      do { try WorkThread.start(name) { self.run() } } catch {
        let all = state.withLock { state in
          state.isRunning = false
          defer { state.sleepers = [:] }
          return state.sleepers.values
        }
        for sleeper in all { sleeper.continuation.resume(returning: .failure(error)) }
      }
    }
  }

  private func cancel(_ number: Int) {
    let sleeper = state.withLock { state in
      let sleeper = state.sleepers.removeValue(forKey: number)
      if sleeper == nil { state.cancelled.insert(number) }
      return sleeper
    }
    guard let sleeper else { return }
    sleeper.continuation.resume(returning: .success(false))
    wakeUp.ring()
  }

  /// The body of the thread. It ends when no task sleeps.
  private func run() {
    var poller = Poller(slots: 1)
    poller.watch(0, wakeUp.number, for: .readable)
    while true {
      let (due, left) = state.withLock { state in
        let due = state.sleepers.filter { $0.value.deadline.millisecondsLeft == 0 }
        for number in due.keys { state.sleepers[number] = nil }
        let left = state.sleepers.values.map(\.deadline.millisecondsLeft).min()
        state.isRunning = left != nil
        return (due.values, left)
      }
      for sleeper in due { sleeper.continuation.resume(returning: .success(true)) }
      guard let left else { return }
      poller.wait(milliseconds: left)
      if poller.happened(0, .readable) { wakeUp.clear() }
    }
  }
}
