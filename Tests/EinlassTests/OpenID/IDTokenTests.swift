import Einlass
import EinlassCrypto
import EinlassJSON
import Testing

/// Every check of OpenID Connect Core 1.0 section 3.1.3.7, at its limits.
@Suite struct IDTokenTests {
  private static let secret = Secret("a client secret of more than 32 bytes")
  private static let now: UnixTime = 1_763_712_345

  /// Returns a token signed with the client secret, so that a test can make any token.
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

  @Test func `A valid token is accepted with all its claims`() throws {
    let keys = JSONWebKeySet([try #require(JSONWebKey(clientSecret: Self.secret))])
    let token = try Self.expectation().check(
      Self.token { $0["email"] = "ada@example.org" }, keys: keys, now: Self.now)
    #expect(token.subject == "ada" && token.issuer == "https://issuer.example")
    #expect(token.expiresAt == Self.now + 3600 && token.issuedAt == Self.now)
    #expect(token.claims["email"] == "ada@example.org")
  }

  @Test(
    "The issuer, the audience and the subject of an id_token are checked",
    arguments: [
      ("iss", "https://issuer.example/", IDTokenExpectation.Fault.issuer),
      ("iss", nil, .claim("iss")), ("iss", 7, .claim("iss")),
      ("aud", "other", .audience), ("aud", [], .audience), ("aud", ["other"], .audience),
      ("aud", ["client", "other"], .authorizedParty), ("aud", [7, "client"], .claim("aud")),
      ("aud", nil, .claim("aud")), ("azp", "other", .authorizedParty), ("azp", 7, .authorizedParty),
      ("azp", "client", nil), ("aud", ["client"], nil),
      ("sub", 1001, nil), ("sub", [1001], .claim("sub")), ("sub", true, .claim("sub")),
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

  @Test func `Several audiences require the client as the authorized party`() throws {
    let token = Self.token {
      $0["aud"] = ["client", "other"]
      $0["azp"] = "client"
    }
    #expect(try fault(token) == nil)
  }

  @Test(
    "With named further audiences a token has no others, and an authorized party is the client",
    arguments: [
      (["client"], nil, nil), (["client", "api"], nil, nil), (["client", "api"], "client", nil),
      (["api"], nil, IDTokenExpectation.Fault.audience),
      (["client", "other"], nil, .furtherAudience),
      (["client", "other"], "client", .furtherAudience),
      (["client", "api"], "api", .authorizedParty),
    ] as [(JSONValue, JSONValue?, IDTokenExpectation.Fault?)])
  func furtherAudiences(
    audience: JSONValue, party: JSONValue?, expected: IDTokenExpectation.Fault?
  ) throws {
    var expectation = Self.expectation()
    expectation.furtherAudiences = ["api"]
    let token = Self.token {
      $0["aud"] = audience
      $0["azp"] = party
    }
    #expect(try fault(token, expectation) == expected)
  }

  private static let tenant = "6f1c2a34-0b7d-4e21-9a55-c0ffee123456"

  @Test(
    "An issuer's template is filled from the token's own tenant, a GUID",
    arguments: [
      (tenant, .string(tenant), nil), (tenant, nil, IDTokenExpectation.Fault.claim("tid")),
      (tenant, "6f1c2a34-0b7d-4e21-9a55-c0ffee123457", .issuer), ("common", "common", .issuer),
      (tenant.uppercased(), .string(tenant.uppercased()), .issuer), ("", "", .issuer),
      ("\(tenant)/..", .string(tenant), .issuer), ("{tenantid}", "{tenantid}", .issuer),
      (tenant, 7, .claim("tid")),
    ] as [(String, JSONValue?, IDTokenExpectation.Fault?)])
  func template(named: String, tenant: JSONValue?, expected: IDTokenExpectation.Fault?) throws {
    var expectation = Self.expectation()
    expectation.issuer = "https://issuer.example/{tenantid}/v2.0"
    let token = Self.token {
      $0["iss"] = .string("https://issuer.example/\(named)/v2.0")
      $0["tid"] = tenant
    }
    #expect(try fault(token, expectation) == expected)
  }

  @Test func `A person of a template's issuer is tenant and subject`() throws {
    let keys = JSONWebKeySet([try #require(JSONWebKey(clientSecret: Self.secret))])
    var expectation = Self.expectation()
    expectation.issuer = "https://issuer.example/{tenantid}/v2.0"
    let text = Self.token {
      $0["iss"] = .string("https://issuer.example/\(Self.tenant)/v2.0")
      $0["tid"] = .string(Self.tenant)
    }
    #expect(
      try expectation.check(text, keys: keys, now: Self.now).subject == "\(Self.tenant)/ada")
    expectation.subject = "\(Self.tenant)/ada"
    #expect(try fault(text, expectation) == nil)
    expectation.subject = "ada"
    #expect(try fault(text, expectation) == .subject)
  }

  @Test(
    "Times are checked to the second, with a skew of one minute",
    arguments: [
      ("exp", -59, nil), ("exp", -60, IDTokenExpectation.Fault.expired), ("exp", -61, .expired),
      ("nbf", 60, nil), ("nbf", 61, .notYetValid), ("nbf", -600, nil),
      ("iat", -600, nil), ("iat", -601, .issuedAt), ("iat", 600, nil), ("iat", 601, .issuedAt),
    ] as [(String, Int64, IDTokenExpectation.Fault?)])
  func times(claim: String, offset: Int64, expected: IDTokenExpectation.Fault?) throws {
    #expect(try fault(Self.token { $0[claim] = JSONValue(Self.now + offset) }) == expected)
  }

  @Test(
    "A time must be a number within the range of a clock",
    arguments: ["-1", "1e308", "9007199254740993", "\"1763712345\"", "null", "{}"])
  func oddTimes(lexeme: String) throws {
    let value = try JSONReader.read(Array(lexeme.utf8))
    #expect(try fault(Self.token { $0["exp"] = value }) == .claim("exp"))
  }

  @Test(
    "A whole number as subject is its digits, and one with an exponent or a fraction is refused",
    arguments: [
      ("1001", "1001"), ("9007199254740993", "9007199254740993"), ("1001.0", nil), ("1e3", nil),
      ("1E3", nil),
    ])
  func numericSubject(lexeme: String, subject: String?) throws {
    let keys = JSONWebKeySet([try #require(JSONWebKey(clientSecret: Self.secret))])
    let value = try JSONReader.read(Array(lexeme.utf8))
    let token = try? Self.expectation().check(
      Self.token { $0["sub"] = value }, keys: keys, now: Self.now)
    #expect(token?.subject == subject)
  }

  @Test func `A null claim is absent, and one that a rule requires is refused`() throws {
    var expectation = Self.expectation()
    expectation.accessToken = Secret("AT")
    expectation.authorizationCode = Secret("CODE")
    for claim in ["azp", "nbf", "at_hash", "c_hash", "events", "auth_time", "email"] {
      #expect(try fault(Self.token { $0[claim] = .null }, expectation) == nil, "\(claim)")
    }
    expectation.maxAgeSeconds = 100
    let refused: [(String, IDTokenExpectation.Fault)] = [
      ("iss", .claim("iss")), ("sub", .claim("sub")), ("aud", .claim("aud")),
      ("exp", .claim("exp")), ("iat", .claim("iat")), ("nonce", .nonce),
      ("auth_time", .claim("auth_time")),
    ]
    for (claim, expected) in refused {
      let token = Self.token {
        $0["auth_time"] = JSONValue(Self.now)
        $0[claim] = .null
      }
      #expect(try fault(token, expectation) == expected)
    }
    #expect(try fault(Self.token { $0["auth_time"] = JSONValue(Self.now) }, expectation) == nil)
    let several = Self.token {
      $0["aud"] = ["client", "other"]
      $0["azp"] = .null
    }
    #expect(try fault(several) == .authorizedParty)
    #expect(throws: JSONWebSignature.Fault.critical) {
      try JSONWebSignature.parse(
        "\(Base64URL.encode(Array(#"{"alg":"RS256","crit":null}"#.utf8))).e30.")
    }
  }

  @Test func `A time may have a fraction`() throws {
    let value = try JSONReader.read(Array("\(Self.now + 10).5e0".utf8))
    #expect(try fault(Self.token { $0["exp"] = value }) == nil)
  }

  @Test func `An older token is accepted if it need not be fresh`() throws {
    var expectation = Self.expectation()
    let old = Self.token { $0["iat"] = JSONValue(Self.now - 601) }
    #expect(try fault(old, expectation) == .issuedAt)
    expectation.isFresh = false
    #expect(try fault(old, expectation) == nil)
    let future = Self.token { $0["iat"] = JSONValue(Self.now + 61) }
    #expect(try fault(future, expectation) == .issuedAt)
  }

  @Test func `The skew is never more than five minutes`() throws {
    var expectation = Self.expectation()
    expectation.skewSeconds = 100_000
    #expect(try fault(Self.token { $0["exp"] = JSONValue(Self.now - 299) }, expectation) == nil)
    #expect(
      try fault(Self.token { $0["exp"] = JSONValue(Self.now - 300) }, expectation) == .expired)
  }

  @Test(
    "A required authentication time must be recent enough",
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

  @Test func `A refreshed token must have the same subject`() throws {
    var expectation = Self.expectation()
    expectation.subject = "ada"
    #expect(try fault(Self.token(), expectation) == nil)
    expectation.subject = "grace"
    #expect(try fault(Self.token(), expectation) == .subject)
  }

  /// OpenID Connect Core 1.0 appendices A.3 and A.4 have these hashes.
  @Test func `The hashes of access token and code must match if they are present`() throws {
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

  @Test func `A token with another algorithm, a wrong signature or a wrong form is refused`() throws
  {
    var expectation = Self.expectation()
    expectation.algorithms = TokenAlgorithm.usual
    #expect(try fault(Self.token(), expectation) == .signature(.algorithm))
    let text = Self.token()
    #expect(try fault(text.dropLast(2) + "AA") == .signature(.signature))
    #expect(try fault(String(text.dropLast())) == .signature(.form))
  }
}
