import EinlassCrypto
import EinlassJSON
import TestSupport
import Testing

@testable import Einlass

/// `verify` of an id_token, and the two checks that need no settings of a provider: userinfo and
/// introspection. RFC 7662 section 2.
@Suite struct SignedIdentityTests {
  private static let key = PrivateKey.generate(.ed25519)

  private static func provider(_ more: String = "") -> String {
    """
    {"id":"example","name":"Example","setup":{"documentation":"https://op.example/docs"},\
    "accounts":"many","registration":["clientId"],\(more)"flows":[{"kind":"deviceCode",\
    "deviceAuthorization":{"method":"POST","url":"https://op.example/device"},\
    "token":{"method":"POST","url":"https://op.example/token"},"issuer":"https://op.example",\
    "keySet":"https://op.example/keys","algorithms":["EdDSA"]}]}
    """
  }
  private static let identity =
    #""identity":{"request":{"method":"GET","url":"https://op.example/me","bearer":"{token}"},"id":"/sub","required":["id"]},"#
  private static let introspection =
    #""verify":{"recipe":"introspection","request":{"method":"POST","url":"https://op.example/introspect"}},"#

  private static var keys: Script.Reply {
    guard case .ed25519(let x) = key.publicParts else { return .json("{}") }
    let member: JSONValue = ["kty": "OKP", "crv": "Ed25519", "x": .string(Base64URL.encode(x))]
    return .bytes(JSONValue.object(["keys": [member]]).bytes())
  }

