public import EinlassJSON
public import EinlassSystem

/// The connection to the client: reads its requests, answers each exactly once, and notifies it.
///
/// The thread of `run` reads requests and answers immediate ones itself. Tasks and the thread for
/// blocking store calls append their answers to the same output.
public final class Peer: Sendable {
  /// The options of a connection.
  public struct Options: Sendable {
    /// The framing of both directions; `nil` lets the first bytes of the input decide.
    public var framing: Framing?
    /// Whether requests that were read before the end of input run to their end. Otherwise the end
    /// of input cancels them.
    public var finishesWork = false
    /// Whether the client's process ids are those of this machine.
    public var watchesProcesses = true
    /// Returns the schema for a `Schema.reference`. A start makes no schema that it does not need.
    public var components: Components = { _ in nil }
    /// Returns the notifications of the server. A trace hides the parameters of all others.
    public var notifications: @Sendable () -> [NotificationDescriptor] = { [] }
    /// The members of an error's data that a trace hides, at any depth.
    public var secretErrorMembers: [String] = []
    /// Whether a member has the name or address of a person, which a trace hides in every message.
    public var isPersonal: MemberTest = { _, _, _ in false }
    /// The log for events of the connection.
    public var log: Log = .silent
    /// The trace of all messages, redacted.
    public var trace: Trace?
    /// Throws for a request that a client without trust may not make. With this check the client
    /// learns code and reason of an error and nothing else, and gets no notification.
    public var gate: (@Sendable (_ method: String, JSONObject) throws(RPCError) -> Void)?
    /// Runs on the event loop's thread before the requests of a read are dispatched. It starts the
    /// state that these requests share.
    public var willTakeRequests: @Sendable () -> Void = {}
    /// The bytes of answers that wait for the rest of their batches. Above it the requests of batches
    /// are refused as `overloaded`.
    public var heldAnswerBytes = 32 << 20
    /// The time without any read by the client after which a connection with a full output ends.
    public var stallLimit: Duration = .seconds(30)
    /// The time for cancelled requests to answer at the end of the connection. It is also the time
    /// after `shutdown` in which requests are refused before the output closes.
    public var drainLimit: Duration = .seconds(1)

    /// The defaults of the protocol.
    public init() {}
  }

  /// The methods by name, including those of `Lifecycle`. After a look-up the names must be
  /// compared as bytes, because Swift's string equality ignores differences of Unicode
  /// normalization.
  let methods: [String: RegisteredMethod]
  let options: Options
  let input: Descriptor
  let output: Output
  /// The signals that end the connection.
  let signals: SignalDescriptor
  /// Wakes the event loop, so that it checks its state again.
  let wakeUp: WakeUp
  /// The unanswered requests. The lock is held while an answer is appended, never while a handler
  /// runs.
  let requests = Lock(RequestTable())
  /// The bytes of answers that wait for the rest of their batch.
  let heldBytes = Lock(0)
  /// The task threads, shared by all connections of the process, so that an idle thread of an ended
  /// connection serves the next one.
  let threads = Peer.taskThreads
  private static let taskThreads = TaskThreads(name: "einlass-task")
  /// The process whose end ends the connection.
  let watchedProcess = Lock<ProcessDescriptor?>(nil)
  /// More polled descriptors with their handlers.
  let bells = Lock<[Bell]>([])

  /// A descriptor and its handler, run when the descriptor is readable or has an error.
  struct Bell: Sendable {
    var number: Int32
    var react: @Sendable () -> Void
  }

  /// The executor of requests that run as tasks. A child task that may block must name it too.
  public var executor: any TaskExecutor { threads }

  /// The executor for work outside of any running task; `nil` if the system has no thread left.
  public var startedExecutor: (any TaskExecutor)? {
    do throws(SystemError) { try threads.start() } catch { return nil }
    return threads
  }

  /// Makes a connection with these methods and those of `Lifecycle`. `run` starts it.
  public init(
    methods: [Method], streams: consuming StandardStreams, signals: consuming SignalDescriptor?,
    options: Options = Options()
  ) throws(SystemError) {
    wakeUp = try WakeUp()
    var table: [String: RegisteredMethod] = [:]
    for method in methods { table[method.descriptor.name] = RegisteredMethod(method) }
    for lifecycle in Lifecycle.allCases {
      table[lifecycle.rawValue] = RegisteredMethod(lifecycle)
    }
    self.methods = table
    self.options = options
    self.signals = signals ?? SignalDescriptor.none
    output = streams.output
    input = streams.input
  }

  /// Serves on the calling thread until the connection ends and returns the exit code of the
  /// process: 0, 1 when stdout was lost, 70 when the event loop cannot start, 75 when the client
  /// stopped reading, and 128 plus its number for a second signal.
  public func run() -> Int32 {
    do {
      var loop = try EventLoop(self)
      return loop.run()
    } catch {
      options.log.error("rpc", "the event loop can't start: \(error.explanation)")
      return 70
    }
  }
}

// MARK: - For handlers

