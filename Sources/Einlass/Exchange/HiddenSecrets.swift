internal import EinlassCrypto

/// Returns a provider's text with "…" in place of these secrets. A character is recognized as it
/// is, as in a form or an address, or escaped as in JSON or HTML. A secret is also found inside
/// base64, as in HTTP Basic.
func hiding(_ secrets: [Secret], in text: String) -> String {
  let secrets = secrets.map(revealedBytes).filter { !$0.isEmpty }
  let spelt = SpeltText(Array(text.utf8))
  let runs = spelt.runs(holding: secrets)
  var result: [UInt8] = []
  /// For each secret, the end of its last match.
  var ends = secrets.map { _ in 0 }
  /// The end of the hidden part.
  var end = 0
  for (index, byte) in spelt.bytes.enumerated() {
    // The search for a secret pauses until 64 bytes before the end of its last match, because only
    // a secret that repeats itself begins again earlier.
    for (number, secret) in secrets.enumerated()
    where ends[number] < index + SpeltText.enoughBytes {
      ends[number] = spelt.end(of: secret, from: index) ?? ends[number]
    }
    let next = max(ends.max() ?? 0, runs[index] ?? 0)
    if index >= end { result += next > index ? Array("…".utf8) : [byte] }
    end = max(end, next)
  }
  return String(decoding: result, as: UTF8.self)
}

/// Text with characters in plain or in escaped form.
private struct SpeltText {
  /// The length of a longer secret's prefix that is hidden even without the rest.
  static let enoughBytes = 64
  /// The shortest secret searched for in base64, because a shorter one may occur there by chance.
  private static let leastBytes = 4

  let bytes: [UInt8]
  /// For each byte, the character of the escape beginning there and the index after the escape.
  private let spellings: [(byte: UInt8, end: Int)?]

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    spellings = bytes.indices.map { Self.spelling(in: bytes[$0...]) }
  }

  /// Returns the index after a secret beginning at `start`; `nil` if none begins there.
  func end(of secret: [UInt8], from start: Int) -> Int? {
    guard bytes[start] == secret[0] || spellings[start]?.byte == secret[0] else { return nil }
    var ends = [start]
    for (count, byte) in secret.enumerated() {
      var next: [Int] = []
      for end in ends where end < bytes.count {
        if bytes[end] == byte { next.append(end + 1) }
        if let other = spellings[end], other.byte == byte { next.append(other.end) }
      }
      guard !next.isEmpty else { return count < Self.enoughBytes ? nil : ends.max() }
      ends = next.count < 3 ? next : Array(Set(next))
    }
    return ends.max()
  }

  /// Returns the base64 runs with one of these secrets inside: each start with its end.
  func runs(holding secrets: [[UInt8]]) -> [Int: Int] {
    let secrets = secrets.filter { $0.count >= Self.leastBytes }
    guard !secrets.isEmpty else { return [:] }
    var runs: [Int: Int] = [:]
    var start = 0
    while start < bytes.count {
      var digits: [UInt8] = []
      var end = start
      while end < bytes.count, let digit = digit(at: end) {
        digits.append(digit.value)
        end = digit.end
      }
      // A path before the base64 looks like a part of the run, so all four alignments are decoded.
      if (0..<4).contains(where: { Self.holds(Self.decoded(digits.dropFirst($0)), secrets) }) {
        runs[start] = end
      }
      start = max(end, start + 1)
    }
    return runs
  }

  private static func holds(_ bytes: [UInt8], _ secrets: [[UInt8]]) -> Bool {
    let text = SpeltText(bytes)
    return bytes.indices.contains { index in
      secrets.contains { text.end(of: $0, from: index) != nil }
    }
  }

  /// Returns a base64 digit of either alphabet and the index after it.
  private func digit(at index: Int) -> (value: UInt8, end: Int)? {
    let others = spellings[index].map { [($0.byte, $0.end)] } ?? []
    for (byte, end) in [(bytes[index], index + 1)] + others {
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): return (byte - UInt8(ascii: "A"), end)
      case UInt8(ascii: "a")...UInt8(ascii: "z"): return (byte - UInt8(ascii: "a") + 26, end)
      case UInt8(ascii: "0")...UInt8(ascii: "9"): return (byte - UInt8(ascii: "0") + 52, end)
      case UInt8(ascii: "+"), UInt8(ascii: "-"): return (62, end)
      case UInt8(ascii: "/"), UInt8(ascii: "_"): return (63, end)
      default: break
      }
    }
    return nil
  }

  private static func decoded(_ digits: ArraySlice<UInt8>) -> [UInt8] {
    var bytes: [UInt8] = []
    var (buffer, bitCount): (UInt32, UInt32) = (0, 0)
    for digit in digits {
      buffer = buffer << 6 | UInt32(digit)
      bitCount += 6
      guard bitCount >= 8 else { continue }
      bitCount -= 8
      bytes.append(UInt8(truncatingIfNeeded: buffer >> bitCount))
    }
    return bytes
  }

  /// Returns the character escaped at the beginning of these bytes and the index after the escape:
  /// `%2F`, `+` for a space, `\/`, `\u002f`, `&amp;`, `&#47;`, `&#x2F;`.
  private static func spelling(in rest: ArraySlice<UInt8>) -> (byte: UInt8, end: Int)? {
    func number(_ digits: ArraySlice<UInt8>, radix: Int) -> UInt8? {
      digits.isEmpty || digits.count > 4
        ? nil : UInt8(String(decoding: digits, as: UTF8.self), radix: radix)
    }
    func hexadecimal(after skipped: Int, count: Int) -> (byte: UInt8, end: Int)? {
      let digits = rest.dropFirst(skipped).prefix(count)
      guard digits.count == count else { return nil }
      return number(digits, radix: 16).map { ($0, digits.endIndex) }
    }
    switch rest.first {
    case UInt8(ascii: "+"): return (UInt8(ascii: " "), rest.startIndex + 1)
    case UInt8(ascii: "%"): return hexadecimal(after: 1, count: 2)
    case UInt8(ascii: "\\"):
      guard let next = rest.dropFirst().first else { return nil }
      return next == UInt8(ascii: "u")
        ? hexadecimal(after: 2, count: 4) : (next, rest.startIndex + 2)
    case UInt8(ascii: "&"):
      guard let end = rest.prefix(8).firstIndex(of: UInt8(ascii: ";")) else { return nil }
      let name = rest[..<end].dropFirst()
      let byte =
        switch (name.first, name.dropFirst().first) {
        case (UInt8(ascii: "#"), UInt8(ascii: "x")?), (UInt8(ascii: "#"), UInt8(ascii: "X")?):
          number(name.dropFirst(2), radix: 16)
        case (UInt8(ascii: "#"), _): number(name.dropFirst(), radix: 10)
        default: entities[String(decoding: name, as: UTF8.self)]
        }
      return byte.map { ($0, end + 1) }
    default: return nil
    }
  }

  private static let entities: [String: UInt8] = [
    "amp": UInt8(ascii: "&"), "lt": UInt8(ascii: "<"), "gt": UInt8(ascii: ">"),
    "quot": UInt8(ascii: "\""), "apos": UInt8(ascii: "'"),
  ]
}
