/// Bytes as pairs of lower-case hexadecimal digits.
public enum Hexadecimal {
  public static func encode(_ bytes: some Sequence<UInt8>) -> String {
    var digits: [UInt8] = []
    for byte in bytes { digits += [alphabet[Int(byte >> 4)], alphabet[Int(byte & 0xF)]] }
    return String(decoding: digits, as: UTF8.self)
  }

  private static let alphabet = Array("0123456789abcdef".utf8)
}

/// The value of a hexadecimal digit in either case, `nil` for any other character.
func hexDigitValue(_ digit: UInt8) -> UInt8? {
  switch digit {
  case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
  case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
  case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
  default: nil
  }
}
