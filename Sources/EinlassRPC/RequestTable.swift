internal import EinlassSystem

/// The unanswered requests and the limits on their number. `Peer` keeps this value under its lock.
struct RequestTable {
  /// The admission of new requests.
  enum Phase {
    case serving
    /// Input has ended, and the requests that were read run to their end.
    case finishing
    /// Running requests are cancelled and new ones are refused.
    case draining
  }

  /// The right to answer a request once, with the values that the answer needs.
  final class Ticket: Sendable {
    /// The id that the answer repeats.
    let id: RequestID
    /// The method; its descriptor redacts and limits the answer.
    let method: RegisteredMethod
    let place: Place
    private let isUsed = Lock(false)

    init(id: RequestID, method: RegisteredMethod, place: Place) {
      self.id = id
      self.method = method
      self.place = place
    }

    /// Uses the ticket. Returns `false` if it was used before.
    func use() -> Bool {
      isUsed.withLock { isUsed in
        defer { isUsed = true }
        return !isUsed
      }
    }
  }

  /// An unanswered request, a running notification, or work that continues after its answer.
  struct Entry {
    /// The right to answer; `nil` if there is no answer to give.
    var ticket: Ticket?
    /// The notification of the end of work that was answered before its end.
    var announcement: Announcement?
    /// The stage of the request.
    var state: State
    /// The size of the request's text in bytes.
    var byteCount: Int
    /// The `by` of the first cancellation.
    var cancelledBy: String?
  }

  /// The stage of a request.
  enum State {
    /// An immediate request in the queue of the waiting thread.
    case waiting
    /// A task in the queue for a free place.
    case queued(Start)
    /// A task that has started.
    case running(isFlow: Bool, cancel: Cancel)
  }

  /// Starts the task with this serial number.
  typealias Start = @Sendable (Int) -> Cancel
  /// Cancels a task. It must be called without a lock held, because it may run the task's
  /// cancellation handlers.
  typealias Cancel = @Sendable () -> Void

  var phase = Phase.serving
  /// The `by` of cancelled requests while `phase` is `draining`.
  var drainedBy = "shutdown"
  /// Whether a request was received; notifications do not count.
  var hasSeenRequest = false
  /// The work of the queued immediate requests, in order of arrival.
  var waitingWork: [@Sendable () -> Void] = []
  /// The deadline of all queued immediate requests, set when a request succeeds after its
  /// deadline. Its success shows that other processes release the store in turn and that none of
  /// them hangs.
  var lineDeadline = Deadline.now
  /// Whether the waiting thread runs.
  var hasWaitingThread = false
  /// The number of running calls of `Peer.keepingAlive`.
  var keptAliveCount = 0

  private var entries: [Int: Entry] = [:]
  private var serials: [RequestID: Int] = [:]
  private var queue: [Int] = []
  private var nextSerial = 0
  private var byteCount = 0
  private var waitingCount = 0
  private var flowCount = 0
  private var taskCount = 0

  /// Whether every request is answered and no task runs.
  var isIdle: Bool { entries.isEmpty }

  /// Whether immediate requests are queued. A new one must then queue behind them.
  var hasWaiting: Bool { waitingCount > 0 }

  /// Returns the serial number of the unanswered request with this id.
  func serial(of id: RequestID) -> Int? { serials.isEmpty ? nil : serials[id] }

  /// Whether this request has not ended.
  func contains(_ serial: Int) -> Bool { entries[serial] != nil }
}

// MARK: - Coming

extension RequestTable {
  /// Adds an immediate request to the queue and returns its serial number.
  mutating func addWaiting(_ ticket: Ticket?, byteCount: Int) throws(RPCError) -> Int {
    try requireRoom(byteCount)
    try requireQueue()
    waitingCount += 1
    return add(Entry(ticket: ticket, state: .waiting, byteCount: byteCount))
  }

  /// Adds a task and starts it if there is a free place. A flow without a free place is refused
  /// instead of queued, because a flow waits for a person and nobody can say when its place becomes
  /// free.
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
  /// Frees the id of an answered task and lets the task continue in its place. Returns `false` if
  /// the task has ended.
  mutating func detach(_ serial: Int, announcing announcement: Announcement?) -> Bool {
    guard let entry = entries[serial] else { return false }
    if let id = entry.ticket?.id { serials[id] = nil }
    entries[serial]?.ticket = nil
    entries[serial]?.announcement = announcement
    return true
  }

  /// Removes a request and starts the next task in the queue if a place becomes free. Returns `nil`
  /// if the request was removed before.
  ///
  /// The caller must answer the removed request.
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

  /// The result of a cancellation.
  enum Cancellation {
    /// The request had not started and was removed. The caller must answer it.
    case removed(Entry)
    /// The request runs. The caller must call this closure without a lock held.
    case running(Cancel)
    /// The request has ended or was cancelled before.
    case nothing
  }

  /// Cancels a request and stores the reason.
  mutating func cancel(_ serial: Int, by: String) -> Cancellation {
    guard let entry = entries[serial], entry.cancelledBy == nil else { return .nothing }
    entries[serial]?.cancelledBy = by
    if case .running(_, let cancel) = entry.state { return .running(cancel) }
    return remove(serial).map(Cancellation.removed) ?? .nothing
  }

  /// The serial numbers of all tasks. Queued tasks come before running ones, so that cancelling a
  /// running task does not start a queued one.
  var tasks: [Int] {
    let running = entries.filter { if case .running = $0.value.state { true } else { false } }
    return queue + running.keys.sorted()
  }

  /// Removes all entries and returns them in order of arrival. The caller must answer them.
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
