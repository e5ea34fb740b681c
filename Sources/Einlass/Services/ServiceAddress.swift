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
  /// Whether two programs could read the path as different ones. Then it is below no other path.
  public let isAmbiguous: Bool

  /// The address in its normal form: without a trailing slash.
  public var text: String { (isHostAlone ? web.authority : web.origin) + path }

  private var path: String { segments.map { "/\($0)" }.joined() }

  /// The address without a trailing slash.
  var place: WebAddress {
    var place = web
    place.path = path
    return place
  }

  /// The reason why a text is no address of a service, as the end of a sentence.
  public struct Fault: Error, Sendable, Equatable {
    public var explanation: String
  }

  /// Parses an address. Refuses user-info, queries, fragments, empty and dot segments, and encoded
  /// separators, dots and controls, because two programs could read them differently.
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
    let readings = segments.map(Reading.init)
    guard !readings.contains(.refused) else {
      throw Fault(
        explanation: "holds an empty segment, a dot segment or an encoded separator or control")
    }
    isAmbiguous = readings.contains(.ambiguous)
  }

  /// The origin of an address.
  init(originOf web: WebAddress) {
    self.web = WebAddress(scheme: web.scheme, host: web.host, port: web.port)
    isHostAlone = false
    segments = []
    isAmbiguous = false
  }

  /// Whether this address is at the same host and port as the host of a provider, and in its folder.
  /// A host alone matches every scheme, but no folder.
  func isServed(at host: ServedHost) -> Bool {
    host.address.path.isEmpty
      ? isAt(host.address, isHostAlone: isHostAlone) : isServed(at: host.address)
  }

  /// Whether this address has a scheme, and is at this origin or below this folder.
  func isServed(at place: WebAddress) -> Bool {
    guard !isHostAlone, !place.path.isEmpty else {
      return !isHostAlone && isAt(place, isHostAlone: false)
    }
    return (try? ServiceAddress(place.text)).map(isBelow) ?? false
  }

  private func isAt(_ other: WebAddress, isHostAlone: Bool) -> Bool {
    sameBytes(web.host, other.host) && web.port == other.port
      && (isHostAlone || web.scheme == other.scheme)
  }

  /// Whether a request can match both addresses equally.
  public func isSame(as other: ServiceAddress) -> Bool {
    isHostAlone == other.isHostAlone && isBelow(other) && segments.count == other.segments.count
  }

  /// Whether this address has the longer path, or a scheme where the other one is a host alone.
  func isCloser(than other: ServiceAddress) -> Bool {
    (segments.count, isHostAlone ? 0 : 1) > (other.segments.count, other.isHostAlone ? 0 : 1)
  }

  /// Whether some program could read this address as one below the other one's path.
  func isPerhapsBelow(_ other: ServiceAddress) -> Bool {
    isAmbiguous && !other.segments.isEmpty && isAt(other.web, isHostAlone: false)
  }

  /// Whether some program could read this address as one below this folder.
  func isPerhapsBelow(_ folder: WebAddress) -> Bool {
    isAmbiguous && isAt(folder, isHostAlone: false)
  }

  /// Whether this address is the other one, or below its path. Below a host alone is every scheme.
  func isBelow(_ other: ServiceAddress) -> Bool {
    isAt(other.web, isHostAlone: other.isHostAlone) && (other.isHostAlone || !isHostAlone)
      && segments.count >= other.segments.count && (!isAmbiguous || other.segments.isEmpty)
      && zip(segments, other.segments).allSatisfy { sameBytes(String($0), String($1)) }
  }
}

/// The ways to read a segment of a path.
private enum Reading {
  /// Every program reads the same name.
  case plain
  /// Some servers cut a segment at a semicolon, decode it twice, or take invalid UTF-8 for a dot. An
  /// encoded character that needs no encoding names one path in two ways (RFC 3986 section 2.3).
  case ambiguous
  /// Empty, a dot segment, or with an encoded separator, dot or control.
  case refused

  init(_ segment: Substring) {
    var bytes = Array(segment.utf8)[...]
    var name: [UInt8] = []
    self = segment.utf8.contains(UInt8(ascii: ";")) ? .ambiguous : .plain
    while let mark = bytes.firstIndex(of: UInt8(ascii: "%")) {
      let digits = bytes[(mark + 1)...].prefix(2).compactMap(hexDigitValue)
      let byte = digits.count == 2 ? digits[0] * 16 + digits[1] : 0
      switch byte {
      case ..<0x20, 0x7F, UInt8(ascii: "/"), UInt8(ascii: "\\"), UInt8(ascii: "."):
        self = .refused
        return
      case UInt8(ascii: "%"), UInt8(ascii: ";"), UInt8(ascii: "?"), UInt8(ascii: "#"),
        _ where isUnreserved(byte):
        self = .ambiguous
      default: break
      }
      name += bytes[..<mark] + [byte]
      bytes = bytes[(mark + 3)...]
    }
    name += bytes
    if String(validating: name, as: UTF8.self) == nil { self = .ambiguous }
    if name.isEmpty || segment == "." || segment == ".." { self = .refused }
  }
}
