internal import EinlassSystem

/// The requests that are not answered yet, and how many more may come. A value; `Peer` keeps it under its lock.
struct RequestTable {
  /// Whether requests are still taken.
  enum Phase {
    case serving
    /// No more come; what was read runs to its end.
    case finishing
    /// What runs is cancelled; what comes is refused.
    case draining
  }

  /// What an answer needs; the right to give it, once.
  final class Ticket: Sendable {
    /// The id to echo.
    let id: RequestID
    /// Whose descriptor redacts and limits the answer.
    let method: RegisteredMethod
    /// Where the answer goes.
    let place: Place
    private let isUsed = Lock(false)

    /// The right to answer a request.
    init(id: RequestID, method: RegisteredMethod, place: Place) {
      self.id = id
      self.method = method
      self.place = place
    }

    /// Uses it up; `false` when it was before.
    func use() -> Bool {
      isUsed.withLock { isUsed in
        defer { isUsed = true }
        return !isUsed
      }
    }
  }

  /// A request that is not answered yet, a notification that runs, or work that goes on after its answer.
  struct Entry {
    /// Where its answer goes; `nil` when it gets none.
    var ticket: Ticket?
    /// What is told of its end when it was answered before.
    var announcement: Announcement?
    /// How far it is.
    var state: State
    /// How long it was as text.
    var byteCount: Int
    /// Who cancelled it first.
    var cancelledBy: String?
  }

  /// How far a request is.
  enum State {
    /// An immediate one in line for the thread that may wait.
    case waiting
    /// A task in line for a place.
    case queued(Start)
    /// A task that has one.
    case running(isFlow: Bool, cancel: Cancel)
  }

  /// Starts the task of this serial number.
  typealias Start = @Sendable (Int) -> Cancel
  /// Cancels a task; to be called without holding a lock, because it may run the task's own handlers.
  typealias Cancel = @Sendable () -> Void

  /// Whether requests are still taken.
  var phase = Phase.serving
  /// Why what runs is cancelled when `phase` is `draining`: the `by` of `RPCError.cancelled`.
  var drainedBy = "shutdown"
  /// Whether there has been a request (not a notification).
  var hasSeenRequest = false
  /// The work of the immediate requests in line, in order of arrival.
  var waitingWork: [@Sendable () -> Void] = []
  /// The end of the wait of all requests in line, where a request before them got its turn after its own time: other
  /// processes make changes in turn then, and none of them is stopped.
  var lineDeadline = Deadline.now
  /// Whether the thread that may wait runs.
  var hasWaitingThread = false
  /// Work that must not be cut by the end of the process.
  var keptAliveCount = 0

  private var entries: [Int: Entry] = [:]
  private var serials: [RequestID: Int] = [:]
  private var queue: [Int] = []
  private var nextSerial = 0
  private var byteCount = 0
  private var waitingCount = 0
  private var flowCount = 0
  private var taskCount = 0

  /// Whether everything is answered and nothing runs.
  var isIdle: Bool { entries.isEmpty }

  /// Whether immediate requests wait, so that the next one must too.
  var hasWaiting: Bool { waitingCount > 0 }

  /// The serial number of the unanswered request with this id.
  func serial(of id: RequestID) -> Int? { serials.isEmpty ? nil : serials[id] }

  /// Whether this one has not ended.
  func contains(_ serial: Int) -> Bool { entries[serial] != nil }
}

// MARK: - Coming

extension RequestTable {
  /// Adds an immediate request that must wait and answers its serial number.
  mutating func addWaiting(_ ticket: Ticket?, byteCount: Int) throws(RPCError) -> Int {
    try requireRoom(byteCount)
    try requireQueue()
    waitingCount += 1
    return add(Entry(ticket: ticket, state: .waiting, byteCount: byteCount))
  }

