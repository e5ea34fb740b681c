/// Base64 with padding. RFC 4648 section 4.
public enum Base64 {
  /// Returns the padded text.
  public static func encode(_ bytes: [UInt8]) -> String {
    let text = encodeBase64(bytes, alphabet: standardAlphabet)
    return text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
  }

  /// Returns the bytes; `nil` for missing padding, line breaks or unused bits that are not zero.
  public static func decode(_ text: String) -> [UInt8]? {
    let digits = Array(text.utf8)
    guard digits.count % 4 == 0 else { return nil }
    let padding = digits.reversed().prefix(2).prefix { $0 == UInt8(ascii: "=") }.count
    return decodeBase64(digits.dropLast(padding), values: standardValues)
  }
}

/// Base64 with the URL alphabet and without padding. RFC 4648 section 5, RFC 7515 appendix C.
public enum Base64URL {
  /// Returns the text without padding.
  public static func encode(_ bytes: [UInt8]) -> String {
    encodeBase64(bytes, alphabet: urlAlphabet)
  }

  /// Returns the bytes; `nil` for padding, line breaks or unused bits that are not zero.
  public static func decode(_ text: String) -> [UInt8]? { decode(Array(text.utf8)[...]) }

  /// Decodes a part of a text.
  static func decode(_ digits: ArraySlice<UInt8>) -> [UInt8]? {
    decodeBase64(digits, values: urlValues)
  }
}

private let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
private let standardAlphabet = Array((letters + "+/").utf8)
private let urlAlphabet = Array((letters + "-_").utf8)
private let standardValues = values(of: standardAlphabet)
private let urlValues = values(of: urlAlphabet)

/// The value of each digit; 64 for bytes that are no digits.
private func values(of alphabet: [UInt8]) -> [UInt8] {
  var values = [UInt8](repeating: 64, count: 256)
  for (value, digit) in alphabet.enumerated() { values[Int(digit)] = UInt8(value) }
  return values
}

private func encodeBase64(_ bytes: [UInt8], alphabet: [UInt8]) -> String {
  var digits: [UInt8] = []
  digits.reserveCapacity(bytes.count * 4 / 3 + 4)
  var buffer: UInt32 = 0
  var bitCount = 0
  for byte in bytes {
    buffer = buffer << 8 | UInt32(byte)
    bitCount += 8
    while bitCount >= 6 {
      bitCount -= 6
      digits.append(alphabet[Int(buffer >> UInt32(bitCount) & 0x3F)])
    }
  }
  if bitCount > 0 { digits.append(alphabet[Int(buffer << UInt32(6 - bitCount) & 0x3F)]) }
  return String(decoding: digits, as: UTF8.self)
}

private func decodeBase64(_ digits: ArraySlice<UInt8>, values: [UInt8]) -> [UInt8]? {
  guard digits.count % 4 != 1 else { return nil }
  var bytes: [UInt8] = []
  bytes.reserveCapacity(digits.count * 3 / 4)
  var buffer: UInt32 = 0
  var bitCount = 0
  for digit in digits {
    let value = values[Int(digit)]
    guard value < 64 else { return nil }
    buffer = buffer << 6 | UInt32(value)
    bitCount += 6
    guard bitCount >= 8 else { continue }
    bitCount -= 8
    bytes.append(UInt8(truncatingIfNeeded: buffer >> UInt32(bitCount)))
  }
  return buffer & (1 << UInt32(bitCount) - 1) == 0 ? bytes : nil
}
