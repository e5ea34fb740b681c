/// An HTTP request as a value; `EinlassNetwork/CurlClient.swift` sends it.
public struct HTTPRequest: Sendable, Equatable {
  /// The supported methods. RFC 9110 section 9.
  public enum Method: String, Sendable, CaseIterable {
    case get = "GET"
    case post = "POST"
    case delete = "DELETE"
  }

  public var method: Method
  public var address: WebAddress
  /// Header fields as sent. Values may be secret (`Authorization`) and are never logged.
  public var headers: [Header]
  public var body: [UInt8]
  /// The maximum size of the response body. A larger body is `networkFailure` −1103.
  public var responseLimitBytes: Int
  /// The remaining time budget, in addition to the sender's own limit of 20 s. With zero or less
  /// the request is not sent and times out.
  public var timeout: Duration?
  /// The client's certificate for the TLS connection; `nil` for none.
  public var identity: ClientIdentity?
  /// The trust of the account in its own server.
  public var trust = ServerTrust()
  /// Whether the server must have an address that the whole internet reaches, because a stranger may
  /// have named it. The address is checked after the look-up of the name, before anything is sent to
  /// it; through a proxy it is not known. The configuration can except hosts.
  public var needsPublicAddress = false
  /// Whether the path holds values of the request, so that no log shows it.
  public var hidesPath = false
  /// The cookies to send, in libcurl's format, if the response's cookies are wanted; `nil` to
  /// neither send nor take cookies.
  public var cookies: [String]?

  /// A field of the header section.
  public struct Header: Sendable, Equatable {
    public var name: String
    public var value: String

    public init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  public init(
    _ method: Method, _ address: WebAddress, headers: [Header] = [], body: [UInt8] = [],
    responseLimitBytes: Int = 1 << 20, timeout: Duration? = nil
  ) {
    self.method = method
    self.address = address
    self.headers = headers
    self.body = body
    self.responseLimitBytes = responseLimitBytes
    self.timeout = timeout
  }
}

/// A complete HTTP response.
public struct HTTPResponse: Sendable, Equatable {
  public var status: Int
  /// Header fields in the order received, names in lower case.
  public var headers: [HTTPRequest.Header]
  public var body: [UInt8]
  /// The cookies after the response, in libcurl's format: a line each, in the form of a Netscape
  /// cookie file. Secrets.
  public var cookies: [String]
  /// Whether the server has an address of this machine or of its network. Through a proxy its address
  /// is not known and counts as public.
  public var isFromInternalAddress = false

  public init(
    status: Int, headers: [HTTPRequest.Header] = [], body: [UInt8] = [], cookies: [String] = []
  ) {
    self.status = status
    self.headers = headers
    self.body = body
    self.cookies = cookies
  }

  /// Whether the status is 200…299.
  public var isSuccess: Bool { (200...299).contains(status) }

  /// Returns the first header of this name, given in lower case.
  public func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}

/// A client's certificate and its key, presented to a server by TLS. RFC 8446 section 4.4.2.
public struct ClientIdentity: Sendable, Equatable {
  /// PEM text: the certificate, then those of its intermediate authorities.
  public var certificate: String
  /// PEM text without a passphrase.
  public var privateKey: Secret

  public init(certificate: String, privateKey: Secret) {
    self.certificate = certificate
    self.privateKey = privateKey
  }
}
