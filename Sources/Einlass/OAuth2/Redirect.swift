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
  /// Whether the response comes in the fragment, which only a script of the page can read.
  public var takesFragment: Bool

  public init(
    host: Host = .literal, ports: [UInt16] = [], path: String, takesFragment: Bool = false
  ) {
    self.host = host
    self.ports = ports
    self.path = path
    self.takesFragment = takesFragment
  }

  /// Returns the host and the port as in an address and in the header `Host`.
  public func authority(port: UInt16) -> String {
    port == 80 ? host.rawValue : "\(host.rawValue):\(port)"
  }
}

/// An address open for responses until `close` is called. Several sign-ins of a process may share
/// it.
public struct OpenRedirect: Sendable {
  /// The redirect URI for the provider: `http://127.0.0.1:PORT/path`.
  public var address: String
  /// Takes responses from now on. Called before the page is opened, because a browser may return at
  /// once.
  public var expect: @Sendable (RedirectClaim) -> Void
  /// Returns the first response of this sign-in. Throws `cancelled` when the task is cancelled or
  /// the address was closed.
  public var next: @Sendable () async throws(Problem) -> RedirectAnswer
  /// Closes the port, unless another sign-in still uses it. A connection still waiting for its page
  /// gets the page of an unexpected response.
  public var close: @Sendable () -> Void

  public init(
    address: String,
    expect: @escaping @Sendable (RedirectClaim) -> Void,
    next: @escaping @Sendable () async throws(Problem) -> RedirectAnswer,
    close: @escaping @Sendable () -> Void
  ) {
    self.address = address
    self.expect = expect
    self.next = next
    self.close = close
  }
}

/// The part of a sign-in in the decision about the requests to its redirect address.
public struct RedirectClaim: Sendable {
  /// Whether a response belongs to this sign-in.
  public var isOurs: @Sendable (RedirectParameters) -> Bool
  /// Takes each refused request, if no other sign-in waits at the port.
  public var refused: @Sendable (RefusedReturn) -> Void

  public init(
    isOurs: @escaping @Sendable (RedirectParameters) -> Bool,
    refused: @escaping @Sendable (RefusedReturn) -> Void
  ) {
    self.isOurs = isOurs
    self.refused = refused
  }
}

/// The parameters of a browser's response, as received.
public struct RedirectParameters: Sendable, Equatable {
  /// The query without `?`, or the posted form.
  public var text: String
  /// Whether a form was posted (OAuth 2.0 Form Post Response Mode).
  public var isForm: Bool

  public init(_ text: String, isForm: Bool = false) {
    self.text = text
    self.isForm = isForm
  }

  /// The maximum length of a posted form, in bytes.
  public static let formLimitBytes = 64 << 10
  /// The maximum length of a query, in bytes.
  static let queryLimitBytes = 16 << 10

  var isTooLong: Bool {
    text.utf8.count > (isForm ? Self.formLimitBytes : Self.queryLimitBytes)
  }
}

/// One response of a browser.
public struct RedirectAnswer: Sendable {
  public var parameters: RedirectParameters
  /// Shows a page to every connection that has brought a response of this sign-in. Returns when it
  /// is on its way, so that the process may end. Only the first call has an effect.
  public var show: @Sendable (RedirectPage) async -> Void

  public init(
    _ parameters: RedirectParameters, show: @escaping @Sendable (RedirectPage) async -> Void
  ) {
    self.parameters = parameters
    self.show = show
  }
}
