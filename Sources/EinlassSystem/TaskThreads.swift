/// A task executor with its own threads. Work that blocks, for example on another process's lock,
/// then occupies no thread of the small concurrency pool. It also does not depend on that pool,
/// which retries forever if the system refuses a thread.
///
/// A job without an idle thread starts one, up to the limit and as long as the system allows it.
/// Otherwise it waits for the next free thread. The first thread, started by `start`, never ends,
/// so that every job is run eventually. Other threads end after some idle seconds.
public final class TaskThreads: TaskExecutor {
  private struct State {
    var jobs: [UnownedJob] = []
    /// Last in, first out, so that surplus threads stay idle and end.
    var idle: [Sleeper] = []
    var threadCount = 0
  }

  /// An idle thread.
  private final class Sleeper: Sendable {
    let wakeUp: WakeUp
    init() throws(SystemError) { wakeUp = try WakeUp() }
  }

  private static let idleMilliseconds: Int32 = 5_000

  private let name: String
  private let limit: Int
  private let state = Lock(State())

  /// Limits the number of threads. Their name has at most 15 bytes. `start` must precede the first
  /// job.
  ///
  /// The limit cannot deadlock: a job blocks only for a lock whose holder in this process is a
  /// running job, because no such lock is held across an `await`, and a wait for another process
  /// has a deadline.
  public init(name: String, limit: Int = 24) {
    self.name = name
    self.limit = limit
  }

  /// Starts the first thread if it is not running. Throws if the system refuses it.
  ///
  /// Not called at launch, because a single-threaded process starts faster, and its system calls
  /// and allocations take no locks.
  public func start() throws(SystemError) {
    try state.withLock { state throws(SystemError) in
      guard state.threadCount == 0 else { return }
      let sleeper = try Sleeper()
      try WorkThread.start(name) { self.work(sleeper, until: -1) }
      state.threadCount = 1
    }
  }

  /// Runs a job on the next free thread.
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
      // A running thread takes the job when it is free.
      state.withLock { $0.threadCount -= 1 }
    }
  }

  /// The body of a thread. It ends after this idle time, or at once without a sleeper.
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

  /// Waits for the next job. Returns `false` if none came in time, and the thread then ends.
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
    // `enqueue` has taken the sleeper from `idle` and has rung it or is about to.
    sleeper.wakeUp.wait()
    return true
  }
}