  /// Adds a task and starts it when there is a place. A flow without one is refused: who waits for a person
  /// cannot be told when that will be.
  mutating func addTask(
    _ ticket: Ticket?, isFlow: Bool, byteCount: Int, start: @escaping Start
  ) throws(RPCError) {
    try requireRoom(byteCount)
    if isFlow {
      guard flowCount < Limits.runningFlows else { throw RPCError(.overloaded) }
    } else if taskCount >= Limits.runningFlows {
      try requireQueue()
      let serial = add(Entry(ticket: ticket, state: .queued(start), byteCount: byteCount))
      queue.append(serial)
      return
    }
    let serial = add(Entry(ticket: ticket, state: .waiting, byteCount: byteCount))
    run(serial, isFlow: isFlow, start)
  }

  private func requireRoom(_ byteCount: Int) throws(RPCError) {
    guard entries.isEmpty || self.byteCount + byteCount <= Limits.unansweredBytes else {
      throw RPCError(.overloaded)
    }
  }

  private func requireQueue() throws(RPCError) {
    guard waitingCount + queue.count < Limits.queuedRequests else { throw RPCError(.overloaded) }
  }

  private mutating func add(_ entry: Entry) -> Int {
    nextSerial += 1
    entries[nextSerial] = entry
    byteCount += entry.byteCount
    if let id = entry.ticket?.id { serials[id] = nextSerial }
    return nextSerial
  }

  private mutating func run(_ serial: Int, isFlow: Bool, _ start: Start) {
    if isFlow { flowCount += 1 } else { taskCount += 1 }
    entries[serial]?.state = .running(isFlow: isFlow, cancel: start(serial))
  }
}

// MARK: - Going

extension RequestTable {
  /// Lets a task go on in its place after its answer, which frees its id. `false` when it has ended.
  mutating func detach(_ serial: Int, announcing announcement: Announcement?) -> Bool {
    guard let entry = entries[serial] else { return false }
    if let id = entry.ticket?.id { serials[id] = nil }
    entries[serial]?.ticket = nil
    entries[serial]?.announcement = announcement
    return true
  }

  /// Takes out what has ended and starts what its place was waited for by; `nil` when it is out already.
  ///
  /// Whoever takes a request out is the one to answer it.
  mutating func remove(_ serial: Int) -> Entry? {
    guard let entry = entries.removeValue(forKey: serial) else { return nil }
    byteCount -= entry.byteCount
    if let id = entry.ticket?.id { serials[id] = nil }
    switch entry.state {
    case .waiting: waitingCount -= 1
    case .queued: queue.removeAll { $0 == serial }
    case .running(isFlow: true, _): flowCount -= 1
    case .running(isFlow: false, _):
      taskCount -= 1
      startNext()
    }
    return entry
  }

  private mutating func startNext() {
    guard let serial = queue.first, case .queued(let start)? = entries[serial]?.state else {
      return
    }
    queue.removeFirst()
    run(serial, isFlow: false, start)
  }

  /// What cancelling came to.
  enum Cancellation {
    /// It had not begun and is out; it still has to be answered.
    case removed(Entry)
    /// It runs: this tells it.
    case running(Cancel)
    /// It has ended, or was cancelled before.
    case nothing
  }

  /// Cancels a request for this reason.
  mutating func cancel(_ serial: Int, by: String) -> Cancellation {
    guard let entry = entries[serial], entry.cancelledBy == nil else { return .nothing }
    entries[serial]?.cancelledBy = by
    if case .running(_, let cancel) = entry.state { return .running(cancel) }
    return remove(serial).map(Cancellation.removed) ?? .nothing
  }

  /// The serial numbers of all tasks in order of arrival, those in line first, so that cancelling one does not
  /// start the next.
  var tasks: [Int] {
    let running = entries.filter { if case .running = $0.value.state { true } else { false } }
    return queue + running.keys.sorted()
  }

  /// Takes everything out, in order of arrival; all of it still has to be answered.
  mutating func removeAll() -> [Entry] {
    defer {
      entries = [:]
      serials = [:]
      queue = []
      (byteCount, waitingCount, flowCount, taskCount) = (0, 0, 0, 0)
    }
    return entries.sorted { $0.key < $1.key }.map(\.value)
  }
}