extension Peer {
  /// Sends a notification. Returns `false`, and sends nothing, if it is longer than a line may be.
  @discardableResult
  public func notify(_ method: String, _ params: JSONObject) -> Bool {
    guard options.gate == nil else { return true }
    let message: JSONValue = [
      "jsonrpc": "2.0", "method": .string(method), "params": .object(params),
    ]
    let bytes = message.bytes()
    guard bytes.count <= Limits.outboundLineBytes else {
      options.log.error(
        "rpc", "a \(method) of \(bytes.count) bytes was not sent: it must be shorter")
      return false
    }
    traceNotification(method, params)
    output.append(isAnswer: false) { $0.append(contentsOf: bytes) }
    flush()
    return true
  }

  /// Cancels all requests and ends the connection when this process ends. Returns `false` if there
  /// is no such process. Does nothing for a client elsewhere.
  public func watchProcess(_ process: Int32) -> Bool {
    guard options.watchesProcesses else { return true }
    do {
      try watchedProcess.withLock { watched throws(SystemError) in
        watched = try ProcessDescriptor(process)
      }
      wakeUp.ring()
    } catch {
      // If the kernel cannot watch processes, only the end of input ends the connection.
      return !error.isNoSuchProcess
    }
    return true
  }

  /// Calls `react` on the event loop's thread whenever this descriptor is readable or has an error.
  /// The descriptor must stay open until the connection has ended, and `react` must not block.
  public func watch(_ number: Int32, _ react: @escaping @Sendable () -> Void) {
    bells.withLock { $0.append(Bell(number: number, react: react)) }
    wakeUp.ring()
  }

  /// Keeps the process alive while this work runs, without output, even after the connection has
  /// ended. It protects the time between a sent request and the commit of its response.
  public func keepingAlive<Result: Sendable>(
    _ work: @Sendable () async -> Result
  ) async -> Result {
    requests.withLock { $0.keptAliveCount += 1 }
    let result = await work()
    requests.withLock { $0.keptAliveCount -= 1 }
    wakeUp.ring()
    return result
  }
}

// MARK: - Ends of requests

extension Peer {
  /// Answers a request and lets its handler continue. Does nothing if the request has ended.
  func answer(_ call: Call, _ result: JSONValue, announcing announcement: Announcement?) {
    requests.withLock { table in
      if let serial = call.serial, !table.detach(serial, announcing: announcement) { return }
      if let ticket = call.ticket { answer(ticket, .success(result)) }
    }
    flush()
  }

  /// Answers a request that ran outside of the event loop, or sends its announcement. Does nothing
  /// if the request has ended.
  func end(_ serial: Int, _ outcome: Outcome) {
    let isServing = requests.withLock { table in
      if let entry = table.remove(serial) {
        if let by = entry.cancelledBy, case .failure(let error) = outcome {
          tell(entry, .failure(entry.ticket == nil ? error.ended(by: by) : .cancelled(by: by)))
        } else {
          tell(entry, outcome)
        }
      }
      return table.phase == .serving
    }
    flush()
    if !isServing { wakeUp.ring() }
  }

  /// Answers an entry that was removed from the table, or sends its announcement.
  private func tell(_ entry: RequestTable.Entry, _ outcome: Outcome) {
    if let ticket = entry.ticket { answer(ticket, outcome) }
    if let announcement = entry.announcement,
      !notify(announcement.method, announcement.params(outcome))
    {
      notify(announcement.method, announcement.params(outcome.shortened))
    }
  }

  /// Cancels the request with this id. It is answered with `-32800` and this `by`. Does nothing if
  /// the request has ended.
  func cancel(_ id: RequestID, by: String) {
    guard let serial = requests.withLock({ $0.serial(of: id) }) else { return }
    cancel(serial: serial, by: by)
  }

  /// Cancels a request, or the work that continues after its answer.
  func cancel(serial: Int, by: String) {
    let cancellation = requests.withLock { table in
      let cancellation = table.cancel(serial, by: by)
      if case .removed(let entry) = cancellation { tell(entry, .failure(.cancelled(by: by))) }
      return cancellation
    }
    if case .running(let cancel) = cancellation { cancel() }
    flush()
  }

  /// Refuses new requests and cancels all tasks. Immediate requests in the queue still run.
  ///
  /// - Parameter by: the `by` of the cancelled requests.
  func drain(by: String) {
    let tasks = requests.withLock { table in
      table.phase = .draining
      table.drainedBy = by
      return table.tasks
    }
    for serial in tasks { cancel(serial: serial, by: by) }
  }

  /// Answers or announces every entry of the table as cancelled.
  func abandon() {
    requests.withLock { table in
      for entry in table.removeAll() {
        tell(entry, .failure(.cancelled(by: entry.cancelledBy ?? table.drainedBy)))
      }
    }
  }

  /// Writes as much as possible without blocking and leaves the rest to the event loop.
  private func flush() {
    if output.flush().needsEventLoop { wakeUp.ring() }
  }
}

// MARK: - For the event loop

extension Peer {
  /// Whether every request is answered and no task runs.
  var isIdle: Bool { requests.withLock { $0.isIdle } }

  /// Whether work of `keepingAlive` still runs.
  var isKeptAlive: Bool { requests.withLock { $0.keptAliveCount > 0 } }

  /// The descriptor to poll for the end of the watched process.
  var watchedNumber: Int32? { watchedProcess.withLock { $0?.number } }
}
