/// An absolute `https` or `http` address, parsed strictly: RFC 3986 without user-info, fragments,
/// controls, backslashes and non-ASCII characters.
///
/// Plain `http` is allowed here. Code that sends secrets to an address checks `isSafe`.
public struct WebAddress: Sendable, Equatable {
  /// The supported schemes.
  public enum Scheme: String, Sendable { case https, http }

  public var scheme: Scheme
  /// In lower case; an IPv6 address is in brackets.
  public var host: String
  /// `nil` for the scheme's default port.
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

  /// Scheme, host and port: `https://api.example.com`, `http://127.0.0.1:8080`.
  public var origin: String { "\(scheme.rawValue)://\(authority)" }

  /// Host and port: `api.example.com`, `127.0.0.1:8080`.
  public var authority: String { "\(host)\(port.map { ":\($0)" } ?? "")" }

  /// The address as sent; an empty path stays empty.
  public var text: String { "\(origin)\(path)\(query.map { "?\($0)" } ?? "")" }

  /// Whether the host is a literal loopback address: 127.0.0.0/8 or `[::1]`. A name is not, not
  /// even `localhost`.
  public var isLoopback: Bool { host == "[::1]" || (isDottedQuad(host) && host.hasPrefix("127.")) }

  /// Whether secrets may be sent to the address: over TLS, or within this machine.
  public var isSafe: Bool { scheme == .https || isLoopback }

  /// Whether a document from this address may name the other address as an endpoint or a page. The
  /// other address must be safe. It may be a loopback address only if this one is too, because
  /// otherwise a remote server could direct requests at services on this machine.
  func mayName(_ other: WebAddress) -> Bool { other.isSafe && (isLoopback || !other.isLoopback) }
}

extension WebAddress {
  /// Returns the address with these parameters appended to its query.
  func asking(_ parameters: [Parameter]) -> WebAddress {
    var address = self
    let more = FormEncoding.encode(parameters)
    address.query = query.map { $0.isEmpty ? more : "\($0)&\(more)" } ?? more
    return address
  }
}

extension WebAddress {
  /// The reason why a text is not an address.
  public enum Fault: String, Error, Sendable {
    case tooLong = "is longer than 8192 bytes"
    case character =
      "holds a space, a control, a backslash, a quote, $( or a character outside ASCII"
    case scheme = "does not begin with https:// or http://"
    case userInfo = "holds a user name or password"
    case fragment = "holds a fragment"
    case host = "has no valid host"
    case port = "has a port outside 1…65535"
    case percent = "holds a % without two hexadecimal digits after it"
  }

  /// The longest accepted text.
  package static let limitBytes = 8192

  /// Parses an absolute address. RFC 3986; refuses any text that two parsers could read
  /// differently.
  ///
  /// Works on bytes for speed, because every signed request parses an address.
  public static func parse(_ text: String) throws(Fault) -> WebAddress {
    let bytes = Array(text.utf8)
    guard bytes.count <= limitBytes else { throw .tooLong }
    guard bytes.allSatisfy(isAllowed), !holdsCommand(bytes) else { throw .character }
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
      bytes[colon...].starts(with: "://".utf8),
      let scheme = Scheme(rawValue: lowercased(bytes[..<colon]))
    else { throw .scheme }
    guard !bytes.contains(UInt8(ascii: "#")) else { throw .fragment }
    guard hasSoundEscapes(bytes) else { throw .percent }

    let rest = bytes[(colon + 3)...]
    let authorityEnd =
      rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
    let (host, port) = try parse(authority: rest[..<authorityEnd])
    let queryMark = rest[authorityEnd...].firstIndex(of: UInt8(ascii: "?"))
    return WebAddress(
      scheme: scheme, host: host, port: port == (scheme == .https ? 443 : 80) ? nil : port,
      path: String(decoding: rest[authorityEnd..<(queryMark ?? rest.endIndex)], as: UTF8.self),
      query: queryMark.map { String(decoding: rest[($0 + 1)...], as: UTF8.self) })
  }

