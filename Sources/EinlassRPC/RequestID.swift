public import EinlassJSON

/// The id of a request: a string of 1 to 256 bytes or an integer, which may be written as `1.0`.
///
/// Two strings are equal if they decode to the same bytes, and `1.0` is `1`; `"1"` and `1` differ.
public struct RequestID: Sendable {
  /// The id as a JSON value, for parameters and results.
  public let json: JSONValue
  /// The string as the client wrote it, with quotes, if the writer of this process would escape it
  /// differently.
  private let lexeme: String?

  /// Makes the id of a message; `nil` if the value is not a valid id.
  init?(_ value: JSONValue, lexeme: String? = nil) {
    switch value {
    case .string(let string) where 1...256 ~= string.utf8.count: break
    case .number(let number)
    where number.withoutZeroFraction.isInteger && number.lexeme.utf8.count <= 256:
      break
    default: return nil
    }
    self.json = value
    self.lexeme = lexeme.map(RequestID.withoutLineEnds)
  }

  /// Appends the id as the client wrote it.
  func append(to bytes: inout [UInt8]) {
    if let lexeme { bytes.append(contentsOf: lexeme.utf8) } else { json.append(to: &bytes) }
  }

  /// Returns the lexeme with U+007F, U+0085, U+2028 and U+2029 escaped, because some readers end a
  /// line at them.
  private static func withoutLineEnds(_ lexeme: String) -> String {
    var text = ""
    for scalar in lexeme.unicodeScalars {
      switch scalar.value {
      case 0x7F, 0x85, 0x2028, 0x2029:
        text += JSONValue.string(String(scalar)).text.dropFirst().dropLast()
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text
  }

  private var key: String {
    switch json {
    case .string(let string): string
    case .number(let number): number.withoutZeroFraction.lexeme
    default: ""
    }
  }

  private var isString: Bool { json.string != nil }
}

extension RequestID: Hashable {
  public static func == (left: RequestID, right: RequestID) -> Bool {
    left.isString == right.isString && sameBytes(left.key, right.key)
  }

  public func hash(into hasher: inout Hasher) {
    for byte in key.utf8 { hasher.combine(byte) }
  }
}
