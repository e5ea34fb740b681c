internal import EinlassJSON

/// One challenge of a `WWW-Authenticate` header: the authentication that a resource demands. RFC
/// 9110 section 11.
struct Challenge: Equatable {
  /// In lower case: `bearer`, `dpop`.
  var scheme: String
  /// Names in lower case, values without their quotes.
  var parameters: [Parameter]

  /// The longest header that is read, in bytes.
  static let byteLimit = 8192

  subscript(_ name: String) -> String? { parameters.first { sameBytes($0.name, name) }?.value }

  /// The address of the resource's metadata. RFC 9728 section 5.1.
  var resourceMetadata: String? { self["resource_metadata"] }

  /// Returns all challenges of a header value; `nil` if it breaks the grammar of RFC 9110 section
  /// 11.2: a scheme, then nothing, a `token68`, or `name=value` separated by commas.
  static func parse(_ header: String) -> [Challenge]? {
    guard header.utf8.count <= byteLimit else { return nil }
    var reader = FieldReader(header)
    var challenges: [Challenge] = []
    repeat {
      reader.skipListSeparators()
      guard !reader.isAtEnd else { break }
      guard let word = reader.token() else { return nil }
      if !challenges.isEmpty, reader.skip("=") {
        guard let value = reader.value(),
          challenges[challenges.count - 1].add(word.lowercased(), value)
        else { return nil }
      } else {
        var challenge = Challenge(scheme: word.lowercased(), parameters: [])
        if reader.skipSpaces(), let parameter = reader.firstParameter() {
          guard challenge.add(parameter.name, parameter.value) else { return nil }
        } else {
          reader.skipToken68()
        }
        challenges.append(challenge)
      }
    } while reader.isAtListSeparator
    return reader.isAtEnd && !challenges.isEmpty ? challenges : nil
  }

  /// Adds a parameter; `false` if its name is already there.
  private mutating func add(_ name: String, _ value: String) -> Bool {
    guard self[name] == nil else { return false }
    parameters.append(Parameter(name, value))
    return true
  }
}

private struct FieldReader {
  private var rest: ArraySlice<UInt8>

  init(_ text: String) { rest = Array(text.utf8)[...] }

  var isAtEnd: Bool { rest.allSatisfy(Self.isSpace) }
  var isAtListSeparator: Bool { rest.first { !Self.isSpace($0) } == UInt8(ascii: ",") }

  mutating func skipListSeparators() {
    rest = rest.drop { Self.isSpace($0) || $0 == UInt8(ascii: ",") }
  }

  mutating func skipSpaces() -> Bool {
    let before = rest.count
    rest = rest.drop(while: Self.isSpace)
    return rest.count < before
  }

  /// Skips a mark with the spaces around it; `false` if it does not follow.
  mutating func skip(_ mark: Unicode.Scalar) -> Bool {
    let after = rest.drop(while: Self.isSpace)
    guard after.first == UInt8(ascii: mark) else { return false }
    rest = after.dropFirst().drop(while: Self.isSpace)
    return true
  }

  mutating func skipToken68() {
    let characters = rest.prefix { Self.isToken($0) || $0 == UInt8(ascii: "/") }
    rest = rest[characters.endIndex...].drop { $0 == UInt8(ascii: "=") }
  }

  mutating func token() -> String? {
    let bytes = rest.prefix(while: Self.isToken)
    guard !bytes.isEmpty else { return nil }
    rest = rest[bytes.endIndex...]
    return String(decoding: bytes, as: UTF8.self)
  }

  mutating func value() -> String? {
    guard rest.first == UInt8(ascii: "\"") else { return token() }
    var value: [UInt8] = []
    var bytes = rest.dropFirst()
    while let byte = bytes.popFirst(), byte >= 0x20 || byte == 0x09, byte != 0x7F {
      switch byte {
      case UInt8(ascii: "\""):
        rest = bytes
        return String(validating: value, as: UTF8.self)
      case UInt8(ascii: "\\"):
        guard let escaped = bytes.popFirst() else { return nil }
        value.append(escaped)
      default: value.append(byte)
      }
    }
    return nil
  }

  /// Reads `name=value`; if it does not follow, reads nothing and returns `nil`. A `token68` may
  /// look like the beginning of one.
  mutating func firstParameter() -> (name: String, value: String)? {
    var ahead = self
    guard let name = ahead.token(), ahead.skip("="), let value = ahead.value(),
      ahead.isAtEnd || ahead.isAtListSeparator
    else { return nil }
    self = ahead
    return (name.lowercased(), value)
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

  /// RFC 9110 section 5.6.2.
  private static func isToken(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }
}
