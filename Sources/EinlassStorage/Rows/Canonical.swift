/// Injective encodings: different values never give the same bytes.
enum Canonical {
  /// Prefixes each field with its length (eight bytes, big-endian), so that bytes cannot move
  /// between neighbouring fields.
  static func bytes(_ fields: [[UInt8]]) -> [UInt8] {
    var bytes: [UInt8] = []
    for field in fields {
      let count = UInt64(field.count)
      for shift in stride(from: 56, through: 0, by: -8) {
        bytes.append(UInt8(truncatingIfNeeded: count >> UInt64(shift)))
      }
      bytes += field
    }
    return bytes
  }

  static func texts(_ texts: [String]) -> [UInt8] { bytes(texts.map { Array($0.utf8) }) }

  /// Encodes a missing text as no bytes, and a text as one field.
  static func optional(_ text: String?) -> [UInt8] { text.map { bytes([Array($0.utf8)]) } ?? [] }
}

/// A list of texts as one human-readable text. Each item ends with a line feed. Within an item, `\`
/// and line feeds are escaped by a preceding `\`.
enum TextList {
  static func text(_ items: [String]) -> String {
    var bytes: [UInt8] = []
    for item in items {
      for byte in item.utf8 {
        if byte == backslash || byte == lineFeed { bytes.append(backslash) }
        bytes.append(byte)
      }
      bytes.append(lineFeed)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  static func items(_ text: String) -> [String] {
    var items: [String] = []
    var item: [UInt8] = []
    var isEscaped = false
    for byte in text.utf8 {
      switch byte {
      case backslash where !isEscaped: isEscaped = true
      case lineFeed where !isEscaped:
        items.append(String(decoding: item, as: UTF8.self))
        item = []
      default:
        item.append(byte)
        isEscaped = false
      }
    }
    return items
  }

  private static let backslash = UInt8(ascii: "\\")
  private static let lineFeed = UInt8(ascii: "\n")
}
