/// Runs tasks on threads of its own, so that work that blocks, for another process's lock say, never holds one
/// of the few of the concurrency pool, and never waits for that pool to get a thread, for which it tries for ever.
///
/// A job that finds no idle thread starts one, up to the limit and as far as the system has them; beyond that it waits
/// for the first that is free. The first thread, which `start` starts, stays, so that a job always has one. Another one
/// ends after a few idle seconds.
public final class TaskThreads: TaskExecutor {
  private struct State {
    var jobs: [UnownedJob] = []
    /// The last to become idle is the first to work again, so that the others come to their end.
    var idle: [Sleeper] = []
    var threadCount = 0
  }

  /// A thread that waits for a job.
  private final class Sleeper: Sendable {
    let wakeUp: WakeUp
    init() throws(SystemError) { wakeUp = try WakeUp() }
  }

  private static let idleMilliseconds: Int32 = 5_000

  private let name: String
  private let limit: Int
  private let state = Lock(State())

  /// Threads of this name (at most 15 bytes), so many at most. `start` comes before the first job.
  public init(name: String, limit: Int = 24) {
    self.name = name
    self.limit = limit
  }

  /// Starts the first thread, if it does not run. Throws where the system has none to give.
  ///
  /// Not at launch, because a process of one thread starts sooner, and its system calls and allocations take no locks.
  public func start() throws(SystemError) {
    try state.withLock { state throws(SystemError) in
      guard state.threadCount == 0 else { return }
      let sleeper = try Sleeper()
      try WorkThread.start(name) { self.work(sleeper, until: -1) }
      state.threadCount = 1
    }
  }

  /// Runs a part of a task on the next free thread.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let (sleeper, startsThread) = state.withLock { state -> (Sleeper?, Bool) in
      state.jobs.append(job)
      if let sleeper = state.idle.popLast() { return (sleeper, false) }
      guard state.threadCount < limit else { return (nil, false) }
      state.threadCount += 1
      return (nil, true)
    }
    sleeper?.wakeUp.ring()
    guard startsThread else { return }
    do {
      try WorkThread.start(name) { self.work(try? Sleeper(), until: Self.idleMilliseconds) }
    } catch {
      // One that is there takes the job when it is free.
      state.withLock { $0.threadCount -= 1 }
    }
  }

  /// The body of a thread, which ends when it was idle for so long, or at once without a sleeper.
  private func work(_ sleeper: Sleeper?, until idleMilliseconds: Int32) {
    while true {
      let job = state.withLock { state -> UnownedJob? in
        if !state.jobs.isEmpty { return state.jobs.removeFirst() }
        if let sleeper { state.idle.append(sleeper) } else { state.threadCount -= 1 }
        return nil
      }
      if let job {
        unsafe job.runSynchronously(on: asUnownedTaskExecutor())
      } else {
        guard let sleeper, isWoken(sleeper, within: idleMilliseconds) else { return }
      }
    }
  }

  /// Waits for the next job; `false` when none came for so long that the thread ends.
  private func isWoken(_ sleeper: Sleeper, within idleMilliseconds: Int32) -> Bool {
    var poller = Poller(slots: 1)
    poller.watch(0, sleeper.wakeUp.number, for: .readable)
    poller.wait(milliseconds: idleMilliseconds)
    if idleMilliseconds >= 0, !poller.happened(0, .readable) {
      let isForgotten = state.withLock { state in
        let count = state.idle.count
        state.idle.removeAll { $0 === sleeper }
        state.threadCount -= count - state.idle.count
        return state.idle.count < count
      }
      if isForgotten { return false }
    }
    // Who took it out of the idle rings, if not yet then soon.
    sleeper.wakeUp.wait()
    return true
  }
}
