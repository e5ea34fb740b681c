/// Everything that cannot be computed. `EinlassNetwork/LiveEffects.swift` is the real one; tests hand in scripts.
public struct Effects: Sendable {
  /// One HTTP request and its whole answer. Never follows a redirect. Throws `networkFailure` with an
  /// NSURLErrorDomain number, or `cancelled`.
  public var send: @Sendable (HTTPRequest) async throws(Problem) -> HTTPResponse
  /// Waits until it is so late; throws `cancelled` when the task is. A moment and not a duration: a clock that is
  /// moved between the look at it and the falling asleep must not make the sleep longer.
  public var sleepUntil: @Sendable (UnixTime) async throws(Problem) -> Void
  /// The wall clock.
  public var now: @Sendable () -> UnixTime
  /// So many bytes from the cryptographic generator.
  public var randomBytes: @Sendable (Int) -> [UInt8]
  /// 16 bytes that no other request has, and that are no secret.
  public var nonce: @Sendable () -> [UInt8]
  /// Opens a place on this machine that a browser can bring an answer to. Throws `flowNotSupported` when it can't,
  /// retryable where somebody else has the port.
  public var openRedirect: @Sendable (RedirectPlace) throws(Problem) -> OpenRedirect
  /// Starts work that goes on when the calling task is cancelled, and that the process waits for before it ends.
  /// Returns once it has begun.
  public var outlive: @Sendable (_ work: @escaping @Sendable () async -> Void) async -> Void

  /// What is remembered of servers.
  public var memory: ServerMemory

  public init(
    send: @escaping @Sendable (HTTPRequest) async throws(Problem) -> HTTPResponse,
    sleepUntil: @escaping @Sendable (UnixTime) async throws(Problem) -> Void,
    now: @escaping @Sendable () -> UnixTime,
    randomBytes: @escaping @Sendable (Int) -> [UInt8],
    nonce: (@Sendable () -> [UInt8])? = nil,
    openRedirect: @escaping @Sendable (RedirectPlace) throws(Problem) -> OpenRedirect = {
      _ throws(Problem) in
      throw Problem(.flowNotSupported, "Nothing can be listened for here.")
    },
    outlive: @escaping @Sendable (@escaping @Sendable () async -> Void) async -> Void = { work in
      Task { await work() }
    }, memory: ServerMemory = .none
  ) {
    self.send = send
    self.sleepUntil = sleepUntil
    self.now = now
    self.randomBytes = randomBytes
    self.nonce = nonce ?? { randomBytes(16) }
    self.openRedirect = openRedirect
    self.outlive = outlive
    self.memory = memory
  }

  /// What the work comes to. When this task is cancelled it throws `cancelled`, and the work goes on: for what must
  /// not be cut between a sent request and its commit.
  func finishing<Success: Sendable>(
    _ work: @escaping @Sendable () async throws(Problem) -> Success
  ) async throws(Problem) -> Success {
    let (stream, continuation) = AsyncStream<Result<Success, Problem>>.makeStream()
    await outlive {
      let result: Result<Success, Problem>
      do throws(Problem) {
        result = .success(try await work())
      } catch {
        result = .failure(error)
      }
      continuation.yield(result)
    }
    for await result in stream { return try result.get() }
    throw Problem(.cancelled, "The request was cancelled. What was sent to the provider goes on.")
  }

  /// The same effects with one budget for all requests from now on: each may take what is left of it.
  public func within(seconds: Int64) -> Effects {
    let (deadline, send, now) = (now() + seconds, send, now)
    var effects = self
    effects.send = { request throws(Problem) in
      var request = request
      let left = deadline - now()
      // No request outlasts what was left by a minute. Else the clock was moved, and each has its own limit still.
      let limit = Duration.seconds((-60...seconds).contains(left) ? left : seconds)
      request.timeout = min(request.timeout ?? limit, limit)
      return try await send(request)
    }
    return effects
  }
}
