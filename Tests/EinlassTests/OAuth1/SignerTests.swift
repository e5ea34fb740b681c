import EinlassCrypto
import Testing

@testable import Einlass

struct SignerTests {
  struct Vector: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var method = "POST"
    var url: String
    var consumer: (key: String, secret: String)
    var token: (key: String, secret: String)?
    var timestamp: String
    var nonce: String
    var hasVersion = false
    var extra: [Parameter] = []
    var signature: String
  }

  static let photos = (key: "dpf43f3p2l4k3l03", secret: "kd94hf93k423kf44")
  static let accessToken = (key: "nnch734d00sl2jdk", secret: "pfkkdhi9sl3r4s00")
  static let documented = (
    key: "xvz1evFS4wEEPTGEFPHBog", secret: "kAcSOqF21Fu85e7zjz7ZN2U4ZRhfV3WpwPAoE3Z7kBw"
  )
  static let documentedToken = (
    key: "370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb",
    secret: "LswwdoUaIvS8ltyTt5jkRh4J50vUPVVHtR2YPi5kE"
  )
  static let target = (
    key: "JP3PyvG67rXRsnayOJOcQ", secret: "ydC2yUbFaScbSlykO0PmrMjXFeLraSi3Q2HfTOlGxQM"
  )
  static let firstAnswer = """
    OAuth oauth_nonce="xq2maKtilFhVTC1MSxVC4cQIJLd53O6w97YmrcOGSk8", oauth_signature_method="HMAC-SHA1", \
    oauth_timestamp="1322697052", oauth_consumer_key="JP3PyvG67rXRsnayOJOcQ", \
    oauth_token="5mgkU82W0PTA0DLgSIA5vFK6c08i8dXzrbLnX06vl38", oauth_signature="aOM%2FwW2kAowAeHBRvw7faH245p0%3D", \
    oauth_version="1.0"
    """

  static let vectors: [Vector] = [
    Vector(
      testDescription: "RFC 5849 1.2, initiate", url: "https://photos.example.net/initiate",
      consumer: photos, timestamp: "137131200", nonce: "wIjqoS",
      extra: [Parameter("oauth_callback", "http://printer.example.com/ready")],
      signature: "74KNZJeDHnMBp0EMJ9ZHt/XKycU="),
    Vector(
      testDescription: "RFC 5849 1.2, token", url: "https://photos.example.net/token",
      consumer: photos, token: ("hh5s93j4hdidpola", "hdhd0244k9j7ao03"), timestamp: "137131201",
      nonce: "walatlh", extra: [Parameter("oauth_verifier", "hfdp7dh39dks9884")],
      signature: "gKgrFCywp7rO0OXSjdot/IHF7IU="),
    Vector(
      testDescription: "RFC 5849 1.2, photos", method: "GET",
      url: "http://photos.example.net/photos?file=vacation.jpg&size=original", consumer: photos,
      token: accessToken, timestamp: "137131202", nonce: "chapoH",
      signature: "MdpQcU8iPSUjWoN/UDMsK2sui9I="),
    Vector(
      testDescription: "OAuth Core 1.0 appendix A", method: "GET",
      url: "http://photos.example.net/photos?file=vacation.jpg&size=original", consumer: photos,
      token: accessToken, timestamp: "1191242096", nonce: "kllo9940pd9333jh", hasVersion: true,
      signature: "tR3+Ty81lMeYAr/Fid0kMTYa/WM="),
    Vector(
      testDescription: "creating a signature",
      url: "https://api.twitter.com/1.1/statuses/update.json?include_entities=true",
      consumer: documented, token: documentedToken, timestamp: "1318622958",
      nonce: "kYjzVBB8Y0ZFabxSWbWovY3uYSQ2pTgmZeNu2VS4cg", hasVersion: true,
      extra: [Parameter("status", "Hello Ladies + Gentlemen, a signed OAuth request!")],
      signature: "hCtSmYh+iHYCEqBWrE7C7hYmtUk="),
    Vector(
      testDescription: "creating a signature, older path",
      url: "https://api.twitter.com/1/statuses/update.json?include_entities=true",
      consumer: documented, token: documentedToken, timestamp: "1318622958",
      nonce: "kYjzVBB8Y0ZFabxSWbWovY3uYSQ2pTgmZeNu2VS4cg", hasVersion: true,
      extra: [Parameter("status", "Hello Ladies + Gentlemen, a signed OAuth request!")],
      signature: "tnnArxj06cWHq44gCs1OSKk/jLY="),
    Vector(
      testDescription: "sign-in", url: "https://api.twitter.com/oauth/request_token",
      consumer: ("cChZNFj6T5R0TigYB9yd1w", "L8qq9PZyRg6ieKGEKhZolGC0vJWLw8iEJ88DRdyOg"),
      timestamp: "1318467427", nonce: "ea9ec8429b68d6b77cd5600adbbb0456", hasVersion: true,
      extra: [Parameter("oauth_callback", "http://localhost/sign-in-with-twitter/")],
      signature: "F1Li3tvehgcraF8DMJ7OyxO4w9Y="),
    Vector(
      testDescription: "reverse auth, historic step 1",
      url: "https://api.twitter.com/oauth/request_token", consumer: target,
      timestamp: "1322697052", nonce: "1B7D865D-9E15-4ADD-8165-EF90D7A7D3D2", hasVersion: true,
      extra: [Parameter("x_auth_mode", "reverse_auth")], signature: "03EyxBdr6bwBAx8M0Qq0R0F8CKY="),
    Vector(
      testDescription: "duplicates", method: "GET",
      url: "https://api.example.org/items?tag=b&tag=a&tag=a%20b&tag=", consumer: documented,
      token: documentedToken, timestamp: "1500000000", nonce: "0123456789ABCDEF0123456789ABCDEF",
      hasVersion: true, signature: "l+SQmsOVkDt/RyGyhK4M5J9iwpI="),
  ]

  @Test("Published requests have their published signatures", arguments: vectors)
  func published(vector: Vector) throws {
    let signer = signer(vector.consumer, vector.token)
    var parameters =
      vector.extra + [
        Parameter("oauth_consumer_key", vector.consumer.key),
        Parameter("oauth_nonce", vector.nonce),
        Parameter("oauth_signature_method", "HMAC-SHA1"),
        Parameter("oauth_timestamp", vector.timestamp),
      ]
    if let token = vector.token { parameters.append(Parameter("oauth_token", token.key)) }
    if vector.hasVersion { parameters.append(Parameter("oauth_version", "1.0")) }
    let base = try SignatureBase.text(
      method: vector.method, address: .parse(vector.url), parameters: parameters)
    #expect(signer.signature(of: base) == vector.signature)
  }

  /// One of the three requests of reverse auth in the original Einlass.
  struct Step: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var method = "POST"
    var url: String
    var consumer: (key: String, secret: String)
    var token: (key: String, secret: String)?
    var form: [Parameter] = []
    var signature: String
    var baseCount: Int
    var baseDigest: String
  }

  static let steps: [Step] = [
    Step(
      testDescription: "R1", url: "https://api.twitter.com/oauth/request_token",
      consumer: documented, form: [Parameter("x_auth_mode", "reverse_auth")],
      signature: "Hqgk8VQDozZREM7kv1eNvMtkMs0=", baseCount: 270,
      baseDigest: "372126d5862a6205a615694aca16cd6f99c4ccaa1b85918ea835dbc7db0e062a"),
    Step(
      testDescription: "R2", url: "https://api.twitter.com/oauth/access_token",
      consumer: ("SYS-CONSUMER", "SYS-SECRET"), token: ("SYS-TOKEN", "SYS-TOKEN-SECRET"),
      form: [
        Parameter("x_reverse_auth_parameters", firstAnswer),
        Parameter("x_reverse_auth_target", target.key),
      ],
      signature: "VRDxfbjA4Z8bz4T61Q4PfWq6i5I=", baseCount: 784,
      baseDigest: "903fda39ae4c5a6b9eb7aaff852e3c24bcd6b45871d87d7818e247eb2e5935f2"),
    Step(
      testDescription: "R3", method: "GET",
      url: """
        https://api.twitter.com/1.1/account/verify_credentials.json?include_email=true&include_entities=true\
        &skip_status=false
        """,
      consumer: documented, token: documentedToken, signature: "M+cgJH4CEFha0t4jmn5It+6iGyM=",
      baseCount: 396,
      baseDigest: "62e51398823c9755cbbb3af31a9342e92ac633d712db7d3bad6181e71b092b2d"),
  ]

  @Test(
    "The three requests of reverse auth have their known signatures", arguments: steps)
  func reverseAuth(step: Step) throws {
    let header = try signer(step.consumer, step.token).authorization(
      method: step.method, address: .parse(step.url), form: step.form,
      nonce: "0123456789ABCDEF0123456789ABCDEF", timestamp: 1_500_000_000)
    let sent = try #require(AuthorizationHeader.parse(header))
    #expect(sent.first { $0.name == "oauth_signature" }?.value == step.signature)
    let base = try SignatureBase.text(
      method: step.method, address: .parse(step.url),
      parameters: sent.filter { $0.name != "oauth_signature" } + step.form)
    #expect(base.utf8.count == step.baseCount)
    #expect(Hexadecimal.encode(Digest.sha256(Array(base.utf8))) == step.baseDigest)
  }

  /// The base string of RFC 5849 section 3.4.1.1.
  static let base = """
    POST&http%3A%2F%2Fexample.com%2Frequest&a2%3Dr%2520b%26a3%3D2%2520q%26a3%3Da%26b5%3D%253D%25253D%26\
    c%2540%3D%26c2%3D%26oauth_consumer_key%3D9djdj82h48djs9d2%26oauth_nonce%3D7d8f3e4a%26\
    oauth_signature_method%3DHMAC-SHA1%26oauth_timestamp%3D137131201%26oauth_token%3Dkkk9d7dh3k39sjv7
    """
  static let base256 = base.replacing("HMAC-SHA1", with: "HMAC-SHA256")
  static let odd = (
    key: "ECrDNoq1VYzzzzzzzzzyAK7TwZNtPnkqatqZZZZ", secret: "just-a-string    asdasd"
  )

  @Test(
    "HMAC-SHA1 and HMAC-SHA256 use both secrets, percent-encoded, as the key",
    arguments: [
      (
        base, SignatureMethod.hmacSHA1, "j49sk3j29djd", "dh893hdasih9",
        "r6/TJjbCOr97/+UU0NsvSne7s5g="
      ),
      (
        base256, .hmacSHA256, "j49sk3j29djd", "dh893hdasih9",
        "ypAxjNip++Dm0fTM+gCl8wAo6ufSnseu1WHxL7py3BU="
      ),
      (base, .hmacSHA1, odd.key, odd.secret, "wsdNmjGB7lvis0UJuPAmjvX/PXw="),
      (base, .hmacSHA256, odd.key, odd.secret, "wdfdHUKXHbOnOGZP8WFAWMSAmWzN3EVBWWgXGlC/Eo4="),
      ("bs", .hmacSHA1, "cs", "", "egQqG5AJep5sJ7anhXju1unge2I="),
      ("bs", .hmacSHA1, "cs", "ts", "VZVjXceV7JgPq/dOTnNmEfO0Fv8="),
    ])
  func keys(
    base: String, method: SignatureMethod, consumerSecret: String, tokenSecret: String,
    signature: String
  ) {
    var signer = signer(("key", consumerSecret), ("token", tokenSecret))
    signer.method = method
    #expect(signer.signature(of: base) == signature)
  }

  @Test("A signer without a token and one with an empty token secret use the same key")
  func noToken() {
    #expect(signer(("k", "cs"), nil).signature(of: "bs") == "egQqG5AJep5sJ7anhXju1unge2I=")
  }

  /// RFC 5849 section 3.4.4.
  @Test func `A PLAINTEXT signature is the key itself`() {
    var signer = signer(("key", "c/s"), ("token", "t s"))
    signer.method = .plaintext
    #expect(signer.signature(of: "anything") == "c%2Fs&t%20s")
  }

  /// RFC 5849 section 3.4.3.
  @Test func `RSA-SHA1 signs with the registration's private key and uses no secret`() throws {
    let key = PrivateKey.generate(.rsa)
    var signer = signer(("key", "secret"), nil)
    signer.method = .rsaSHA1
    #expect(signer.signature(of: "base").isEmpty)
    signer.registration.privateKey = ClientAssertionTests.pem(key)
    guard case .rsa(let modulus, let exponent) = key.publicParts else { return }
    let publicKey = try #require(PublicKey(rsaModulus: modulus, exponent: exponent))
    let signature = try #require(Base64.decode(signer.signature(of: "base")))
    let scheme = SignatureVerification.Scheme.rsaPKCS1(.sha1)
    #expect(
      SignatureVerification.isValid(signature, of: Array("base".utf8), by: publicKey, scheme))
    #expect(
      !SignatureVerification.isValid(signature, of: Array("bass".utf8), by: publicKey, scheme))
  }

  private func signer(
    _ consumer: (key: String, secret: String), _ token: (key: String, secret: String)?
  ) -> Signer {
    Signer(
      method: .hmacSHA1,
      registration: ClientRegistration(
        clientID: consumer.key, clientSecret: Secret(consumer.secret)),
      token: token.map {
        OAuth1Credential(token: Secret($0.key), tokenSecret: Secret($0.secret))
      })
  }
}

/// RFC 5849 section 3.5.1.
struct AuthorizationHeaderTests {
  @Test("Names and values are encoded and quoted")
  func format() {
    #expect(
      AuthorizationHeader.format([
        Parameter("oauth_token", "a b"), Parameter("oauth_signature", "+/="),
      ])
        == #"OAuth oauth_token="a%20b", oauth_signature="%2B%2F%3D""#)
  }

  @Test("A header is read with any spacing")
  func parse() {
    #expect(
      AuthorizationHeader.parse("oauth realm=\"Photos\",\n  oauth_nonce=\"7%2F\" , a=\"\"")
        == [Parameter("realm", "Photos"), Parameter("oauth_nonce", "7/"), Parameter("a", "")])
    #expect(AuthorizationHeader.parse(SignerTests.firstAnswer)?.count == 7)
    #expect(AuthorizationHeader.parse("OAuth ") == [])
  }

  @Test(
    "A malformed header is not read",
    arguments: [
      "", "OAuth", "Bearer abc", "<html>", "OAuth a", "OAuth a=b", "OAuth a=\"%\"", "OAuth =\"x\"",
    ])
  func noHeader(text: String) { #expect(AuthorizationHeader.parse(text) == nil) }
}
