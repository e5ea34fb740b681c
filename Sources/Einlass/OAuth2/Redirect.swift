/// A loopback address for a browser's redirect. RFC 8252 section 7.3.
public struct RedirectPlace: Sendable, Equatable {
  /// The host in the address. The listener is on 127.0.0.1 in either case.
  public enum Host: String, Sendable, CaseIterable {
    /// The form that RFC 8252 recommends.
    case literal = "127.0.0.1"
    /// The form that some providers require.
    case name = "localhost"
  }

  public var host: Host
  /// Tried in this order; empty for any free port.
  public var ports: [UInt16]
  /// Starts with `/`; the path of a response must be exactly this.
  public var path: String

  public init(host: Host = .literal, ports: [UInt16] = [], path: String) {
    self.host = host
    self.ports = ports
    self.path = path
  }
}

/// An address open for responses until `close` is called.
public struct OpenRedirect: Sendable {
  /// The redirect URI for the provider: `http://127.0.0.1:PORT/path`.
  public var address: String
  /// Returns the next response. Throws `cancelled` when the task is cancelled or the address was
  /// closed.
  public var next: @Sendable () async throws(Problem) -> RedirectAnswer
  /// Closes the port. A connection still waiting for its page gets the page of an unexpected
  /// response.
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

/// One response of a browser.
public struct RedirectAnswer: Sendable {
  /// The query as received, without `?`.
  public var query: String
  /// Returns when the page is on its way, so that the process may end. Only the first call has an
  /// effect.
  public var show: @Sendable (RedirectPage) async -> Void

  public init(query: String, show: @escaping @Sendable (RedirectPage) async -> Void) {
    self.query = query
    self.show = show
  }
}
