import CCurl
import Einlass

/// The addresses with a common prefix.
struct AddressBlock {
  let prefix: [UInt8]
  private let bitCount: Int

  init(_ prefix: [UInt8], _ bitCount: Int) {
    self.prefix = prefix
    self.bitCount = bitCount
  }

  /// Reads `10.0.0.0/8`, `[fd00::1]` or an address alone; `nil` for any other text.
  init?(_ text: some StringProtocol) {
    let parts = text.split(separator: "/", maxSplits: 1)
    let address = Self.address(parts.first ?? "")
    let length = parts.count == 2 ? Int(parts[1]) : address.count * 8
    guard !address.isEmpty, let length, (0...address.count * 8).contains(length) else { return nil }
    self.init(address, length)
  }

  /// Whether an address is one of them: 4 or 16 bytes, as many as a block of its kind has.
  func contains(_ address: [UInt8]) -> Bool {
    (0..<bitCount).allSatisfy { bit in
      let mask = UInt8(0x80) >> (bit % 8)
      let expected = bit / 8 < prefix.count ? prefix[bit / 8] : 0
      return address[bit / 8] & mask == expected & mask
    }
  }

  /// Returns the 4 or 16 bytes of an address in network order; none for any other text. An address of
  /// IPv6 may stand in brackets.
  static func address(_ text: some StringProtocol) -> [UInt8] {
    let text = text.hasPrefix("[") ? String(text.dropFirst().dropLast()) : String(text)
    var bytes = [UInt8](repeating: 0, count: 16)
    let count = unsafe ccurl_text_address(text, &bytes)
    return Array(bytes.prefix(count))
  }
}
