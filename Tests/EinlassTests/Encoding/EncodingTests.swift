import Testing

@testable import Einlass

struct EncodingTests {
  @Test(
    "Every character except the unreserved ones is percent-encoded",
    arguments: [
      ("Ladies + Gentlemen", "Ladies%20%2B%20Gentlemen"),
      ("An encoded string!", "An%20encoded%20string%21"),
      ("Dogs, Cats & Mice", "Dogs%2C%20Cats%20%26%20Mice"), ("☃", "%E2%98%83"),
      ("!*'();:@&=+$,/?%#[]", "%21%2A%27%28%29%3B%3A%40%26%3D%2B%24%2C%2F%3F%25%23%5B%5D"),
      ("AZaz09-._~", "AZaz09-._~"), ("", ""), ("\u{0}\n", "%00%0A"),
    ])
  func percent(text: String, encoded: String) {
    #expect(PercentEncoding.encode(text) == encoded)
    #expect(PercentEncoding.decode(encoded.utf8) == Array(text.utf8))
  }

  @Test("Broken percent-encoding does not decode", arguments: ["%", "%4", "%zz", "a%2", "%2%41"])
  func brokenEscape(text: String) { #expect(PercentEncoding.decode(text.utf8) == nil) }

  @Test("A form keeps order, duplicates and fields without a value")
  func form() {
    let fields = FormEncoding.decode(
      "b5=%3D%253D&a3=a&c%40=&a2=r%20b&&c2&a3=2+q".utf8, plus: .space)
    #expect(
      fields == [
        Parameter("b5", "=%3D"), Parameter("a3", "a"), Parameter("c@", ""), Parameter("a2", "r b"),
        Parameter("c2", ""), Parameter("a3", "2 q"),
      ])
    #expect(
      FormEncoding.encode([Parameter("a b", "1=&+"), Parameter("c", "")]) == "a%20b=1%3D%26%2B&c=")
  }

  @Test("A plus sign is kept if the query is not a form")
  func plus() {
    #expect(FormEncoding.decode("a=1+2".utf8, plus: .plus) == [Parameter("a", "1+2")])
    #expect(FormEncoding.decode("a=1+2".utf8, plus: .space) == [Parameter("a", "1 2")])
  }

  @Test("A form that is not text, or has a broken escape, does not decode")
  func brokenForm() {
    #expect(FormEncoding.decode("a=%FF".utf8, plus: .space) == nil)
    #expect(FormEncoding.decode("a=%G0".utf8, plus: .space) == nil)
  }

  @Test(
    "Base 64 has padding, and base64url has none (RFC 4648 section 10)",
    arguments: [
      ("", "", ""), ("f", "Zg==", "Zg"), ("fo", "Zm8=", "Zm8"), ("foo", "Zm9v", "Zm9v"),
      ("foob", "Zm9vYg==", "Zm9vYg"), ("fooba", "Zm9vYmE=", "Zm9vYmE"),
      ("foobar", "Zm9vYmFy", "Zm9vYmFy"), ("??>", "Pz8+", "Pz8-"),
    ])
  func base64(text: String, standard: String, url: String) {
    let bytes = Array(text.utf8)
    #expect(Base64.encode(bytes) == standard)
    #expect(Base64.decode(standard) == bytes)
    #expect(Base64URL.encode(bytes) == url)
    #expect(Base64URL.decode(url) == bytes)
  }

  @Test(
    "Malformed base 64 does not decode",
    arguments: ["Zg", "Zg=", "Zh==", "Z===", "====", "Zm9v\n", "Zm 9v", "Zm9-"])
  func sloppyBase64(text: String) { #expect(Base64.decode(text) == nil) }

  @Test("Malformed base64url does not decode", arguments: ["Zg==", "Zh", "Z", "Pz8+", "Zm9v\n"])
  func sloppyBase64URL(text: String) { #expect(Base64URL.decode(text) == nil) }

  @Test("Bytes are written as lower-case hexadecimal digits")
  func hexadecimal() { #expect(Hexadecimal.encode([0x00, 0x9A, 0xFF]) == "009aff") }
}
