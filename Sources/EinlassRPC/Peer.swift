public import EinlassJSON
public import EinlassSystem

/// The other end of the pipe: reads its requests, answers each exactly once, and notifies it.
///
/// One thread, that of `run`, reads and answers immediate requests without handing them to another; tasks and
/// the thread that may wait for a store append their answers to the same output.
public final class Peer: Sendable {
  /// What a connection is started with.
  public struct Options: Sendable {
    /// The end of input means that no more requests come; what was read runs to its own deadline.
    public var finishesWork = false
    /// What `Schema.reference` refers to.
    public var components: Components = [:]
    /// The notifications that the server may send; a trace hides the parameters of any other.
    public var notifications: [NotificationDescriptor] = []
    /// Where the connection's own events go.
    public var log: Log = .silent
    /// Where every message goes, redacted.
    public var trace: Trace?
    /// Called on the reader's path before the requests of a read are taken: what they share begins here.
    public var willTakeRequests: @Sendable () -> Void = {}
    /// How long nothing may be read of a full output before the process gives up.
    public var stallLimit: Duration = .seconds(30)
    /// How long cancelled requests may take to answer at the end, and how long after `shutdown` requests are
    /// still refused before the output closes.
    public var drainLimit: Duration = .seconds(1)

    /// The defaults of the protocol.
    public init() {}
  }

  /// By name, those of `Lifecycle` among them; a name found is still to be compared as bytes.
  let methods: [String: RegisteredMethod]
  /// What the connection was started with.
  let options: Options
  /// Where messages come from.
  let input: Descriptor
  /// Where messages go.
  let output: Output
  /// The signals that end the connection.
  let signals: SignalDescriptor
  /// Rung when the event loop has to look again.
  let wakeUp: WakeUp
  /// What is not answered yet. Its lock is held while an answer is appended, never while a handler runs.
  let requests = Lock(RequestTable())
  /// Those of all connections of the process: an idle thread of one that has ended serves the next.
  let threads = Peer.taskThreads
  private static let taskThreads = TaskThreads(name: "einlass-task")
  /// The process whose end ends the connection.
  let watchedProcess = Lock<ProcessDescriptor?>(nil)
  /// What else is polled.
  let bell = Lock<Bell?>(nil)

  /// A descriptor, and what to do when it can be read.
  struct Bell: Sendable {
    var number: Int32
    var react: @Sendable () -> Void
  }

  /// Where requests run that may take long; a task that one starts and that may block must name it too.
  public var executor: any TaskExecutor { threads }

  /// The same for work that no running task starts; `nil` where the system has no thread to give.
  public var startedExecutor: (any TaskExecutor)? {
    do throws(SystemError) { try threads.start() } catch { return nil }
    return threads
  }

  /// A connection that answers these methods and those of `Lifecycle`; `run` starts it.
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

  /// Serves until the connection ends, on the calling thread, and answers the exit code of the process: 0, 1
  /// when stdout was lost, 75 when the client stopped reading, 128 and its number for a second signal.
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
  /// Sends a notification; `false` for one that is longer than a line may be, which is not sent.
  @discardableResult
  public func notify(_ method: String, _ params: JSONObject) -> Bool {
    let message: JSONValue = [
      "jsonrpc": "2.0", "method": .string(method), "params": .object(params),
    ]
    var line = message.bytes()
    guard line.count <= Limits.outboundLineBytes else {
      options.log.error(
        "rpc", "a \(method) of \(line.count) bytes was not sent: it must be shorter")
      return false
    }
    line.append(UInt8(ascii: "\n"))
    traceNotification(method, params)
    output.append { $0.append(contentsOf: line) }
    flush()
    return true
  }

  /// Ends the connection like an end of input when this process ends. `false` when there is no such process.
  public func watchProcess(_ process: Int32) -> Bool {
    do {
      try watchedProcess.withLock { watched throws(SystemError) in
        watched = try ProcessDescriptor(process)
      }
      wakeUp.ring()
    } catch {
      // A kernel that cannot watch leaves the end of input as the sign.
      return !error.isNoSuchProcess
    }
    return true
  }

  /// Calls `react` on the reader's path whenever there is something to read from this descriptor, which must
  /// stay open until the connection has ended. One at a time; `react` never waits.
  public func watch(_ number: Int32, _ react: @escaping @Sendable () -> Void) {
    bell.withLock { $0 = Bell(number: number, react: react) }
    wakeUp.ring()
  }

  /// Keeps the process alive, silent, after the connection has ended, while this work runs: for what must not
  /// be cut between a sent request and its commit.
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
  /// Answers a request whose handler goes on, unless it is answered already.
  func answer(_ call: Call, _ result: JSONValue, announcing announcement: Announcement?) {
    requests.withLock { table in
      if let serial = call.serial, !table.detach(serial, announcing: announcement) { return }
      if let ticket = call.ticket { answer(ticket, .success(result)) }
    }
    flush()
  }

  /// Answers a request that ran elsewhere than on the event loop, or announces its end; nothing when it has
  /// ended already.
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

  /// Answers for what is out of the table, or announces it.
  private func tell(_ entry: RequestTable.Entry, _ outcome: Outcome) {
    if let ticket = entry.ticket { answer(ticket, outcome) }
    if let announcement = entry.announcement,
      !notify(announcement.method, announcement.params(outcome))
    {
      notify(announcement.method, announcement.params(outcome.shortened))
    }
  }

  /// Cancels the task of a request, which answers `-32800` with this word as `by`. Nothing when it has ended.
  func cancel(_ id: RequestID, by: String) {
    guard let serial = requests.withLock({ $0.serial(of: id) }) else { return }
    cancel(serial: serial, by: by)
  }

  /// Cancels a request, or what goes on after its answer, for this reason.
  func cancel(serial: Int, by: String) {
    let cancellation = requests.withLock { table in
      let cancellation = table.cancel(serial, by: by)
      if case .removed(let entry) = cancellation { tell(entry, .failure(.cancelled(by: by))) }
      return cancellation
    }
    if case .running(let cancel) = cancellation { cancel() }
    flush()
  }

  /// Refuses what comes and cancels all tasks; immediate requests in line still run.
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

  /// Answers or announces in place of everything that has not ended.
  func abandon() {
    requests.withLock { table in
      for entry in table.removeAll() {
        tell(entry, .failure(.cancelled(by: entry.cancelledBy ?? table.drainedBy)))
      }
    }
  }

  /// Writes what goes over at once and leaves the rest to the event loop.
  private func flush() {
    if output.flush().needsEventLoop { wakeUp.ring() }
  }
}

// MARK: - For the event loop

extension Peer {
  /// Whether everything is answered and nothing runs.
  var isIdle: Bool { requests.withLock { $0.isIdle } }

  /// Whether the process must not end yet.
  var isKeptAlive: Bool { requests.withLock { $0.keptAliveCount > 0 } }

  /// What to poll for the end of the watched process.
  var watchedNumber: Int32? { watchedProcess.withLock { $0?.number } }
}
