/// The productions of RFC 8259, one function each, over valid UTF-8.
struct JSONGrammar {
  /// A name that two members of an object had.
  private(set) var duplicateKey: String?
  /// The ranges of the values one level below the top, if `recordsChildren` is set.
  private(set) var children: [Range<Int>] = []
  private var position = 0
  private let depthLimit: Int
  private let recordsChildren: Bool

  init(depthLimit: Int, recordsChildren: Bool = false) {
    self.depthLimit = depthLimit
    self.recordsChildren = recordsChildren
  }

  /// JSON-text = ws value ws, followed by the end of the bytes.
  mutating func text(_ bytes: Span<UInt8>) throws(JSONReadError) -> JSONValue {
    skipSpace(bytes)
    let value = try value(bytes, depth: 0)
    skipSpace(bytes)
    guard position == bytes.count else { throw invalid }
    return value
  }

  private var invalid: JSONReadError { .invalidJSON(offset: position) }

  /// The byte at the position; at the end 0, because no production accepts it.
  @inline(__always)
  private func peek(_ bytes: Span<UInt8>) -> UInt8 {
    position < bytes.count ? bytes[position] : 0
  }

  @inline(__always)
  private mutating func skipSpace(_ bytes: Span<UInt8>) {
    while position < bytes.count {
      switch bytes[position] {
      case 0x20, 0x09, 0x0A, 0x0D: position += 1
      default: return
      }
    }
  }

  @inline(__always)
  private mutating func take(_ byte: UInt8, _ bytes: Span<UInt8>) -> Bool {
    guard peek(bytes) == byte else { return false }
    position += 1
    return true
  }

  /// Reads a value in an array or object of this depth.
  @inline(__always)
  private mutating func child(
    _ bytes: Span<UInt8>, depth: Int
  ) throws(JSONReadError) -> JSONValue {
    let start = position
    let value = try value(bytes, depth: depth)
    if recordsChildren && depth == 1 { children.append(start..<position) }
    return value
  }

  private mutating func value(
    _ bytes: Span<UInt8>, depth: Int
  ) throws(JSONReadError) -> JSONValue {
    switch peek(bytes) {
    case UInt8(ascii: "\""): return .string(try string(bytes))
    case UInt8(ascii: "{"): return .object(try object(bytes, depth: depth + 1))
    case UInt8(ascii: "["): return .array(try array(bytes, depth: depth + 1))
    case UInt8(ascii: "-"), 0x30...0x39: return .number(try number(bytes))
    case UInt8(ascii: "t"): return try literal("true", .bool(true), bytes)
    case UInt8(ascii: "f"): return try literal("false", .bool(false), bytes)
    case UInt8(ascii: "n"): return try literal("null", .null, bytes)
    default: throw invalid
    }
  }

  private mutating func literal(
    _ word: StaticString, _ value: JSONValue, _ bytes: Span<UInt8>
  ) throws(JSONReadError) -> JSONValue {
    for byte in word.description.utf8 {
      guard take(byte, bytes) else { throw invalid }
    }
    return value
  }

  private mutating func array(
    _ bytes: Span<UInt8>, depth: Int
  ) throws(JSONReadError) -> [JSONValue] {
    guard depth <= depthLimit else { throw .tooDeep }
    position += 1
    var elements: [JSONValue] = []
    skipSpace(bytes)
    if take(UInt8(ascii: "]"), bytes) { return elements }
    while true {
      skipSpace(bytes)
      elements.append(try child(bytes, depth: depth))
      skipSpace(bytes)
      if take(UInt8(ascii: "]"), bytes) { return elements }
      guard take(UInt8(ascii: ","), bytes) else { throw invalid }
    }
  }

  private mutating func object(
    _ bytes: Span<UInt8>, depth: Int
  ) throws(JSONReadError) -> JSONObject {
    guard depth <= depthLimit else { throw .tooDeep }
    position += 1
    var object = JSONObject()
    skipSpace(bytes)
    if take(UInt8(ascii: "}"), bytes) { return object }
    object.reserveCapacity(4)
    while true {
      skipSpace(bytes)
      guard peek(bytes) == UInt8(ascii: "\"") else { throw invalid }
      let name = try string(bytes)
      skipSpace(bytes)
      guard take(UInt8(ascii: ":"), bytes) else { throw invalid }
      skipSpace(bytes)
      object.append(name, try child(bytes, depth: depth))
      skipSpace(bytes)
      if take(UInt8(ascii: "}"), bytes) { break }
      guard take(UInt8(ascii: ","), bytes) else { throw invalid }
    }
    if let name = object.duplicateName { duplicateKey = name }
    return object
  }

