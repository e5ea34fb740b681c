import EinlassCrypto
import Testing

@testable import Einlass

@Suite struct HiddenSecretsTests {
  private static let long = String(
    decoding: (0..<300).map { UInt8(ascii: "a") + UInt8($0 * $0 / 7 % 26) }, as: UTF8.self)

  @Test(arguments: [
    ("<\(long)>", "<…>"),
    ("<\(long)\(long)>", "<……>"),
    ("<\(long)-\(long)>", "<…-…>"),
    // A prefix of 64 bytes is hidden, and one of 63 is not.
    ("<\(long.prefix(64))->", "<…->"),
    ("<\(long.prefix(63))->", "<\(long.prefix(63))->"),
    // A complete secret after a prefix.
    ("<\(long.prefix(100))\(long)>", "<……>"),
  ])
  func `Every occurrence of a long secret is hidden`(text: String, hidden: String) {
    #expect(hiding([Secret(Self.long)], in: text) == hidden)
  }

  /// A comparison of the whole secret at each byte would take minutes here.
  @Test(.timeLimit(.minutes(1)))
  func `A repetitive secret is hidden without a comparison at each byte`() {
    let secret = Secret(String(repeating: "A", count: 100_000))
    let text = "<" + String(repeating: "A", count: 200_000) + ">"
    #expect(hiding([secret], in: text) == "<…>")
  }
}
