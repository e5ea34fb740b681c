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
  /// The process whose end ends the connection.
  let watchedProcess = Lock<ProcessDescriptor?>(nil)

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
    SignalDescriptor.ignoreBrokenPipes()
    do {
      var loop = try EventLoop(self)
      return loop.run()
    } catch {
      options.log.error("rpc", "the event loop can't start: error \(error.number) of the system")
      return 70
    }
  }
}

// MARK: - For handlers

extension Peer {
  /// Sends a notification.
  public func notify(_ method: String, _ params: JSONObject) {
    let message: JSONValue = [
      "jsonrpc": "2.0", "method": .string(method), "params": .object(params),
    ]
    var line = message.bytes()
    guard line.count <= Limits.outboundLineBytes else {
      options.log.error(
        "rpc", "a \(method) of \(line.count) bytes was not sent: it must be shorter")
      return
    }
    line.append(UInt8(ascii: "\n"))
    traceNotification(method, params)
    output.append { $0.append(contentsOf: line) }
    flush()
  }

  /// Starts work that outlives its request: one of the 64 flows, cancelled when the connection ends. Throws
  /// `overloaded` or `shuttingDown`.
  public func startDetached(
    _ work: @escaping @Sendable () async -> Void
  ) throws(RPCError) -> DetachedWork {
    let serial = try requests.withLock { table throws(RPCError) in
      guard table.phase != .draining else { throw RPCError(.shuttingDown) }
      return try table.addTask(nil, isFlow: true) { serial in
        let task = Task.detached {
          await work()
          self.end(serial, .success(.null))
        }
        return { task.cancel() }
      }
    }
    return DetachedWork(peer: self, serial: serial)
  }

  /// Work that was started by `startDetached`.
  public struct DetachedWork: Sendable {
    fileprivate let peer: Peer
    fileprivate let serial: Int

    /// Cancels its task. Nothing when it has ended.
    public func cancel() { peer.cancel(serial: serial, by: "client") }
  }

  /// Cancels the task of a request, which answers `-32800` with this word as `by`. Nothing when it has ended.
  public func cancel(_ id: RequestID, by: String) {
    guard let serial = requests.withLock({ $0.serial(of: id) }) else { return }
    cancel(serial: serial, by: by)
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
  /// Answers a request that ran elsewhere than on the event loop, unless it is answered already.
  func end(_ serial: Int, _ outcome: Outcome) {
    let isServing = requests.withLock { table in
      if let entry = table.remove(serial), let ticket = entry.ticket {
        if let by = entry.cancelledBy, case .failure = outcome {
          answer(ticket, .failure(.cancelled(by: by)))
        } else {
          answer(ticket, outcome)
        }
      }
      return table.phase == .serving
    }
    flush()
    if !isServing { wakeUp.ring() }
  }

  /// Cancels a request or detached work for this reason.
  func cancel(serial: Int, by: String) {
    let cancellation = requests.withLock { table in
      let cancellation = table.cancel(serial, by: by)
      if case .removed(let entry) = cancellation, let ticket = entry.ticket {
        answer(ticket, .failure(.cancelled(by: by)))
      }
      return cancellation
    }
    if case .running(let cancel) = cancellation { cancel() }
    flush()
  }

  /// Refuses what comes and cancels all tasks; immediate requests in line still run.
  func drain() {
    let tasks = requests.withLock { table in
      table.phase = .draining
      return table.tasks
    }
    for serial in tasks { cancel(serial: serial, by: "shutdown") }
  }

  /// Answers in place of everything that has not ended.
  func abandon() {
    requests.withLock { table in
      for entry in table.removeAll() {
        let by = entry.cancelledBy ?? "shutdown"
        if let ticket = entry.ticket { answer(ticket, .failure(.cancelled(by: by))) }
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
