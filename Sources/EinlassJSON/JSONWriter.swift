extension JSONValue {
  /// Appends the value as compact JSON, the form of every line that leaves the process.
  ///
  /// Escapes U+0000–001F, `"`, `\` and nothing else except U+007F, U+0085, U+2028 and U+2029,
  /// because some readers treat these as line ends or controls.
  public func append(to bytes: inout [UInt8]) {
    switch self {
    case .null: bytes.append(contentsOf: "null".utf8)
    case .bool(let value): bytes.append(contentsOf: (value ? "true" : "false").utf8)
    case .number(let number): bytes.append(contentsOf: number.lexeme.utf8)
    case .string(let string): JSONWriter.append(string, to: &bytes)
    case .object(let object): object.append(to: &bytes)
    case .array(let elements):
      bytes.append(UInt8(ascii: "["))
      for index in elements.indices {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        elements[index].append(to: &bytes)
      }
      bytes.append(UInt8(ascii: "]"))
    }
  }

  /// Returns the value as compact JSON.
  public func bytes() -> [UInt8] {
    var bytes: [UInt8] = []
    append(to: &bytes)
    return bytes
  }

  /// The value as compact JSON.
  public var text: String { String(decoding: bytes(), as: UTF8.self) }
}

extension JSONObject {
  /// Appends the object as compact JSON, its members in their order.
  public func append(to bytes: inout [UInt8]) {
    if let keptText {
      bytes.append(contentsOf: keptText)
      return
    }
    bytes.append(UInt8(ascii: "{"))
    let members = members.span
    for index in members.indices {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      JSONWriter.append(members[index].name, to: &bytes)
      bytes.append(UInt8(ascii: ":"))
      members[index].value.append(to: &bytes)
    }
    bytes.append(UInt8(ascii: "}"))
  }
}

extension JSONValue {
  /// The value as JSON for a file that people read and compare: ASCII, indented by two spaces. An
  /// object or an array that fits into a line of 100 characters is on one line.
  public var lines: String {
    var text = ""
    for scalar in broken(after: 0, indentation: "").unicodeScalars {
      if scalar.isASCII {
        text.unicodeScalars.append(scalar)
      } else {
        for unit in String(scalar).utf16 {
          let digits = String(unit, radix: 16)
          text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
      }
    }
    return text + "\n"
  }

  private func broken(after count: Int, indentation: String) -> String {
    let line = spaced
    guard indentation.utf8.count + count + line.utf8.count > 100 else { return line }
    let inner = indentation + "  "
    switch self {
    case .object(let object) where !object.members.isEmpty:
      let members = object.members.map { member in
        let name = JSONValue.string(member.name).text + ": "
        return inner + name + member.value.broken(after: name.utf8.count + 1, indentation: inner)
      }
      return "{\n" + members.joined(separator: ",\n") + "\n" + indentation + "}"
    case .array(let elements) where !elements.isEmpty:
      let values = elements.map { inner + $0.broken(after: 1, indentation: inner) }
      return "[\n" + values.joined(separator: ",\n") + "\n" + indentation + "]"
    default: return line
    }
  }

  /// The value on one line, with a space after each comma and colon.
  private var spaced: String {
    switch self {
    case .object(let object):
      let members = object.members.map { "\(JSONValue.string($0.name).text): \($0.value.spaced)" }
      return "{" + members.joined(separator: ", ") + "}"
    case .array(let elements): return "[" + elements.map(\.spaced).joined(separator: ", ") + "]"
    default: return text
    }
  }
}

/// Writes compact JSON text. RFC 8259.
enum JSONWriter {
  /// Appends the string in quotes, with escapes.
  static func append(_ string: String, to bytes: inout [UInt8]) {
    let start = bytes.count
    let span = string.utf8Span.span
    var isPlain = true
    bytes.append(addingCapacity: span.count + 2) { output in
      output.append(UInt8(ascii: "\""))
      for index in span.indices {
        let byte = span[index]
        guard !mayNeedEscape(byte) else {
          isPlain = false
          return
        }
        output.append(byte)
      }
      output.append(UInt8(ascii: "\""))
    }
    guard !isPlain else { return }
    bytes.removeLast(bytes.count - start - 1)
    for scalar in string.unicodeScalars { append(scalar, to: &bytes) }
    bytes.append(UInt8(ascii: "\""))
  }

  /// Whether a character with this byte as its first or only byte may need an escape.
  @inline(__always)
  private static func mayNeedEscape(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == 0x22 || byte == 0x5C || byte == 0x7F || byte == 0xC2 || byte == 0xE2
  }

  private static func append(_ scalar: Unicode.Scalar, to bytes: inout [UInt8]) {
    switch scalar.value {
    case 0x22: bytes.append(contentsOf: #"\""#.utf8)
    case 0x5C: bytes.append(contentsOf: #"\\"#.utf8)
    case 0x08: bytes.append(contentsOf: #"\b"#.utf8)
    case 0x09: bytes.append(contentsOf: #"\t"#.utf8)
    case 0x0A: bytes.append(contentsOf: #"\n"#.utf8)
    case 0x0C: bytes.append(contentsOf: #"\f"#.utf8)
    case 0x0D: bytes.append(contentsOf: #"\r"#.utf8)
    case 0x00...0x1F, 0x7F, 0x85, 0x2028, 0x2029:
      bytes.append(contentsOf: #"\u"#.utf8)
      for shift in [12, 8, 4, 0] as [UInt32] {
        bytes.append(hexDigit(UInt8(scalar.value >> shift & 0xF)))
      }
    default: bytes.append(contentsOf: String(scalar).utf8)
    }
  }

  private static func hexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? 0x30 + value : 0x61 + value - 10
  }
}
