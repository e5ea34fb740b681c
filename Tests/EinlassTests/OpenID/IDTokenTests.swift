import Einlass
import EinlassCrypto
import EinlassJSON
import Testing

/// Every check of OpenID Connect Core 1.0 section 3.1.3.7 and of C-73, at its edge. T-91, T-92.
@Suite struct IDTokenTests {
  private static let secret = Secret("a client secret of more than 32 bytes")
  private static let now: UnixTime = 1_763_712_345

  /// Signed with the client secret, so that the tests can make any token.
  private static func token(_ change: (inout JSONObject) -> Void = { _ in }) -> String {
    var claims: JSONObject = [
      "iss": "https://issuer.example", "sub": "ada", "aud": "client", "nonce": "n0nce",
      "iat": JSONValue(now), "exp": JSONValue(now + 3600),
    ]
    change(&claims)
    let text = [
      #"{"alg":"HS256"}"#, String(decoding: JSONValue.object(claims).bytes(), as: UTF8.self),
    ]
    .map { Base64URL.encode(Array($0.utf8)) }.joined(separator: ".")
    let signature = MessageAuthentication.hmacSHA256(
      key: secret.reveal(), message: Array(text.utf8))
    return text + "." + Base64URL.encode(signature)
  }

  private static func expectation() -> IDTokenExpectation {
    var expectation = IDTokenExpectation(issuer: "https://issuer.example", clientID: "client")
    expectation.nonce = "n0nce"
    expectation.algorithms = [.hs256]
    return expectation
  }

