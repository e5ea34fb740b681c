import EinlassCrypto
import EinlassJSON
import TestSupport
import Testing

@testable import Einlass

/// An issuer's keys are cached for a day, and fetched again if no key fits a token.
@Suite struct KeyRotationTests {
  private static let old = PrivateKey.generate(.ed25519)
  private static let new = PrivateKey.generate(.ed25519)
  private static let fetch = "GET https://op.example/keys"

  private static let provider = """
    {"id":"example","name":"Example","setup":{"documentation":"https://op.example/docs"},\
    "accounts":"many","registration":["clientId"],"flows":[{"kind":"deviceCode",\
    "deviceAuthorization":{"method":"POST","url":"https://op.example/device"},\
    "token":{"method":"POST","url":"https://op.example/token"},"issuer":"https://op.example",\
    "keySet":"https://op.example/keys","algorithms":["EdDSA"]}]}
    """

  private static func keys(_ keys: (String?, PrivateKey)...) -> Script.Reply {
    let members = keys.map { id, key -> JSONValue in
      guard case .ed25519(let x) = key.publicParts else { return .null }
      return .object(
        JSONObject(present: [
          "kty": "OKP", "crv": "Ed25519", "x": .string(Base64URL.encode(x)),
          "kid": id.map(JSONValue.string),
        ]))
    }
    return .bytes(JSONValue.object(["keys": .array(members)]).bytes())
  }

  private static func token(
    _ id: String?, _ key: PrivateKey, issuedAt: UnixTime = Script.now,
    adding members: JSONObject = [:]
  ) throws -> Secret {
    let claims: JSONObject = [
      "iss": "https://op.example", "sub": "42", "aud": "APP", "iat": JSONValue(issuedAt),
      "exp": JSONValue(issuedAt + 1_000_000),
    ]
    let signer = try #require(TokenSigner(key))
    var header = members
    if let id { header["kid"] = .string(id) }
    return Secret(try #require(signer.token(header: header, claims: claims)))
  }

  private func isValid(_ token: Secret, _ script: Script) async throws -> Bool {
    let engine = Einlass(
      catalog: try ProviderCatalogTests.catalog(Self.provider), store: script.store.accountStore,
      effects: script.effects)
    return try await engine.verify(
      VerifyRequest(
        application: Sample.application, registration: ClientRegistration(clientID: "APP"),
        provider: "example", subject: .idToken(token))
    ).isValid
  }

  @Test func `Keys are fetched once a day`() async throws {
    let script = Script([Self.keys(("a", Self.old)), Self.keys(("a", Self.old))])
    let token = try Self.token("a", Self.old)
    for _ in 1...3 { #expect(try await isValid(token, script)) }
    script.advance(seconds: 86_399)
    #expect(try await isValid(token, script))
    #expect(script.log == [Self.fetch])
    script.advance(seconds: 1)
    #expect(try await isValid(token, script))
    #expect(script.log == [Self.fetch, Self.fetch])
    // Setting the clock back does not extend the cache.
    script.reply(Self.keys(("a", Self.old)))
    script.advance(seconds: -10)
    #expect(try await isValid(token, script))
    #expect(script.log.count == 3)
  }

  @Test(
    "With overlap the old keys stay valid, and without overlap they do not",
    arguments: [true, false])
  func rotation(overlaps: Bool) async throws {
    let both = Self.keys(("b", Self.new), ("a", Self.old))
    let script = Script([
      Self.keys(("a", Self.old)), overlaps ? both : Self.keys(("b", Self.new)),
    ])
    #expect(try await isValid(Self.token("a", Self.old), script))
    // The keys were just rotated, and no token has caused a fetch before.
    #expect(try await isValid(Self.token("b", Self.new), script))
    #expect(script.log == [Self.fetch, Self.fetch])
    #expect(try await isValid(Self.token("a", Self.old), script) == overlaps)
    #expect(script.log.count == 2)
  }

  @Test func `A token with an unknown key id causes at most one fetch a minute`() async throws {
    let script = Script(Array(repeating: Self.keys(("a", Self.old)), count: 3))
    let forged = try Self.token("x", Self.new)
    for _ in 1...20 { #expect(try await !isValid(forged, script)) }
    // The first fetch filled the empty cache. The other 19 checks may cause one more fetch.
    #expect(script.log.count == 2)
    script.advance(seconds: 59)
    #expect(try await !isValid(forged, script))
    #expect(script.log.count == 2)
    script.advance(seconds: 1)
    #expect(try await !isValid(forged, script))
    #expect(script.log.count == 3)
    #expect(try await isValid(Self.token("a", Self.old), script))
    #expect(script.unusedReplyCount == 0)
  }

  @Test func `A token without a key id is checked with all keys, and a rotation is noticed`()
    async throws
  {
    let script = Script([Self.keys((nil, Self.old)), Self.keys((nil, Self.new), (nil, Self.old))])
    #expect(try await isValid(Self.token(nil, Self.old), script))
    #expect(try await isValid(Self.token(nil, Self.new), script))
    #expect(try await isValid(Self.token(nil, Self.old), script))
    #expect(script.log.count == 2)
  }

  @Test(arguments: ["jwk", "jku", "x5u", "x5c"])
  func `A key, an address or a certificate in the header of a token is ignored`(name: String)
    async throws
  {
    guard case .ed25519(let x) = Self.new.publicParts else { return }
    let values: [String: JSONValue] = [
      "jwk": ["kty": "OKP", "crv": "Ed25519", "x": .string(Base64URL.encode(x)), "kid": "a"],
      "jku": "https://evil.example/keys", "x5u": "https://evil.example/chain", "x5c": ["MIIB"],
    ]
    var members = JSONObject()
    members[name] = values[name]
    let script = Script([Self.keys(("a", Self.old))])
    #expect(try await !isValid(Self.token("a", Self.new, adding: members), script))
    // Negative control: the same header with a signature of the issuer's key.
    #expect(try await isValid(Self.token("a", Self.old, adding: members), script))
    #expect(script.log == [Self.fetch])
  }

  @Test func `A failed fetch does not remove known keys`() async throws {
    let script = Script([Self.keys(("a", Self.old)), .networkFailure(-1004)])
    #expect(try await isValid(Self.token("a", Self.old), script))
    let problem = await #expect(throws: Problem.self) {
      _ = try await isValid(Self.token("b", Self.new), script)
    }
    #expect(problem?.reason == .networkFailure)
    #expect(try await isValid(Self.token("a", Self.old), script))
    // The issuer gets no further request for a minute.
    #expect(try await !isValid(Self.token("b", Self.new), script))
    #expect(script.log.count == 2)
  }
}
