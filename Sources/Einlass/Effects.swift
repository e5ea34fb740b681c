/// Every interaction with the outside world. `EinlassNetwork/LiveEffects.swift` makes the real
/// ones; tests pass scripted ones. A class, because every suspended function of a run holds it.
public final class Effects: Sendable {
  /// Sends one HTTP request and returns its whole response. Never follows a redirect. Throws
  /// `networkFailure` with an NSURLErrorDomain number, or `cancelled`.
  public let send: @Sendable (HTTPRequest) async throws(Problem) -> HTTPResponse
  /// Connects to the server at this address, and returns its certificate with its fault, `nil` for
  /// plain http. Sends no request, and does not use the accepted public key. Throws
  /// `networkFailure`, or `cancelled`.
  public let certificate:
    @Sendable (WebAddress, ServerTrust) async throws(Problem) -> ServerCertificate?
  /// Waits until this time. Throws `cancelled` when the task is cancelled. Takes a time instead of
  /// a duration, because a clock that is set before the wait begins must not lengthen it.
  public let sleepUntil: @Sendable (UnixTime) async throws(Problem) -> Void
  /// Returns the wall clock's time.
  public let now: @Sendable () -> UnixTime
  /// Returns this number of bytes from the cryptographic generator.
  public let randomBytes: @Sendable (Int) -> [UInt8]
  /// Returns 16 bytes, unique to one request but not secret.
  public let nonce: @Sendable () -> [UInt8]
  /// Opens a redirect address on this machine. Throws `flowNotSupported` if that fails, retryable
  /// if another program has the port, and with the `detail` `Problem.portQueue` if that is a sign-in
  /// too.
  public let openRedirect: @Sendable (RedirectPlace) async throws(Problem) -> OpenRedirect
  /// Starts work that continues when the calling task is cancelled. The process waits for it before
  /// it ends. Returns once the work has begun.
  public let outlive: @Sendable (_ work: @escaping @Sendable () async -> Void) async -> Void
  /// Reads the file at a path that the registration names as its `assertionFile`. Throws
  /// `authenticatorUnconfigured` for a file that is missing, too long or open to others.
  public let readAssertionFile: @Sendable (_ path: String) throws(Problem) -> Secret

  /// Takes note of a refresh that failed. For the log.
  public let noteFailedRefresh: @Sendable (Account, Problem) -> Void

  /// The knowledge about servers that a process keeps.
  public let memory: ServerMemory

  public init(
    send: @escaping @Sendable (HTTPRequest) async throws(Problem) -> HTTPResponse,
    certificate:
      @escaping @Sendable (WebAddress, ServerTrust) async throws(Problem) -> ServerCertificate? = {
        _, _ throws(Problem) in
        throw Problem(.flowNotSupported, "No certificate can be read here.")
      },
    sleepUntil: @escaping @Sendable (UnixTime) async throws(Problem) -> Void,
    now: @escaping @Sendable () -> UnixTime,
    randomBytes: @escaping @Sendable (Int) -> [UInt8],
    nonce: (@Sendable () -> [UInt8])? = nil,
    openRedirect: @escaping @Sendable (RedirectPlace) async throws(Problem) -> OpenRedirect = {
      _ throws(Problem) in
      throw Problem(.flowNotSupported, "No redirect listener is available.")
    },
    outlive: @escaping @Sendable (@escaping @Sendable () async -> Void) async -> Void = { work in
      Task { await work() }
    },
    readAssertionFile: @escaping @Sendable (String) throws(Problem) -> Secret = {
      path throws(Problem) in
      throw Problem(.authenticatorUnconfigured, "No file can be read here.", path: path)
    },
    noteFailedRefresh: @escaping @Sendable (Account, Problem) -> Void = { _, _ in },
    memory: ServerMemory = .none
  ) {
    self.send = send
    self.certificate = certificate
    self.sleepUntil = sleepUntil
    self.now = now
    self.randomBytes = randomBytes
    self.nonce = nonce ?? { randomBytes(16) }
    self.openRedirect = openRedirect
    self.outlive = outlive
    self.readAssertionFile = readAssertionFile
    self.noteFailedRefresh = noteFailedRefresh
    self.memory = memory
  }

  /// Returns the same effects with these in place of their own.
  public func with(
    send: (@Sendable (HTTPRequest) async throws(Problem) -> HTTPResponse)? = nil,
    sleepUntil: (@Sendable (UnixTime) async throws(Problem) -> Void)? = nil,
    now: (@Sendable () -> UnixTime)? = nil,
    randomBytes: (@Sendable (Int) -> [UInt8])? = nil,
    openRedirect: (@Sendable (RedirectPlace) async throws(Problem) -> OpenRedirect)? = nil,
    outlive: (@Sendable (@escaping @Sendable () async -> Void) async -> Void)? = nil,
    readAssertionFile: (@Sendable (String) throws(Problem) -> Secret)? = nil,
    noteFailedRefresh: (@Sendable (Account, Problem) -> Void)? = nil
  ) -> Effects {
    Effects(
      send: send ?? self.send, certificate: certificate, sleepUntil: sleepUntil ?? self.sleepUntil,
      now: now ?? self.now, randomBytes: randomBytes ?? self.randomBytes, nonce: nonce,
      openRedirect: openRedirect ?? self.openRedirect, outlive: outlive ?? self.outlive,
      readAssertionFile: readAssertionFile ?? self.readAssertionFile,
      noteFailedRefresh: noteFailedRefresh ?? self.noteFailedRefresh, memory: memory)
  }

  /// Returns the result of work that must not be interrupted between a sent request and its commit.
  /// Throws `cancelled` when this task is cancelled; the work continues.
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
    throw Problem(.cancelled, "The request was cancelled. The request to the provider continues.")
  }

  /// Returns the same effects, with every request in this language of the person (RFC 9110, section
  /// 12.5.4).
  public func speaking(_ language: LanguageTag?) -> Effects {
    guard let language else { return self }
    return with(send: { [send] request throws(Problem) in
      var request = request
      request.headers.append(.init("Accept-Language", language.text))
      return try await send(request)
    })
  }

  /// Returns the same effects with a common time budget for all requests from now on.
  public func within(seconds: Int64) -> Effects {
    let (deadline, send, now) = (now() + seconds, send, now)
    return with(send: { request throws(Problem) in
      var request = request
      let left = deadline - now()
      // No request ends more than a minute late, so any other remainder means that the clock was
      // set. Then this request gets the full budget.
      let limit = Duration.seconds((-60...seconds).contains(left) ? left : seconds)
      request.timeout = min(request.timeout ?? limit, limit)
      return try await send(request)
    })
  }
}
