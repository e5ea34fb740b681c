/// A request as a value; `EinlassNetwork/CurlClient.swift` sends it.
public struct HTTPRequest: Sendable, Equatable {
  /// The methods that are sent. RFC 9110 section 9.
  public enum Method: String, Sendable, CaseIterable {
    case get = "GET"
    case post = "POST"
    case delete = "DELETE"
  }

  public var method: Method
  public var address: WebAddress
  /// Names as sent; values may be secret (`Authorization`) and are never logged.
  public var headers: [Header]
  public var body: [UInt8]
  /// How much of an answer's body is taken; one byte more is `networkFailure` −1103.
  public var responseLimitBytes: Int
  /// What is left of a budget; the sender's own limit (20 s) holds besides. Not above zero: timed out unsent.
  public var timeout: Duration?

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

/// An answer, read to its end.
public struct HTTPResponse: Sendable, Equatable {
  public var status: Int
  /// In the order received, names in lower case.
  public var headers: [HTTPRequest.Header]
  public var body: [UInt8]

  public init(status: Int, headers: [HTTPRequest.Header] = [], body: [UInt8] = []) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// Whether the status is in 200…299.
  public var isSuccess: Bool { (200...299).contains(status) }

  /// The first header of this name (given in lower case).
  public func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}
