/// Percent-encoding as RFC 3986 section 2 and RFC 5849 section 3.6 have it; the only encoder in the program.
public enum PercentEncoding {
  /// Encodes every byte but the unreserved: letters, digits, `-`, `.`, `_`, `~`. Hexadecimal digits in upper case.
  public static func encode(_ text: String) -> String { encode(text.utf8) }

  /// The same for bytes that need not be text.
  public static func encode(_ bytes: some Sequence<UInt8>) -> String {
    var encoded: [UInt8] = []
    for byte in bytes {
      if isUnreserved(byte) {
        encoded.append(byte)
      } else {
        encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 0xF)]]
      }
    }
    return String(decoding: encoded, as: UTF8.self)
  }

  /// Decodes escapes and leaves everything else, `+` included; `nil` when a `%` is not followed by two
  /// hexadecimal digits.
  public static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
    var decoded: [UInt8] = []
    var rest = text.makeIterator()
    while let byte = rest.next() {
      guard byte == UInt8(ascii: "%") else {
        decoded.append(byte)
        continue
      }
      guard let high = rest.next().flatMap(hexDigitValue),
        let low = rest.next().flatMap(hexDigitValue)
      else { return nil }
      decoded.append(high << 4 | low)
    }
    return decoded
  }

  private static let digits = Array("0123456789ABCDEF".utf8)
}

/// RFC 3986 section 2.3.
private func isUnreserved(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
    UInt8(ascii: "_"), UInt8(ascii: "~"):
    true
  default: false
  }
}
