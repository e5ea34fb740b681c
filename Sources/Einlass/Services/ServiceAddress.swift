internal import EinlassJSON

/// The address of a service that takes a token: an https address, or a host alone, such as
/// `imap.example.com` or `127.0.0.1:5000`.
///
/// Two addresses match only with equal hosts and ports. Paths are compared by whole segments. A
/// request with a host alone may be sent over any protocol, so it is not for a service with a scheme.
public struct ServiceAddress: Sendable, Equatable {
  /// The parsed address; of the scheme https for a host alone.
  let web: WebAddress
  /// Whether the text names no scheme.
  let isHostAlone: Bool
  /// The segments of the path, as received.
  let segments: [Substring]

  /// The address in its normal form: without a trailing slash.
  public var text: String { (isHostAlone ? web.authority : web.origin) + path }

  private var path: String { segments.map { "/\($0)" }.joined() }

  /// The reason why a text is no address of a service, as the end of a sentence.
  public struct Fault: Error, Sendable, Equatable {
    public var explanation: String
  }

  /// Parses an address. Refuses every part that two programs could read differently: user-info,
  /// queries, fragments, dot segments, and encodings of separators, controls and unreserved
  /// characters.
  public init(_ text: String) throws(Fault) {
    isHostAlone = !text.utf8.contains(UInt8(ascii: "/"))
    do throws(WebAddress.Fault) {
      web = try WebAddress.parse(isHostAlone ? "https://\(text)" : text)
    } catch { throw Fault(explanation: error.rawValue) }
    guard web.isSafe else { throw Fault(explanation: "is plain http to another machine") }
    guard web.query == nil else { throw Fault(explanation: "holds a query") }
    var path = Substring(web.path)
    if path.hasSuffix("/") { path = path.dropLast() }
    segments =
      path.isEmpty ? [] : path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    guard segments.allSatisfy(isPlainSegment) else {
      throw Fault(
        explanation: "holds an empty segment, a dot segment, or a needless or ambiguous encoding")
    }
  }

  /// The origin of an address.
  init(originOf web: WebAddress) {
    self.web = WebAddress(scheme: web.scheme, host: web.host, port: web.port)
    isHostAlone = false
    segments = []
  }

  /// Whether this address is at the same host and port as the host of a provider. A host alone
  /// matches every scheme.
  func isServed(at host: ServedHost) -> Bool { isAt(host.address, isHostAlone: isHostAlone) }

  /// Whether this address has a scheme, and this origin.
  func isServed(at origin: WebAddress) -> Bool { !isHostAlone && isAt(origin, isHostAlone: false) }

  private func isAt(_ other: WebAddress, isHostAlone: Bool) -> Bool {
    sameBytes(web.host, other.host) && web.port == other.port
      && (isHostAlone || web.scheme == other.scheme)
  }

  /// Whether a request can match both addresses equally.
  public func isSame(as other: ServiceAddress) -> Bool {
    (isBelow(other) || other.isBelow(self)) && segments.count == other.segments.count
  }

  /// Whether this address is the other one, or below its path. Below a host alone is every scheme.
  func isBelow(_ other: ServiceAddress) -> Bool {
    isAt(other.web, isHostAlone: other.isHostAlone) && (other.isHostAlone || !isHostAlone)
      && segments.count >= other.segments.count
      && zip(segments, other.segments).allSatisfy { sameBytes(String($0), String($1)) }
  }
}

/// Whether every program reads the segment as the same name.
///
/// Some servers cut a segment at a semicolon, decode it twice, or take invalid UTF-8 for a dot. An
/// encoded character that needs no encoding would name one path in two ways (RFC 3986 section 2.3).
private func isPlainSegment(_ segment: Substring) -> Bool {
  var bytes = Array(segment.utf8)[...]
  var name: [UInt8] = []
  while let mark = bytes.firstIndex(of: UInt8(ascii: "%")) {
    let digits = bytes[(mark + 1)...].prefix(2).compactMap(hexDigitValue)
    guard digits.count == 2 else { return false }
    let byte = digits[0] * 16 + digits[1]
    switch byte {
    case ..<0x20, 0x7F, UInt8(ascii: "/"), UInt8(ascii: "\\"), UInt8(ascii: "%"): return false
    case _ where isUnreserved(byte): return false
    default:
      name += bytes[..<mark] + [byte]
      bytes = bytes[(mark + 3)...]
    }
  }
  name += bytes
  guard String(validating: name, as: UTF8.self) != nil else { return false }
  return ![[], [UInt8(ascii: ".")], [UInt8(ascii: "."), UInt8(ascii: ".")]]
    .contains(Array(name.prefix { $0 != UInt8(ascii: ";") }))
}
