/// Runs tasks on threads of its own, so that work that blocks, for another process's lock say, never holds one
/// of the few of the concurrency pool.
///
/// A job that finds no idle thread starts one, so there are at most as many as tasks that run at once. An idle
/// one ends after a few seconds.
public final class TaskThreads: TaskExecutor {
  private struct State {
    var jobs: [UnownedJob] = []
    /// The last to become idle is the first to work again, so that the others come to their end.
    var idle: [Sleeper] = []
  }

  /// A thread that waits for a job.
  private final class Sleeper: Sendable {
    let wakeUp: WakeUp
    init() throws(SystemError) { wakeUp = try WakeUp() }
  }

  private static let idleMilliseconds: Int32 = 5_000

  private let name: String
  private let state = Lock(State())

  /// No thread yet; each will have this name (at most 15 bytes).
  public init(name: String) { self.name = name }

  /// Runs a part of a task on the next free thread.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let sleeper = state.withLock { state in
      state.jobs.append(job)
      return state.idle.popLast()
    }
    if let sleeper { return sleeper.wakeUp.ring() }
    do { try WorkThread.start(name) { self.work() } } catch {
      // No thread to be had: then the pool's, unless a thread of ours was faster.
      let job = state.withLock { $0.jobs.popLast() }
      if let job { globalConcurrentExecutor.enqueue(ExecutorJob(job)) }
    }
  }

  /// The body of a thread.
  private func work() {
    let sleeper = try? Sleeper()
    while true {
      let job = state.withLock { state -> UnownedJob? in
        if !state.jobs.isEmpty { return state.jobs.removeFirst() }
        if let sleeper { state.idle.append(sleeper) }
        return nil
      }
      if let job {
        unsafe job.runSynchronously(on: asUnownedTaskExecutor())
      } else {
        guard let sleeper, isWoken(sleeper) else { return }
      }
    }
  }

  /// Waits for the next job; `false` when none came for so long that the thread may end.
  private func isWoken(_ sleeper: Sleeper) -> Bool {
    var poller = Poller(slots: 1)
    poller.watch(0, sleeper.wakeUp.number, for: .readable)
    poller.wait(milliseconds: TaskThreads.idleMilliseconds)
    if !poller.happened(0, .readable) {
      let isForgotten = state.withLock { state in
        let count = state.idle.count
        state.idle.removeAll { $0 === sleeper }
        return state.idle.count < count
      }
      if isForgotten { return false }
    }
    // Who took it out of the idle rings, if not yet then soon.
    sleeper.wakeUp.wait()
    return true
  }
}