  private mutating func number(_ bytes: Span<UInt8>) throws(JSONReadError) -> JSONNumber {
    let start = position
    _ = take(UInt8(ascii: "-"), bytes)
    if !take(UInt8(ascii: "0"), bytes) { try digits(bytes) }
    if take(UInt8(ascii: "."), bytes) { try digits(bytes) }
    if take(UInt8(ascii: "e"), bytes) || take(UInt8(ascii: "E"), bytes) {
      if !take(UInt8(ascii: "+"), bytes) { _ = take(UInt8(ascii: "-"), bytes) }
      try digits(bytes)
    }
    return JSONNumber(checkedLexeme: try copy(bytes, start..<position))
  }

  private mutating func digits(_ bytes: Span<UInt8>) throws(JSONReadError) {
    let start = position
    while 0x30...0x39 ~= peek(bytes) { position += 1 }
    guard position > start else { throw invalid }
  }

  /// Returns the bytes as text, without resolving escapes.
  private func copy(
    _ bytes: Span<UInt8>, _ range: Range<Int>
  ) throws(JSONReadError) -> String {
    do { return String(copying: try UTF8Span(validating: bytes.extracting(range))) } catch {
      throw .invalidUTF8
    }
  }
}

// MARK: - Strings

extension JSONGrammar {
  private mutating func string(_ bytes: Span<UInt8>) throws(JSONReadError) -> String {
    position += 1
    let start = position
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: "\""):
        position += 1
        return try copy(bytes, start..<position - 1)
      case UInt8(ascii: "\\"): return try stringWithEscapes(bytes, from: start)
      case 0x00...0x1F: throw invalid
      default: position += 1
      }
    }
    throw invalid
  }

  private mutating func stringWithEscapes(
    _ bytes: Span<UInt8>, from start: Int
  ) throws(JSONReadError) -> String {
    var decoded: [UInt8] = []
    for index in start..<position { decoded.append(bytes[index]) }
    while position < bytes.count {
      let byte = bytes[position]
      switch byte {
      case UInt8(ascii: "\""):
        position += 1
        return try copy(decoded.span, 0..<decoded.count)
      case UInt8(ascii: "\\"):
        position += 1
        try escape(bytes, into: &decoded)
      case 0x00...0x1F: throw invalid
      default:
        decoded.append(byte)
        position += 1
      }
    }
    throw invalid
  }

  private mutating func escape(
    _ bytes: Span<UInt8>, into decoded: inout [UInt8]
  ) throws(JSONReadError) {
    let letter = peek(bytes)
    switch letter {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): decoded.append(letter)
    case UInt8(ascii: "b"): decoded.append(0x08)
    case UInt8(ascii: "f"): decoded.append(0x0C)
    case UInt8(ascii: "n"): decoded.append(0x0A)
    case UInt8(ascii: "r"): decoded.append(0x0D)
    case UInt8(ascii: "t"): decoded.append(0x09)
    case UInt8(ascii: "u"):
      position += 1
      decoded.append(contentsOf: String(try scalar(bytes)).utf8)
      return
    default: throw invalid
    }
    position += 1
  }

  /// Reads one `\u` escape, or a surrogate pair of two.
  private mutating func scalar(_ bytes: Span<UInt8>) throws(JSONReadError) -> Unicode.Scalar {
    let first = try hexDigits(bytes)
    if let scalar = Unicode.Scalar(first) { return scalar }
    guard first < 0xDC00, take(UInt8(ascii: "\\"), bytes), take(UInt8(ascii: "u"), bytes) else {
      throw invalid
    }
    let second = try hexDigits(bytes)
    guard 0xDC00...0xDFFF ~= second,
      let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    else { throw invalid }
    return scalar
  }

  private mutating func hexDigits(_ bytes: Span<UInt8>) throws(JSONReadError) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<4 {
      let digit = peek(bytes)
      switch digit {
      case 0x30...0x39: value = value << 4 | UInt32(digit - 0x30)
      case 0x41...0x46: value = value << 4 | UInt32(digit - 0x41 + 10)
      case 0x61...0x66: value = value << 4 | UInt32(digit - 0x61 + 10)
      default: throw invalid
      }
      position += 1
    }
    return value
  }
}
