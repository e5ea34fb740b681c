/// An absolute `https` or `http` address, parsed strictly: RFC 3986 with user-info, fragments, controls,
/// backslashes and non-ASCII refused.
///
/// Whether plain `http` is acceptable is the policy of whoever holds the address: `isSafe`.
public struct WebAddress: Sendable, Equatable {
  /// What is spoken there.
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

  /// Scheme, host and port: `https://api.example.com`, `http://127.0.0.1:8080`.
  public var origin: String {
    "\(scheme.rawValue)://\(host)\(port.map { ":\($0)" } ?? "")"
  }

  /// The address as sent; an empty path stays empty.
  public var text: String { "\(origin)\(path)\(query.map { "?\($0)" } ?? "")" }

  /// Whether the host is a literal loopback address: 127.0.0.0/8 or `[::1]`. A name, even `localhost`, is not.
  public var isLoopback: Bool { host == "[::1]" || (isDottedQuad(host) && host.hasPrefix("127.")) }

  /// Whether secrets may travel there: TLS, or they never leave the machine.
  public var isSafe: Bool { scheme == .https || isLoopback }
}

extension WebAddress {
  /// Why a text is no address.
  public enum Fault: String, Error, Sendable {
    case tooLong = "is longer than 8192 bytes"
    case character = "holds a space, a control, a backslash, a quote or a character outside ASCII"
    case scheme = "does not begin with https:// or http://"
    case userInfo = "holds a user name or password"
    case fragment = "holds a fragment"
    case host = "has no proper host"
    case port = "has a port outside 1…65535"
    case percent = "holds a % that no two hexadecimal digits follow"
  }

  /// Reads an absolute address. RFC 3986, the strict half: what two parsers could read differently is refused.
  public static func parse(_ text: String) throws(Fault) -> WebAddress {
    let bytes = Array(text.utf8)
    guard bytes.count <= 8192 else { throw .tooLong }
    guard bytes.allSatisfy(isAllowed) else { throw .character }
    guard let colon = text.firstIndex(of: ":"), text[colon...].hasPrefix("://"),
      let scheme = Scheme(rawValue: text[..<colon].lowercased())
    else { throw .scheme }
    guard !bytes.contains(UInt8(ascii: "#")) else { throw .fragment }
    guard hasSoundEscapes(bytes) else { throw .percent }

    let rest = text[colon...].dropFirst(3)
    let authorityEnd = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
    let (host, port) = try parse(authority: rest[..<authorityEnd])
    let queryMark = rest[authorityEnd...].firstIndex(of: "?")
    return WebAddress(
      scheme: scheme, host: host, port: port == (scheme == .https ? 443 : 80) ? nil : port,
      path: String(rest[authorityEnd..<(queryMark ?? rest.endIndex)]),
      query: queryMark.map { String(rest[rest.index(after: $0)...]) })
  }

  private static func parse(authority: Substring) throws(Fault) -> (String, UInt16?) {
    guard !authority.contains("@") else { throw .userInfo }
    let hostEnd: Substring.Index
    if authority.first == "[" {
      guard let bracket = authority.firstIndex(of: "]") else { throw .host }
      hostEnd = authority.index(after: bracket)
    } else {
      hostEnd = authority.firstIndex(of: ":") ?? authority.endIndex
    }
    let host = authority[..<hostEnd].lowercased()
    guard isHost(host) else { throw .host }
    let rest = authority[hostEnd...]
    guard !rest.isEmpty else { return (host, nil) }
    let digits = rest.dropFirst()
    guard rest.first == ":", digits.allSatisfy(\.isASCIIDigit), let port = UInt16(digits), port > 0
    else { throw .port }
    return (host, port)
  }
}

/// Visible ASCII except what RFC 3986 allows nowhere.
private func isAllowed(_ byte: UInt8) -> Bool {
  (0x21...0x7E).contains(byte) && !#"\"<>^`{|}"#.utf8.contains(byte)
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
  let labels = host.split(separator: ".", omittingEmptySubsequences: false)
  guard host.utf8.count <= 253, labels.allSatisfy(isLabel), let last = labels.last else {
    return false
  }
  // `127.1`, `2130706433` and `0x7f.1` are addresses to some resolvers and names to others.
  return last.first?.isASCIIDigit == true ? isDottedQuad(host) : true
}

private func isLabel(_ label: Substring) -> Bool {
  (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
    && label.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
        UInt8(ascii: "-"), UInt8(ascii: "_"):
        true
      default: false
      }
    }
}

/// Four decimal numbers without leading zeros, which some resolvers read as octal.
private func isDottedQuad(_ host: String) -> Bool {
  let parts = host.split(separator: ".", omittingEmptySubsequences: false)
  return parts.count == 4
    && parts.allSatisfy { part in
      part.allSatisfy(\.isASCIIDigit) && UInt8(part).map { String($0) } == String(part)
    }
}

/// RFC 4291 section 2.2, forms 1 and 2: groups of one to four digits, one `::` at most, no zone.
private func isIPv6(_ address: Substring) -> Bool {
  guard !address.isEmpty, address.hasPrefix("::") || !address.hasPrefix(":"),
    address.hasSuffix("::") || !address.hasSuffix(":")
  else { return false }
  var groups = address.split(separator: ":", omittingEmptySubsequences: false)[...]
  // A `::` at either end leaves two empty groups there; one stands for it.
  if address.hasPrefix("::") { groups = groups.dropFirst() }
  if address.hasSuffix("::") { groups = groups.dropLast() }
  let gaps = groups.count(where: \.isEmpty)
  return (gaps == 0 ? groups.count == 8 : gaps == 1 && groups.count <= 8)
    && groups.allSatisfy { $0.utf8.count <= 4 && $0.utf8.allSatisfy { hexDigitValue($0) != nil } }
}

extension Character {
  fileprivate var isASCIIDigit: Bool { ("0"..."9").contains(self) }
}
