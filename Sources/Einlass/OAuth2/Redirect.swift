/// Where a browser can bring an answer back to this machine. RFC 8252 section 7.3.
public struct RedirectPlace: Sendable, Equatable {
  /// How the address names this machine. The listener is on 127.0.0.1 in either case.
  public enum Host: String, Sendable, CaseIterable {
    /// What RFC 8252 recommends.
    case literal = "127.0.0.1"
    /// What some providers want.
    case name = "localhost"
  }

  public var host: Host
  /// Tried in this order; empty: any that is free.
  public var ports: [UInt16]
  /// Starts with `/`; the answer's path has to be exactly this.
  public var path: String

  public init(host: Host = .literal, ports: [UInt16] = [], path: String) {
    self.host = host
    self.ports = ports
    self.path = path
  }
}

/// A place that is open for answers, until `close` is called.
public struct OpenRedirect: Sendable {
  /// The redirect address to name to the provider: `http://127.0.0.1:PORT/path`.
  public var address: String
  /// The next answer that came. Throws `cancelled` when the task is, or the place was closed.
  public var next: @Sendable () async throws(Problem) -> RedirectAnswer
  /// Lets go of the port; who still waits for a page gets one that says that nothing was waited for.
  public var close: @Sendable () -> Void

  public init(
    address: String, next: @escaping @Sendable () async throws(Problem) -> RedirectAnswer,
    close: @escaping @Sendable () -> Void
  ) {
    self.address = address
    self.next = next
    self.close = close
  }
}

/// One answer: what the browser brought, and how to let it show a page. The first call of `show` counts.
public struct RedirectAnswer: Sendable {
  /// The query as received, without `?`.
  public var query: String
  public var show: @Sendable (RedirectPage) -> Void

  public init(query: String, show: @escaping @Sendable (RedirectPage) -> Void) {
    self.query = query
    self.show = show
  }
}
