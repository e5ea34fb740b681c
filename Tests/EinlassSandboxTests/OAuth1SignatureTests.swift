import EinlassCrypto
import Testing

@testable import EinlassSandbox

/// Signatures published in RFC 5849 and in Twitter's documentation, or computed by two other
/// implementations.
struct OAuth1SignatureTests {
  struct Vector: Sendable, CustomTestStringConvertible {
    var name: String
    var method = "POST"
    var uri: String
    var consumer: (key: String, secret: String)
    var token: (key: String, secret: String)?
    var nonce: String
    var timestamp: String
    var version: String? = "1.0"
    var parameters: [(String, String)] = []
    var signature: String
    /// Length and SHA-256 of the signature base string.
    var base: (count: Int, digest: String)?

    var testDescription: String { name }

    var baseString: String {
      var all = parameters.map { Parameter(name: $0.0, value: $0.1) }
      all += [
        Parameter(name: "oauth_consumer_key", value: consumer.key),
        Parameter(name: "oauth_nonce", value: nonce),
        Parameter(name: "oauth_signature_method", value: "HMAC-SHA1"),
        Parameter(name: "oauth_timestamp", value: timestamp),
      ]
      if let token { all.append(Parameter(name: "oauth_token", value: token.key)) }
      if let version { all.append(Parameter(name: "oauth_version", value: version)) }
      return OAuth1Signature.baseString(method: method, uri: uri, parameters: all)
    }
  }

