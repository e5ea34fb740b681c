/// A key press.
enum Key: Equatable {
  /// One character, typed or pasted.
  case character(Character)
  case enter, backspace, up, down
  /// Ctrl-U: clears the line.
  case clear
  /// Ctrl-C, or Ctrl-D.
  case cancel
  /// A key without a meaning here.
  case other
}

/// Decodes the bytes of a terminal into keys. An incomplete sequence waits for its remaining bytes.
struct KeyReader {
  private var rest: [UInt8] = []

  /// Returns the keys completed by these bytes.
  mutating func keys(_ bytes: [UInt8]) -> [Key] {
    rest += bytes
    var keys: [Key] = []
    while let (key, count) = Self.first(of: rest) {
      keys.append(key)
      rest.removeFirst(count)
    }
    return keys
  }

  /// Returns the first key and its length in bytes; `nil` if it is incomplete.
  private static func first(of bytes: [UInt8]) -> (Key, Int)? {
    guard let byte = bytes.first else { return nil }
    switch byte {
    case 0x0A, 0x0D: return (.enter, 1)
    case 0x03, 0x04: return (.cancel, 1)
    case 0x08, 0x7F: return (.backspace, 1)
    case 0x15: return (.clear, 1)
    case 0x1B: return sequence(bytes)
    case 0x00..<0x20: return (.other, 1)
    default: return character(bytes)
    }
  }

  /// Decodes ESC [ … letter, or ESC O letter (ECMA-48 5.4).
  private static func sequence(_ bytes: [UInt8]) -> (Key, Int)? {
    guard bytes.count > 1 else { return nil }
    guard bytes[1] == UInt8(ascii: "[") || bytes[1] == UInt8(ascii: "O") else { return (.other, 1) }
    guard let end = bytes.dropFirst(2).firstIndex(where: { (0x40...0x7E).contains($0) }) else {
      // No key sends a sequence of 16 bytes or more.
      return bytes.count < 16 ? nil : (.other, bytes.count)
    }
    switch bytes[end] {
    case UInt8(ascii: "A"): return (.up, end + 1)
    case UInt8(ascii: "B"): return (.down, end + 1)
    default: return (.other, end + 1)
    }
  }

  private static func character(_ bytes: [UInt8]) -> (Key, Int)? {
    let count =
      switch bytes[0] {
      case ..<0x80: 1
      case 0xC0..<0xE0: 2
      case 0xE0..<0xF0: 3
      case 0xF0..<0xF8: 4
      default: 0
      }
    guard count > 0 else { return (.other, 1) }
    guard bytes.count >= count else { return nil }
    guard let text = String(validating: bytes[..<count], as: UTF8.self), let character = text.first
    else { return (.other, 1) }
    return (.character(character), count)
  }
}
