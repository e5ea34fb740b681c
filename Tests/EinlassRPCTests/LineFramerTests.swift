import Testing

@testable import EinlassRPC

struct LineFramerTests {
  static let cases: [(String, [String])] = [
    ("", []), ("\n\n \t\r\n", []), ("a\n", ["a"]), ("a\r\nb\n", ["a", "b"]), ("a\r\r\n", ["a\r"]),
    ("a\rb\n", ["a\rb"]), ("a", ["a"]), ("a\nb\r", ["a", "b"]),
    ("\u{feff}a\n\u{feff}b\n", ["a", "b"]), ("\u{feff}\n\u{feff}a\n", ["a"]),
    ("\u{feff}\u{feff}a\nb\u{feff}\n", ["\u{feff}a", "b\u{feff}"]), ("a\n\u{feff}b", ["a", "b"]),
    ("a\u{2028}b\u{85}\n", ["a\u{2028}b\u{85}"]), ("a\u{2029}b\n", ["a\u{2029}b"]),
    ("a\u{b}b\u{c}c\n", ["a\u{b}b\u{c}c"]), ("12345678\n", ["12345678"]),
    ("12345678\r\n", ["12345678"]),
    ("123456789\na\n", ["too long", "a"]), ("123456789", ["too long"]),
    ("123456789\r\na\n", ["too long", "a"]),
    (String(repeating: "x", count: 100) + "\na\n", ["too long", "a"]),
    (String(repeating: "x", count: 100), ["too long"]),
    (String(repeating: "x", count: 20) + "\r\n\nb", ["too long", "b"]),
    ("123456789\n123456789\n\u{feff}c\n", ["too long", "too long", "c"]),
    ("          \n", ["too long"]), ("\u{feff}12345678\n", ["12345678"]),
    ("\u{feff}12345678\r\nb\n", ["12345678", "b"]), ("\u{feff}123456789\nb\n", ["too long", "b"]),
    ("b\n\u{feff}12345678\r\nb\n", ["b", "12345678", "b"]),
    ("b\n\u{feff}123456789\nb\n", ["b", "too long", "b"]),
  ]

  @Test("Lines are the same in one piece, byte by byte and in random pieces", arguments: cases)
  func lines(text: String, expected: [String]) {
    let bytes = Array(text.utf8)
    #expect(lines(bytes, pieces: [bytes.count]) == expected)
    #expect(lines(bytes, pieces: Array(repeating: 1, count: bytes.count)) == expected)
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<50 {
      let pieces = (0..<bytes.count).map { _ in Int.random(in: 0...7, using: &generator) }
      #expect(lines(bytes, pieces: pieces) == expected, "pieces \(pieces)")
    }
  }

  @Test("A line of one mebibyte is read whole, and a line of one byte more is too long")
  func limit() {
    for (count, expected) in [(1 << 20 - 1, 1 << 20 - 1), (1 << 20, 1 << 20), (1 << 20 + 1, -1)] {
      var framer = LineFramer()
      framer.feed([UInt8](repeating: 0x61, count: count)[...])
      framer.feed([0x0D, 0x0A])
      switch framer.next() {
      case .text(let line): #expect(line.count == expected)
      case .tooLong: #expect(expected == -1)
      case nil: Issue.record("no line of \(count) bytes")
      }
    }
  }

  private func lines(_ bytes: [UInt8], pieces: [Int]) -> [String] {
    var framer = LineFramer(limit: 8)
    var lines: [String] = []
    func take(_ line: LineFramer.Line?) -> Bool {
      switch line {
      case .text(let bytes)?: lines.append(String(decoding: bytes, as: UTF8.self))
      case .tooLong?: lines.append("too long")
      case nil: return false
      }
      return true
    }
    var rest = bytes[...]
    for piece in pieces + [bytes.count] {
      framer.feed(rest.prefix(piece))
      rest = rest.dropFirst(piece)
      while take(framer.next()) {}
    }
    _ = take(framer.rest())
    return lines
  }
}