  private static let photos = (key: "dpf43f3p2l4k3l03", secret: "kd94hf93k423kf44")
  private static let documented = (
    key: "xvz1evFS4wEEPTGEFPHBog", secret: "kAcSOqF21Fu85e7zjz7ZN2U4ZRhfV3WpwPAoE3Z7kBw"
  )
  private static let documentedToken = (
    key: "370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb",
    secret: "LswwdoUaIvS8ltyTt5jkRh4J50vUPVVHtR2YPi5kE"
  )
  private static let nonce = "0123456789ABCDEF0123456789ABCDEF"
  private static let line = #"""
    OAuth oauth_nonce="xq2maKtilFhVTC1MSxVC4cQIJLd53O6w97YmrcOGSk8", oauth_signature_method="HMAC-SHA1", oauth_timestamp="1322697052", oauth_consumer_key="JP3PyvG67rXRsnayOJOcQ", oauth_token="5mgkU82W0PTA0DLgSIA5vFK6c08i8dXzrbLnX06vl38", oauth_signature="aOM%2FwW2kAowAeHBRvw7faH245p0%3D", oauth_version="1.0"
    """#

  static let vectors = [
    Vector(
      name: "RFC 5849, initiate", uri: "https://photos.example.net/initiate", consumer: photos,
      nonce: "wIjqoS", timestamp: "137131200", version: nil,
      parameters: [("oauth_callback", "http://printer.example.com/ready")],
      signature: "74KNZJeDHnMBp0EMJ9ZHt/XKycU="),
    Vector(
      name: "RFC 5849, token", uri: "https://photos.example.net/token", consumer: photos,
      token: ("hh5s93j4hdidpola", "hdhd0244k9j7ao03"), nonce: "walatlh", timestamp: "137131201",
      version: nil, parameters: [("oauth_verifier", "hfdp7dh39dks9884")],
      signature: "gKgrFCywp7rO0OXSjdot/IHF7IU="),
    Vector(
      name: "RFC 5849, photos", method: "GET", uri: "http://photos.example.net/photos",
      consumer: photos, token: ("nnch734d00sl2jdk", "pfkkdhi9sl3r4s00"), nonce: "chapoH",
      timestamp: "137131202", version: nil,
      parameters: [("file", "vacation.jpg"), ("size", "original")],
      signature: "MdpQcU8iPSUjWoN/UDMsK2sui9I="),
    Vector(
      name: "OAuth Core 1.0, appendix A", method: "GET", uri: "http://photos.example.net/photos",
      consumer: photos, token: ("nnch734d00sl2jdk", "pfkkdhi9sl3r4s00"),
      nonce: "kllo9940pd9333jh", timestamp: "1191242096",
      parameters: [("file", "vacation.jpg"), ("size", "original")],
      signature: "tR3+Ty81lMeYAr/Fid0kMTYa/WM="),
    Vector(
      name: "Twitter, creating a signature",
      uri: "https://api.twitter.com/1.1/statuses/update.json", consumer: documented,
      token: documentedToken, nonce: "kYjzVBB8Y0ZFabxSWbWovY3uYSQ2pTgmZeNu2VS4cg",
      timestamp: "1318622958",
      parameters: [
        ("include_entities", "true"),
        ("status", "Hello Ladies + Gentlemen, a signed OAuth request!"),
      ], signature: "hCtSmYh+iHYCEqBWrE7C7hYmtUk="),
    Vector(
      name: "Twitter, the older address", uri: "https://api.twitter.com/1/statuses/update.json",
      consumer: documented, token: documentedToken,
      nonce: "kYjzVBB8Y0ZFabxSWbWovY3uYSQ2pTgmZeNu2VS4cg", timestamp: "1318622958",
      parameters: [
        ("include_entities", "true"),
        ("status", "Hello Ladies + Gentlemen, a signed OAuth request!"),
      ], signature: "tnnArxj06cWHq44gCs1OSKk/jLY="),
    Vector(
      name: "Twitter, sign-in", uri: "https://api.twitter.com/oauth/request_token",
      consumer: ("cChZNFj6T5R0TigYB9yd1w", "L8qq9PZyRg6ieKGEKhZolGC0vJWLw8iEJ88DRdyOg"),
      nonce: "ea9ec8429b68d6b77cd5600adbbb0456", timestamp: "1318467427",
      parameters: [("oauth_callback", "http://localhost/sign-in-with-twitter/")],
      signature: "F1Li3tvehgcraF8DMJ7OyxO4w9Y="),
    Vector(
      name: "reverse auth, step 1", uri: "https://api.twitter.com/oauth/request_token",
      consumer: ("JP3PyvG67rXRsnayOJOcQ", "ydC2yUbFaScbSlykO0PmrMjXFeLraSi3Q2HfTOlGxQM"),
      nonce: "1B7D865D-9E15-4ADD-8165-EF90D7A7D3D2", timestamp: "1322697052",
      parameters: [("x_auth_mode", "reverse_auth")], signature: "03EyxBdr6bwBAx8M0Qq0R0F8CKY="),
    Vector(
      name: "R1", uri: "https://api.twitter.com/oauth/request_token", consumer: documented,
      nonce: nonce, timestamp: "1500000000", parameters: [("x_auth_mode", "reverse_auth")],
      signature: "Hqgk8VQDozZREM7kv1eNvMtkMs0=",
      base: (270, "372126d5862a6205a615694aca16cd6f99c4ccaa1b85918ea835dbc7db0e062a")),
    Vector(
      name: "R2", uri: "https://api.twitter.com/oauth/access_token",
      consumer: ("SYS-CONSUMER", "SYS-SECRET"), token: ("SYS-TOKEN", "SYS-TOKEN-SECRET"),
      nonce: nonce, timestamp: "1500000000",
      parameters: [
        ("x_reverse_auth_target", "JP3PyvG67rXRsnayOJOcQ"), ("x_reverse_auth_parameters", line),
      ], signature: "VRDxfbjA4Z8bz4T61Q4PfWq6i5I=",
      base: (784, "903fda39ae4c5a6b9eb7aaff852e3c24bcd6b45871d87d7818e247eb2e5935f2")),
    Vector(
      name: "R3", method: "GET", uri: "https://api.twitter.com/1.1/account/verify_credentials.json",
      consumer: documented, token: documentedToken, nonce: nonce, timestamp: "1500000000",
      parameters: [
        ("include_email", "true"), ("include_entities", "true"), ("skip_status", "false"),
      ], signature: "M+cgJH4CEFha0t4jmn5It+6iGyM=",
      base: (396, "62e51398823c9755cbbb3af31a9342e92ac633d712db7d3bad6181e71b092b2d")),
    Vector(
      name: "duplicate parameters", method: "GET", uri: "https://api.example.org/items",
      consumer: documented, token: documentedToken, nonce: nonce, timestamp: "1500000000",
      parameters: [("tag", "b"), ("tag", "a"), ("tag", "a b"), ("tag", "")],
      signature: "l+SQmsOVkDt/RyGyhK4M5J9iwpI=",
      base: (336, "b231997b4f75678efca224a82fa83aa345f4fe2fc893f354d50d096321fc8db3")),
  ]

  @Test("Published requests get their published signatures", arguments: vectors)
  func signature(of vector: Vector) {
    let base = vector.baseString
    #expect(
      OAuth1Signature.sign(
        base, consumerSecret: vector.consumer.secret, tokenSecret: vector.token?.secret ?? "")
        == vector.signature)
    if let expected = vector.base {
      #expect(base.utf8.count == expected.count)
      let digest = Digest.sha256(Array(base.utf8))
        .map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
      #expect(digest == expected.digest)
    }
  }

  private static let rfcBase =
    "POST&http%3A%2F%2Fexample.com%2Frequest&a2%3Dr%2520b%26a3%3D2%2520q%26a3%3Da%26b5%3D%253D%25253D%26c%2540%3D%26c2%3D%26oauth_consumer_key%3D9djdj82h48djs9d2%26oauth_nonce%3D7d8f3e4a%26oauth_signature_method%3DHMAC-SHA1%26oauth_timestamp%3D137131201%26oauth_token%3Dkkk9d7dh3k39sjv7"

  @Test("The base string of RFC 5849 section 3.4.1.1 has its published value")
  func baseString() throws {
    let query = try #require([Parameter](formEncoded: "b5=%3D%253D&a3=a&c%40=&a2=r%20b"))
    let form = try #require([Parameter](formEncoded: "c2&a3=2+q"))
    let header = try #require(
      OAuth1Header.parameters(
        #"oauth_consumer_key="9djdj82h48djs9d2", oauth_token="kkk9d7dh3k39sjv7",oauth_signature_method="HMAC-SHA1", oauth_timestamp="137131201", oauth_nonce="7d8f3e4a""#
      ))
    let uri = OAuth1Signature.baseURI(host: "EXAMPLE.com:80", path: "/request")
    #expect(
      OAuth1Signature.baseString(method: "post", uri: uri, parameters: query + header + form)
        == Self.rfcBase)
  }

  @Test(
    "HMAC-SHA1 and HMAC-SHA256 give the published signatures over one base string",
    arguments: [
      ("j49sk3j29djd", "dh893hdasih9", "HMAC-SHA1", "r6/TJjbCOr97/+UU0NsvSne7s5g="),
      (
        "ECrDNoq1VYzzzzzzzzzyAK7TwZNtPnkqatqZZZZ", "just-a-string    asdasd", "HMAC-SHA1",
        "wsdNmjGB7lvis0UJuPAmjvX/PXw="
      ),
      (
        "ECrDNoq1VYzzzzzzzzzyAK7TwZNtPnkqatqZZZZ", "just-a-string    asdasd", "HMAC-SHA256",
        "wdfdHUKXHbOnOGZP8WFAWMSAmWzN3EVBWWgXGlC/Eo4="
      ),
    ])
  func hashes(consumer: String, token: String, method: String, signature: String) throws {
    let method = try #require(OAuth1Signature.Method(rawValue: method))
    #expect(
      OAuth1Signature.sign(
        Self.rfcBase, with: method, consumerSecret: consumer, tokenSecret: token) == signature)
  }

  @Test("With HMAC-SHA256 the base string contains the name of the method")
  func sha256Base() {
    let base = Self.rfcBase.replacing("HMAC-SHA1", with: "HMAC-SHA256")
    #expect(
      OAuth1Signature.sign(
        base, with: .sha256, consumerSecret: "j49sk3j29djd", tokenSecret: "dh893hdasih9")
        == "ypAxjNip++Dm0fTM+gCl8wAo6ufSnseu1WHxL7py3BU=")
  }

  @Test("The signing key consists of both secrets, also if one is empty")
  func keys() {
    #expect(OAuth1Signature.sign("bs", consumerSecret: "cs") == "egQqG5AJep5sJ7anhXju1unge2I=")
    #expect(
      OAuth1Signature.sign("bs", consumerSecret: "cs", tokenSecret: "ts")
        == "VZVjXceV7JgPq/dOTnNmEfO0Fv8=")
  }

  @Test(
    "The base string URI omits the default port and keeps the rest",
    arguments: [
      ("http", "EXAMPLE.COM:80", "/r%20v/X", "http://example.com/r%20v/X"),
      ("https", "www.example.net:8080", "/", "https://www.example.net:8080/"),
      ("https", "www.example.net:443", "", "https://www.example.net/"),
      ("http", "127.0.0.1:8080", "/a%2Fb", "http://127.0.0.1:8080/a%2Fb"),
    ])
  func addresses(scheme: String, host: String, path: String, uri: String) {
    #expect(OAuth1Signature.baseURI(scheme: scheme, host: host, path: path) == uri)
  }

  @Test(
    "Only unreserved characters are not percent-encoded",
    arguments: [
      ("Ladies + Gentlemen", "Ladies%20%2B%20Gentlemen"),
      ("An encoded string!", "An%20encoded%20string%21"),
      ("Dogs, Cats & Mice", "Dogs%2C%20Cats%20%26%20Mice"), ("☃", "%E2%98%83"),
      ("-._~", "-._~"),
      (
        "!*'();:@&=+$,/?%#[]",
        "%21%2A%27%28%29%3B%3A%40%26%3D%2B%24%2C%2F%3F%25%23%5B%5D"
      ),
    ])
  func percentCoding(plain: String, coded: String) {
    #expect(PercentCoding.encode(plain) == coded)
    #expect(PercentCoding.decode(coded) == plain)
  }

  @Test("Broken percent-encoding is refused", arguments: ["%", "%4", "%zz", "a%", "%ff", "%C3"])
  func brokenEscapes(text: String) {
    #expect(PercentCoding.decode(text) == nil)
    #expect([Parameter](formEncoded: "a=\(text)") == nil)
  }

  @Test(
    "A malformed OAuth header is refused",
    arguments: [
      "", "a", "a=b", #"a="b"#, #"="b""#, #"a="b",,c="d""#, #"a="%zz""#,
      "a=\"",
    ])
  func badHeaders(text: String) {
    #expect(OAuth1Header.parameters(text) == nil)
  }
}
