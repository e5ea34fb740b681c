import EinlassCrypto
import Testing

@testable import Einlass

/// Secrets are cut out of a provider's words.
@Suite struct HiddenSecretsTests {
  private static let long = String(
    decoding: (0..<300).map { UInt8(ascii: "a") + UInt8($0 * $0 / 7 % 26) }, as: UTF8.self)

  @Test(arguments: [
    ("<\(long)>", "<…>"),
    ("<\(long)\(long)>", "<……>"),
    ("<\(long)-\(long)>", "<…-…>"),
    // The beginning of 64 bytes is hidden, one of 63 is not.
    ("<\(long.prefix(64))->", "<…->"),
    ("<\(long.prefix(63))->", "<\(long.prefix(63))->"),
    // A whole secret behind the beginning of another.
    ("<\(long.prefix(100))\(long)>", "<……>"),
  ])
  func `A long secret is hidden as often as it stands there`(text: String, hidden: String) {
    #expect(hiding([Secret(Self.long)], in: text) == hidden)
  }

  /// Comparing the whole secret at each byte takes minutes here.
  @Test(.timeLimit(.minutes(1)))
  func `A secret that repeats itself is hidden without comparing it at each byte`() {
    let secret = Secret(String(repeating: "A", count: 100_000))
    let text = "<" + String(repeating: "A", count: 200_000) + ">"
    #expect(hiding([secret], in: text) == "<…>")
  }
}