  private static func idToken(_ change: (inout JSONObject) -> Void = { _ in }) throws -> Secret {
    var claims: JSONObject = [
      "iss": "https://op.example", "sub": "42", "aud": "APP", "nonce": "N",
      "iat": JSONValue(Script.now - 5000), "exp": JSONValue(Script.now + 300),
    ]
    change(&claims)
    return Secret(try #require(TokenSigner(key)?.token(claims: claims)))
  }

  private func verify(
    _ script: Script, _ subject: VerifyRequest.Subject, _ provider: String = provider(),
    expecting expected: VerifyRequest.Expectation = .init(), clientSecret: Secret? = nil
  ) async throws -> Verification {
    let engine = Einlass(
      catalog: try ProviderCatalogTests.catalog(provider), store: script.store.accountStore,
      effects: script.effects)
    return try await engine.verify(
      VerifyRequest(
        application: Sample.application,
        registration: ClientRegistration(clientID: "APP", clientSecret: clientSecret),
        provider: "example", subject: subject, expected: expected))
  }

  private func words(_ verification: Verification) -> [String] {
    verification.checks.map { "\($0.check.rawValue) \($0.isOK ? "ok" : "no")" }
  }

  @Test(
    "The result lists the checks in order, and the first failed check is the last",
    arguments: [
      (
        "azp", JSONValue?.none,
        ["signature ok", "issuer ok", "audience ok", "expiry ok", "identity ok", "nonce ok"]
      ),
      ("iss", "https://other.example", ["signature ok", "issuer no"]),
      ("iss", nil, ["signature ok", "issuer no"]),
      ("aud", "other", ["signature ok", "issuer ok", "audience no"]),
      ("aud", 7, ["signature ok", "audience no"]),
      ("azp", "other", ["signature ok", "issuer ok", "audience no"]),
      (
        "exp", JSONValue(Script.now - 61),
        ["signature ok", "issuer ok", "audience ok", "expiry no"]
      ),
      ("exp", "soon", ["signature ok", "expiry no"]),
      (
        "nbf", JSONValue(Script.now + 61),
        ["signature ok", "issuer ok", "audience ok", "expiry no"]
      ),
      ("sub", "43", ["signature ok", "issuer ok", "audience ok", "expiry ok", "identity no"]),
      ("sub", nil, ["signature ok", "identity no"]),
      (
        "nonce", "M",
        ["signature ok", "issuer ok", "audience ok", "expiry ok", "identity ok", "nonce no"]
      ),
    ] as [(String, JSONValue?, [String])])
  func findings(claim: String, value: JSONValue?, expected: [String]) async throws {
    let script = Script([Self.keys])
    let token = try Self.idToken { $0[claim] = value }
    let result = try await verify(script, .idToken(token), expecting: .init(id: "42", nonce: "N"))
    #expect(words(result) == expected)
    #expect(result.isValid == !expected.contains { $0.hasSuffix("no") })
    #expect(result.checks.allSatisfy { $0.isOK == ($0.detail == nil) })
    #expect((result.identity?.id == "42") == result.isValid)
    #expect((result.clientID == "APP") == result.isValid)
  }

  @Test(
    "A malformed token is a result, and no part of it is shown",
    arguments: ["", "a.b", "a.b.c.d", "..", "e30.e30.e30", String(repeating: "A", count: 70_000)])
  func malformed(text: String) async throws {
    let script = Script([Self.keys, Self.keys])
    let result = try await verify(script, .idToken(Secret(text)))
    #expect(words(result) == ["signature no"])
    #expect(result.identity == nil && result.expiresAt == nil)
  }

  @Test func `An access token belongs to the id_token's person only if the id_token names it`()
    async throws
  {
    for named in ["AT", "another"] {
      let digest = Digest.sha512(Array(named.utf8)).prefix(32)
      let token = try Self.idToken { $0["at_hash"] = .string(Base64URL.encode(Array(digest))) }
      let script = Script([Self.keys, .json(#"{"sub":"42"}"#)])
      let credential = OAuth2Credential(accessToken: Secret("AT"), idToken: token)
      var result: Verification?
      var problem: Problem?
      do {
        result = try await verify(
          script, .credential(.oauth2(credential)), Self.provider(Self.identity))
      } catch let error as Problem { problem = error }
      #expect((result?.isValid == true) == (named == "AT"))
      // Nothing names the application of another token.
      #expect((problem?.detail == "applicationUnknown") == (named == "another"))
      #expect(script.log.count == 2)
    }
  }

  @Test(
    "A secret of 32 bytes verifies HS256 where the provider uses it, and a shorter one never",
    arguments: [31, 32])
  func secrets(count: Int) async throws {
    let secret = Secret(String(repeating: "s", count: count))
    let claims: JSONObject = [
      "iss": "https://op.example", "sub": "42", "aud": "APP", "iat": JSONValue(Script.now),
      "exp": JSONValue(Script.now + 300),
    ]
    let token = Secret(try #require(TokenSigner(clientSecret: secret).token(claims: claims)))
    let signing = Self.provider()
      .replacing(
        #""keySet":"https://op.example/keys","algorithms":["EdDSA"]"#,
        with: #""algorithms":["HS256"]"#)
    let script = Script()
    let result = try await verify(script, .idToken(token), signing, clientSecret: secret)
    #expect(result.isValid == (count == 32) && script.log.isEmpty)
    let other = try await verify(
      Script([Self.keys, Self.keys]), .idToken(token), clientSecret: secret)
    #expect(words(other) == ["signature no"])
  }

  @Test func `An access token of another person than the id_token's is not valid`() async throws {
    let digest = Base64URL.encode(Array(Digest.sha512(Array("AT".utf8)).prefix(32)))
    let token = try Self.idToken { $0["at_hash"] = .string(digest) }
    let script = Script([Self.keys, .json(#"{"sub":"43"}"#)])
    let credential = OAuth2Credential(accessToken: Secret("AT"), idToken: token)
    let result = try await verify(
      script, .credential(.oauth2(credential)), Self.provider(Self.identity))
    #expect(words(result).suffix(3) == ["active ok", "application ok", "identity no"])
  }

  @Test(
    "Only the registration's own stored token is verified",
    arguments: ["APP", "other", nil])
  func stored(clientID: String?) async throws {
    let account = Sample.account("ada", "example")
    let stored = StoredCredential(
      role: .application, registration: ClientRegistration(clientID: "APP"),
      credential: .oauth2(OAuth2Credential(accessToken: Secret("AT"))),
      binding: ProviderBinding(
        origins: ["https://op.example"], clientID: "APP", flowKind: .deviceCode))
    let store = ScriptedStore(
      accounts: [account], grants: Sample.grants("example", .granted),
      credentials: [account.id: [stored]])
    let script = Script([.json(#"{"sub":"42"}"#)], store: store)
    let result = try await verify(
      script, .account(account.id), Self.provider(Self.identity),
      expecting: .init(clientID: clientID))
    #expect(
      words(result)
        == (clientID == "other"
          ? ["active ok", "application no"] : ["active ok", "application ok", "identity ok"]))
  }

  /// A front end can add a token of another application under any client id.
  @Test(
    "A stored token that a front end has added names no application, by value and by account",
    arguments: [StoredCredential.Role.application, .system], [true, false])
  func added(role: StoredCredential.Role, byValue: Bool) async throws {
    var account = Sample.account("ada", "example")
    account.subject = "42"
    let credential = Credential.oauth2(OAuth2Credential(accessToken: Secret("AT")))
    let stored = StoredCredential(
      role: role, registration: ClientRegistration(clientID: "APP"), credential: credential,
      binding: ProviderBinding(
        origins: ["https://op.example"], clientID: "APP", flowKind: .deviceCode))
    let store = ScriptedStore(
      accounts: [account], grants: Sample.grants("example", .granted),
      credentials: [account.id: [stored]])
    let script = Script([.json(#"{"sub":"42"}"#)], store: store)
    let subject: VerifyRequest.Subject = byValue ? .credential(credential) : .account(account.id)
    if role == .application {
      #expect(try await verify(script, subject, Self.provider(Self.identity)).isValid)
    } else {
      let problem = await #expect(throws: Problem.self) {
        try await verify(script, subject, Self.provider(Self.identity))
      }
      #expect(problem?.reason == .flowNotSupported && problem?.detail == "applicationUnknown")
    }
  }

  @Test(
    "A token without a named application is not valid",
    arguments: [
      (identity, #"{"sub":"42"}"#, "42"), (introspection, #"{"active":true,"sub":"42"}"#, "42"),
      (introspection, #"{"active":true}"#, nil),
      (
        introspection,
        #"{"active":true,"client_id":null,"scope":null,"exp":null,"username":null,"sub":42}"#, "42"
      ),
    ] as [(String, String, String?)])
  func unnamed(more: String, answer: String, person: String?) async throws {
    let script = Script([.json(answer)])
    let credential = Credential.oauth2(OAuth2Credential(accessToken: Secret("AT")))
    let problem = await #expect(throws: Problem.self) {
      try await verify(
        script, .credential(credential), Self.provider(more), clientSecret: Secret("s"))
    }
    #expect(problem?.reason == .flowNotSupported && problem?.detail == "applicationUnknown")
    #expect(problem?.identity?.id == person)
  }

  @Test(
    "Introspection answers all checks of a token",
    arguments: [
      (
        #"{"active":true,"client_id":"APP","scope":"a b","exp":1500000100,"sub":"42"}"#,
        ["active ok", "application ok", "expiry ok", "identity ok", "scopes ok"]
      ),
      (#"{"active":false}"#, ["active no"]),
      (
        #"{"active":true,"client_id":"other","sub":"42"}"#,
        ["active ok", "application no", "expiry ok"]
      ),
      (
        #"{"active":true,"client_id":"APP","sub":"42"}"#,
        ["active ok", "application ok", "expiry ok", "identity ok", "scopes no"]
      ),
      (
        #"{"active":true,"client_id":"APP","scope":null,"exp":null,"username":null,"sub":42}"#,
        ["active ok", "application ok", "expiry ok", "identity ok", "scopes no"]
      ),
      (
        #"{"active":true,"client_id":"APP","exp":1499999999}"#,
        ["active ok", "application ok", "expiry no"]
      ),
      (
        #"{"active":true,"client_id":"APP","scope":"b","sub":"43"}"#,
        ["active ok", "application ok", "expiry ok", "identity no", "scopes no"]
      ),
      (
        #"{"active":true,"client_id":"APP","scope":"a"}"#,
        ["active ok", "application ok", "expiry ok", "identity no", "scopes ok"]
      ),
    ])
  func introspected(answer: String, expected: [String]) async throws {
    let script = Script([.json(answer)])
    let credential = Credential.oauth2(OAuth2Credential(accessToken: Secret("AT")))
    let result = try await verify(
      script, .credential(credential), Self.provider(Self.introspection),
      expecting: .init(id: "42", scopes: ["a"]), clientSecret: Secret("s"))
    #expect(words(result) == expected)
    let form = FormEncoding.decode(script.requests[0].body, plus: .space)
    #expect(form == [Parameter("token", "AT"), Parameter("token_type_hint", "access_token")])
    #expect(script.requests[0].headers.contains { $0.value.hasPrefix("Basic ") })
  }

  @Test(
    "A token that introspection calls inactive stays invalid, and the result says what the identity request said",
    arguments: [
      (Script.Reply.json(#"{"sub":"42"}"#), true), (.json(#"{"error":"x"}"#, status: 401), false),
      (.networkFailure(-1001), false),
    ])
  func contradiction(reply: Script.Reply, isAccepted: Bool) async throws {
    let script = Script([.json(#"{"active":false}"#), reply])
    let credential = OAuth2Credential(accessToken: Secret("AT"))
    let result = try await verify(
      script, .credential(.oauth2(credential)), Self.provider(Self.introspection + Self.identity),
      clientSecret: Secret("s"))
    #expect(words(result) == ["active no"] && !result.isValid && result.identity == nil)
    let detail = try #require(result.checks[0].detail)
    #expect(detail.contains("introspection") == isAccepted)
    #expect(detail.contains("identity request accepts it") == isAccepted)
  }

  @Test("An endpoint that does not answer is an error and not a result")
  func unanswered() async throws {
    for reply in [
      Script.Reply.json("{}"), .json(#"{"active":null}"#),
      .json(#"{"error":"invalid_client"}"#, status: 401),
      .networkFailure(-1),
    ] {
      let credential = Credential.oauth2(OAuth2Credential(accessToken: Secret("AT")))
      await #expect(throws: Problem.self) {
        try await verify(
          Script([reply]), .credential(credential), Self.provider(Self.introspection),
          clientSecret: Secret("s"))
      }
    }
  }
}
