public import EinlassJSON
public import EinlassSystem

/// The other end of the pipe: reads its requests, answers each exactly once, and notifies it.
public final class Peer: Sendable {
  /// What a connection is started with.
  public struct Options: Sendable {
    /// The end of input means that no more requests come; what was read runs to its own deadline.
    public var finishesWork = false
    /// What `Schema.reference` refers to.
    public var components: Components = [:]
    /// The notifications that the server may send; a trace hides the parameters of any other.
    public var notifications: [NotificationDescriptor] = []
    public var log: Log = .silent
    public var trace: Trace?
    /// How long nothing may be read of a full output before the process gives up.
    public var stallLimit: Duration = .seconds(30)

    /// The defaults of the protocol.
    public init() {}
  }

  /// A connection that answers these methods; `run` starts it.
  public init(
    methods: [Method], streams: consuming StandardStreams, signals: consuming SignalDescriptor?,
    options: Options = Options()
  ) throws(SystemError) {
  }

  /// Serves until the connection ends, on the calling thread, and answers the exit code of the process.
  public func run() -> Int32 { 70 }

  /// Sends a notification.
  public func notify(_ method: String, _ params: JSONObject) {}

  /// Starts work that outlives its request: one of the 64 flows, cancelled when the connection ends. Throws
  /// `overloaded` or `shuttingDown`.
  public func startDetached(
    _ work: @escaping @Sendable () async -> Void
  ) throws(RPCError) -> DetachedWork {
    throw RPCError(.overloaded)
  }

  /// Cancels the task of a request, which answers `-32800` with this word as `by`. Nothing when it has ended.
  public func cancel(_ id: RequestID, by: String) {}

  /// Ends the connection like an end of input when this process ends. `false` when there is no such process.
  public func watchProcess(_ process: Int32) -> Bool { true }

  /// Keeps the process alive, silent, after the connection has ended, while this work runs: for what must not
  /// be cut between a sent request and its commit.
  public func keepingAlive<Result: Sendable>(
    _ work: @Sendable () async -> Result
  ) async -> Result {
    await work()
  }

  /// Work that was started by `startDetached`.
  public struct DetachedWork: Sendable {
    /// Cancels its task. Nothing when it has ended.
    public func cancel() {}
  }
}