  private func fault(_ text: String, _ expectation: IDTokenExpectation = expectation()) throws
    -> IDTokenExpectation.Fault?
  {
    let keys = JSONWebKeySet([try #require(JSONWebKey(clientSecret: Self.secret))])
    do {
      _ = try expectation.check(text, keys: keys, now: Self.now)
      return nil
    } catch { return error }
  }

  @Test func `a sound token is believed, with all it says`() throws {
    let keys = JSONWebKeySet([try #require(JSONWebKey(clientSecret: Self.secret))])
    let token = try Self.expectation().check(
      Self.token { $0["email"] = "ada@example.org" }, keys: keys, now: Self.now)
    #expect(token.subject == "ada" && token.issuer == "https://issuer.example")
    #expect(token.expiresAt == Self.now + 3600 && token.issuedAt == Self.now)
    #expect(token.claims["email"] == "ada@example.org")
  }

  @Test(
    "who it is from, for and of",
    arguments: [
      ("iss", "https://issuer.example/", IDTokenExpectation.Fault.issuer),
      ("iss", nil, .claim("iss")), ("iss", 7, .claim("iss")),
      ("aud", "other", .audience), ("aud", [], .audience), ("aud", ["other"], .audience),
      ("aud", ["client", "other"], .authorizedParty), ("aud", [7, "client"], .claim("aud")),
      ("aud", nil, .claim("aud")), ("azp", "other", .authorizedParty), ("azp", 7, .authorizedParty),
      ("azp", "client", nil), ("aud", ["client"], nil),
      ("sub", nil, .claim("sub")), ("sub", "", .claim("sub")), ("sub", "ädä", .claim("sub")),
      ("sub", .string(String(repeating: "a", count: 255)), nil),
      ("sub", .string(String(repeating: "a", count: 256)), .claim("sub")),
      ("sub", "a\u{0}b", .claim("sub")), ("iat", nil, .claim("iat")), ("exp", nil, .claim("exp")),
      ("iat", "now", .claim("iat")), ("nbf", true, .claim("nbf")),
      ("nonce", nil, .nonce), ("nonce", "other", .nonce), ("nonce", 7, .nonce),
    ] as [(String, JSONValue?, IDTokenExpectation.Fault?)])
  func persons(claim: String, value: JSONValue?, expected: IDTokenExpectation.Fault?) throws {
    #expect(try fault(Self.token { $0[claim] = value }) == expected)
  }

  @Test func `several audiences need us as the authorized party`() throws {
    let token = Self.token {
      $0["aud"] = ["client", "other"]
      $0["azp"] = "client"
    }
    #expect(try fault(token) == nil)
  }

  @Test(
    "times hold to the second, with the skew of a minute",
    arguments: [
      ("exp", -59, nil), ("exp", -60, IDTokenExpectation.Fault.expired), ("exp", -61, .expired),
      ("nbf", 60, nil), ("nbf", 61, .notYetValid), ("nbf", -600, nil),
      ("iat", -600, nil), ("iat", -601, .issuedAt), ("iat", 600, nil), ("iat", 601, .issuedAt),
    ] as [(String, Int64, IDTokenExpectation.Fault?)])
  func times(claim: String, offset: Int64, expected: IDTokenExpectation.Fault?) throws {
    #expect(try fault(Self.token { $0[claim] = JSONValue(Self.now + offset) }) == expected)
  }

  @Test(
    "a time is a number that a clock can show",
    arguments: ["-1", "1e308", "9007199254740993", "\"1763712345\"", "null", "{}"])
  func oddTimes(lexeme: String) throws {
    let value = try JSONReader.read(Array(lexeme.utf8))
    #expect(try fault(Self.token { $0["exp"] = value }) == .claim("exp"))
  }

  @Test func `a time with a fraction is one`() throws {
    let value = try JSONReader.read(Array("\(Self.now + 10).5e0".utf8))
    #expect(try fault(Self.token { $0["exp"] = value }) == nil)
  }

  @Test func `an older token serves where it was not issued just now`() throws {
    var expectation = Self.expectation()
    let old = Self.token { $0["iat"] = JSONValue(Self.now - 601) }
    #expect(try fault(old, expectation) == .issuedAt)
    expectation.isFresh = false
    #expect(try fault(old, expectation) == nil)
    let future = Self.token { $0["iat"] = JSONValue(Self.now + 61) }
    #expect(try fault(future, expectation) == .issuedAt)
  }

  @Test func `the skew is never more than five minutes`() throws {
    var expectation = Self.expectation()
    expectation.skewSeconds = 100_000
    #expect(try fault(Self.token { $0["exp"] = JSONValue(Self.now - 299) }, expectation) == nil)
    #expect(
      try fault(Self.token { $0["exp"] = JSONValue(Self.now - 300) }, expectation) == .expired)
  }

  @Test(
    "a person who had to prove themselves lately did",
    arguments: [
      (-160, nil), (-161, IDTokenExpectation.Fault.authenticationTime),
      (nil, .claim("auth_time")),
    ] as [(Int64?, IDTokenExpectation.Fault?)])
  func authenticationTime(offset: Int64?, expected: IDTokenExpectation.Fault?) throws {
    var expectation = Self.expectation()
    expectation.maxAgeSeconds = 100
    let token = Self.token { $0["auth_time"] = offset.map { JSONValue(Self.now + $0) } }
    #expect(try fault(token, expectation) == expected)
  }

  @Test func `a refreshed token is the same person's`() throws {
    var expectation = Self.expectation()
    expectation.subject = "ada"
    #expect(try fault(Self.token(), expectation) == nil)
    expectation.subject = "grace"
    #expect(try fault(Self.token(), expectation) == .subject)
  }

  /// OpenID Connect Core 1.0 appendix A.3 and A.4 show tokens for these halves.
  @Test func `what came with the token is what it was issued with`() throws {
    var expectation = Self.expectation()
    expectation.accessToken = Secret("jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y")
    expectation.authorizationCode = Secret(
      "Qcb0Orv1zh30vL1MPRsbm-diHiMwcLyZvn1arpZv-Jxf_11jnpEX3Tgfvk")
    let sound = Self.token {
      $0["at_hash"] = "77QmUPtjPfzWtF2AnpK9RQ"
      $0["c_hash"] = "LDktKdoQak3Pk0cnXxCltA"
    }
    #expect(try fault(sound, expectation) == nil)
    #expect(try fault(Self.token(), expectation) == nil)
    #expect(
      try fault(Self.token { $0["at_hash"] = "77QmUPtjPfzWtF2AnpK9RA" }, expectation)
        == .accessTokenHash)
    #expect(try fault(Self.token { $0["c_hash"] = 7 }, expectation) == .authorizationCodeHash)
  }

  @Test func `a token that is signed otherwise, or not an object, says nothing`() throws {
    var expectation = Self.expectation()
    expectation.algorithms = TokenAlgorithm.usual
    #expect(try fault(Self.token(), expectation) == .signature(.algorithm))
    let text = Self.token()
    #expect(try fault(text.dropLast(2) + "AA") == .signature(.signature))
    #expect(try fault(String(text.dropLast())) == .signature(.form))
  }
}