  private static func parse(authority: ArraySlice<UInt8>) throws(Fault) -> (String, UInt16?) {
    guard !authority.contains(UInt8(ascii: "@")) else { throw .userInfo }
    let hostEnd: Int
    if authority.first == UInt8(ascii: "[") {
      guard let bracket = authority.firstIndex(of: UInt8(ascii: "]")) else { throw .host }
      hostEnd = bracket + 1
    } else {
      hostEnd = authority.firstIndex(of: UInt8(ascii: ":")) ?? authority.endIndex
    }
    let host = lowercased(authority[..<hostEnd])
    guard isHost(host) else { throw .host }
    let rest = authority[hostEnd...]
    guard !rest.isEmpty else { return (host, nil) }
    let digits = rest.dropFirst()
    guard rest.first == UInt8(ascii: ":"), digits.allSatisfy(isDigit),
      let port = UInt16(String(decoding: digits, as: UTF8.self)), port > 0
    else { throw .port }
    return (host, port)
  }
}

/// Returns ASCII bytes as text in lower case.
private func lowercased(_ bytes: ArraySlice<UInt8>) -> String {
  String(decoding: bytes.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
}

private func isDigit(_ byte: UInt8) -> Bool {
  (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
}

/// Visible ASCII without the characters that RFC 3986 allows nowhere.
private func isAllowed(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "\\"), UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"),
    UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"):
    false
  default: (0x21...0x7E).contains(byte)
  }
}

/// Whether the text holds `$(`. A shell runs it even in double quotes, and a front end may open the
/// address through a shell.
private func holdsCommand(_ bytes: [UInt8]) -> Bool {
  guard let first = bytes.firstIndex(of: UInt8(ascii: "$")) else { return false }
  return bytes[first...].indices.contains { index in
    bytes[index...].starts(with: "$(".utf8)
  }
}

private func hasSoundEscapes(_ bytes: [UInt8]) -> Bool {
  bytes.indices.allSatisfy { index in
    bytes[index] != UInt8(ascii: "%")
      || bytes[index...].dropFirst().prefix(2).count(where: { hexDigitValue($0) != nil }) == 2
  }
}

/// A DNS name, a dotted quad or a bracketed IPv6 address, in lower case.
private func isHost(_ host: String) -> Bool {
  if host.hasPrefix("[") { return isIPv6(host.dropFirst().dropLast()) }
  let labels = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
  guard host.utf8.count <= 253, labels.allSatisfy(isLabel), let last = labels.last?.first else {
    return false
  }
  // `127.1`, `2130706433` and `0x7f.1` are addresses for some resolvers and names for others.
  return isDigit(last) ? isDottedQuad(host) : true
}

private func isLabel(_ label: Substring.UTF8View) -> Bool {
  (1...63).contains(label.count) && label.first != UInt8(ascii: "-")
    && label.last != UInt8(ascii: "-")
    && label.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
        UInt8(ascii: "-"), UInt8(ascii: "_"):
        true
      default: false
      }
    }
}

/// Four decimal numbers without leading zeros, because some resolvers read these as octal.
private func isDottedQuad(_ host: String) -> Bool {
  let parts = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
  return parts.count == 4
    && parts.allSatisfy { part in
      part.allSatisfy(isDigit) && (part.count == 1 || part.first != UInt8(ascii: "0"))
        && UInt8(Substring(part)) != nil
    }
}

/// RFC 4291 section 2.2, forms 1 and 2: groups of one to four digits, one `::` at most, no zone.
private func isIPv6(_ address: Substring) -> Bool {
  guard !address.isEmpty, address.hasPrefix("::") || !address.hasPrefix(":"),
    address.hasSuffix("::") || !address.hasSuffix(":")
  else { return false }
  var groups = address.split(separator: ":", omittingEmptySubsequences: false)[...]
  // A `::` at either end leaves two empty groups; keep one of them.
  if address.hasPrefix("::") { groups = groups.dropFirst() }
  if address.hasSuffix("::") { groups = groups.dropLast() }
  let gaps = groups.count(where: \.isEmpty)
  return (gaps == 0 ? groups.count == 8 : gaps == 1 && groups.count <= 8)
    && groups.allSatisfy { $0.utf8.count <= 4 && $0.utf8.allSatisfy { hexDigitValue($0) != nil } }
}
