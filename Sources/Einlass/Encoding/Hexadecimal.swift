/// Bytes as pairs of lower-case hexadecimal digits.
public enum Hexadecimal {
  /// Returns two lower-case digits for each byte.
  public static func encode(_ bytes: some Sequence<UInt8>) -> String {
    var digits: [UInt8] = []
    digits.reserveCapacity(2 * bytes.underestimatedCount)
    for byte in bytes {
      digits.append(alphabet[Int(byte >> 4)])
      digits.append(alphabet[Int(byte & 0xF)])
    }
    return String(decoding: digits, as: UTF8.self)
  }

  /// Returns the bytes of digit pairs in either case; `nil` for any other text.
  public static func decode(_ text: String) -> [UInt8]? {
    let values = text.utf8.map(hexDigitValue)
    guard values.count % 2 == 0 else { return nil }
    var bytes: [UInt8] = []
    for start in stride(from: 0, to: values.count, by: 2) {
      guard let high = values[start], let low = values[start + 1] else { return nil }
      bytes.append(high << 4 | low)
    }
    return bytes
  }

  private static let alphabet = Array("0123456789abcdef".utf8)
}

/// Returns the value of a hexadecimal digit in either case; `nil` for any other character.
func hexDigitValue(_ digit: UInt8) -> UInt8? {
  switch digit {
  case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
  case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
  case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
  default: nil
  }
}
