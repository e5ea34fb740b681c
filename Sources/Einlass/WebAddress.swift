/// An absolute `https` or `http` address, parsed strictly: RFC 3986 with user-info, fragments, controls,
/// backslashes and non-ASCII refused.
public struct WebAddress: Sendable, Equatable {
  public enum Scheme: String, Sendable { case https, http }

  public var scheme: Scheme
  /// Lower case; an IPv6 address stands in brackets.
  public var host: String
  /// `nil` when the scheme's own.
  public var port: UInt16?
  /// Percent-encoded as received; empty or starting with `/`.
  public var path: String
  /// Percent-encoded as received, without `?`.
  public var query: String?

  public init(
    scheme: Scheme, host: String, port: UInt16? = nil, path: String = "", query: String? = nil
  ) {
    self.scheme = scheme
    self.host = host
    self.port = port
    self.path = path
    self.query = query
  }
}
