import EinlassCrypto
import Testing

@testable import Einlass

/// RFC 5849 section 3.4.1.
struct SignatureBaseTests {
  @Test("The example of RFC 5849 section 3.4.1.1 has its published base string")
  func ownExample() throws {
    let base = try SignatureBase.text(
      method: "POST",
      address: .parse("http://example.com/request?b5=%3D%253D&a3=a&c%40=&a2=r%20b"),
      parameters: [
        Parameter("oauth_consumer_key", "9djdj82h48djs9d2"),
        Parameter("oauth_token", "kkk9d7dh3k39sjv7"),
        Parameter("oauth_signature_method", "HMAC-SHA1"),
        Parameter("oauth_timestamp", "137131201"), Parameter("oauth_nonce", "7d8f3e4a"),
        Parameter("c2", ""), Parameter("a3", "2 q"),
      ])
    #expect(
      base == """
        POST&http%3A%2F%2Fexample.com%2Frequest&a2%3Dr%2520b%26a3%3D2%2520q%26a3%3Da%26b5%3D%253D%25253D%26\
        c%2540%3D%26c2%3D%26oauth_consumer_key%3D9djdj82h48djs9d2%26oauth_nonce%3D7d8f3e4a%26\
        oauth_signature_method%3DHMAC-SHA1%26oauth_timestamp%3D137131201%26oauth_token%3Dkkk9d7dh3k39sjv7
        """)
  }

  @Test(
    "Scheme, host and port are normalized, and the path is unchanged (RFC 5849 section 3.4.1.2)",
    arguments: [
      ("http://EXAMPLE.COM:80/r%20v/X?id=123", "http://example.com/r%20v/X"),
      ("https://www.example.net:8080/?q=1", "https://www.example.net:8080/"),
      ("https://example.com:443/a", "https://example.com/a"),
      ("https://example.com", "https://example.com/"),
      ("https://example.com?a", "https://example.com/"),
      ("https://example.com/a%2Fb", "https://example.com/a%2Fb"),
      ("https://example.com/a//b/", "https://example.com/a//b/"),
    ])
  func uri(text: String, expected: String) throws {
    #expect(try SignatureBase.uri(of: .parse(text)) == expected)
  }

  @Test(
    "Parameters are sorted by encoded name and value, and duplicates stay (RFC 5849 section 3.4.1.3)",
    arguments: [
      ("a=2&a=1&a=1", "a=1&a=1&a=2"), ("b=&a", "a=&b="), ("a=~&a=%20&a=z&a=A", "a=%20&a=A&a=z&a=~"),
      // `a-` sorts after `a`, because names are compared without the `=`.
      ("a=1&a-=1&a%2B=1", "a=1&a%2B=1&a-=1"), ("a=1&A=1", "A=1&a=1"), ("x=a+b", "x=a%20b"),
      ("x=a%2Bb", "x=a%2Bb"), ("x=%FF", "x=%FF"), ("%E2%98%83=1&z=1", "%E2%98%83=1&z=1"), ("", ""),
    ])
  func parameters(query: String, expected: String) {
    #expect(SignatureBase.normalized([], query: query) == Array(expected.utf8))
  }
}
