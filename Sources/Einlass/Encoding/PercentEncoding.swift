/// Percent-encoding of RFC 3986 section 2 and RFC 5849 section 3.6.
public enum PercentEncoding {
  /// Encodes every byte except the unreserved characters: letters, digits, `-`, `.`, `_`, `~`.
  /// Hexadecimal digits are upper case.
  public static func encode(_ text: String) -> String {
    var encoded: [UInt8] = []
    append(text, to: &encoded)
    return String(decoding: encoded, as: UTF8.self)
  }

  /// Appends the encoded text.
  static func append(_ text: String, to encoded: inout [UInt8]) {
    append(text.utf8.span, to: &encoded)
  }

  /// Appends the encoded bytes, which need not be UTF-8.
  static func append(_ bytes: [UInt8], to encoded: inout [UInt8]) {
    append(bytes.span, to: &encoded)
  }

  static func append(_ bytes: Span<UInt8>, to encoded: inout [UInt8]) {
    encoded.append(addingCapacity: 3 * bytes.count) { output in
      for index in bytes.indices {
        let byte = bytes[index]
        if isUnreserved(byte) {
          output.append(byte)
        } else {
          output.append(UInt8(ascii: "%"))
          output.append(upperHexDigit(byte >> 4))
          output.append(upperHexDigit(byte & 0xF))
        }
      }
    }
  }

  /// Decodes escapes and keeps everything else, including `+`. Returns `nil` for a `%` without two
  /// hexadecimal digits after it.
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
}

private func upperHexDigit(_ value: UInt8) -> UInt8 {
  value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
}

/// RFC 3986 section 2.3.
func isUnreserved(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
    UInt8(ascii: "_"), UInt8(ascii: "~"):
    true
  default: false
  }
}
