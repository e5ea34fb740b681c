import EinlassCrypto
import EinlassJSON
import TestSupport
import Testing

@testable import Einlass

/// An issuer's keys are kept for a day, and asked for again when a token fits none of them. C-74, T-91.
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
    _ id: String?, _ key: PrivateKey, issuedAt: UnixTime = Script.now
  ) throws -> Secret {
    let claims: JSONObject = [
      "iss": "https://op.example", "sub": "42", "aud": "APP", "iat": JSONValue(issuedAt),
      "exp": JSONValue(issuedAt + 1_000_000),
    ]
    let signer = try #require(TokenSigner(key))
    let header = JSONObject(present: ["kid": id.map(JSONValue.string)])
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

  @Test func `keys are asked for once a day`() async throws {
    let script = Script([Self.keys(("a", Self.old)), Self.keys(("a", Self.old))])
    let token = try Self.token("a", Self.old)
    for _ in 1...3 { #expect(try await isValid(token, script)) }
    script.advance(seconds: 86_399)
    #expect(try await isValid(token, script))
    #expect(script.log == [Self.fetch])
    script.advance(seconds: 1)
    #expect(try await isValid(token, script))
    #expect(script.log == [Self.fetch, Self.fetch])
    // A clock that was set back does not make them younger.
    script.reply(Self.keys(("a", Self.old)))
    script.advance(seconds: -10)
    #expect(try await isValid(token, script))
    #expect(script.log.count == 3)
  }

  @Test(
    "with overlap the old keys go on being good; without it they are gone",
    arguments: [true, false])
  func rotation(overlaps: Bool) async throws {
    let both = Self.keys(("b", Self.new), ("a", Self.old))
    let script = Script([
      Self.keys(("a", Self.old)), overlaps ? both : Self.keys(("b", Self.new)),
    ])
    #expect(try await isValid(Self.token("a", Self.old), script))
    // Just rotated: nobody had asked again because of a token before.
    #expect(try await isValid(Self.token("b", Self.new), script))
    #expect(script.log == [Self.fetch, Self.fetch])
    #expect(try await isValid(Self.token("a", Self.old), script) == overlaps)
    #expect(script.log.count == 2)
  }

  @Test func `a token with an unknown key asks the issuer at most once a minute`() async throws {
    let script = Script(Array(repeating: Self.keys(("a", Self.old)), count: 3))
    let forged = try Self.token("x", Self.new)
    for _ in 1...20 { #expect(try await !isValid(forged, script)) }
    // The first fetch found none; the next 19 may ask once more.
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

  @Test func `a token without the name of a key is tried by all, and rotation is noticed`()
    async throws
  {
    let script = Script([Self.keys((nil, Self.old)), Self.keys((nil, Self.new), (nil, Self.old))])
    #expect(try await isValid(Self.token(nil, Self.old), script))
    #expect(try await isValid(Self.token(nil, Self.new), script))
    #expect(try await isValid(Self.token(nil, Self.old), script))
    #expect(script.log.count == 2)
  }

  @Test func `an issuer that does not answer takes no known key away`() async throws {
    let script = Script([Self.keys(("a", Self.old)), .networkFailure(-1004)])
    #expect(try await isValid(Self.token("a", Self.old), script))
    let problem = await #expect(throws: Problem.self) {
      _ = try await isValid(Self.token("b", Self.new), script)
    }
    #expect(problem?.reason == .networkFailure)
    #expect(try await isValid(Self.token("a", Self.old), script))
    // And it is left alone for a minute.
    #expect(try await !isValid(Self.token("b", Self.new), script))
    #expect(script.log.count == 2)
  }
}
