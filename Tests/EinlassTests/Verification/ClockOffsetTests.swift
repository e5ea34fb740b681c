import EinlassCrypto
import EinlassJSON
import TestSupport
import Testing

@testable import Einlass

/// The offset of a server's clock is learned from its answers and corrected up to ten minutes.
@Suite struct ClockOffsetTests {
  /// Returns the Date header of a server this many seconds ahead of the script's clock, Fri, 14 Jul
  /// 2017 02:40:00 GMT.
  private static func date(_ ahead: Int64) -> HTTPRequest.Header {
    let time = 2 * 3600 + 40 * 60 + ahead
    func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return .init(
      "date", "Fri, 14 Jul 2017 \(two(time / 3600)):\(two(time / 60 % 60)):\(two(time % 60)) GMT")
  }

  private static let place = WebAddress(scheme: .https, host: "op.example", path: "/x")

  @Test(
    "An offset of ten minutes is corrected, and a larger one is not",
    arguments: [
      (0, 0, nil), (600, 600, nil), (-600, -600, nil), (601, 0, "10 minutes behind"),
      (-601, 0, "10 minutes ahead of"), (7199, 0, "119 minutes behind"),
      (-7200, 0, "2 hours ahead of"), (50_000, 0, "13 hours behind"),
    ] as [(Int64, Int64, String?)])
  func offsets(ahead: Int64, used: Int64, error: String?) {
    let effects = Script().effects
    effects.noteClock(
      of: HTTPResponse(status: 200, headers: [Self.date(ahead)]), from: Self.place)
    #expect(effects.now(at: Self.place) == Script.now + used)
    #expect(effects.clockError(at: Self.place) == error)
    let other = WebAddress(scheme: .https, host: "other.example", path: "/x")
    #expect(effects.now(at: other) == Script.now && effects.clockError(at: other) == nil)
  }

  @Test(
    "An invalid Date header is ignored",
    arguments: ["", "now", "Fri, 14 Jul 2017 02:40:00 CET", "1500000000"])
  func noDate(value: String) {
    let effects = Script().effects
    let response = HTTPResponse(status: 200, headers: [.init("date", value)])
    effects.noteClock(of: response, from: Self.place)
    // A cached answer is ignored as well.
    let kept = HTTPResponse(status: 200, headers: [Self.date(-300), .init("age", "300")])
    effects.noteClock(of: kept, from: Self.place)
    #expect(effects.memory.clockOffsets.read(Self.place.origin) == nil)
  }

  private static let provider = """
    {"id":"example","name":"Example","setup":{"documentation":"https://op.example/docs"},\
    "accounts":"many","registration":["clientId","clientSecret"],\
    "flows":[{"kind":"oauth1","signature":"HMAC-SHA1","requestToken":{"method":"POST","url":"https://op.example/request"},\
    "authorize":{"method":"GET","url":"https://op.example/authorize"},\
    "accessToken":{"method":"POST","url":"https://op.example/access"}}],\
    "errors":{"shapes":[{"codeField":"oauth_problem"}],"rules":[]}}
    """

  private func problem(_ script: Script) async throws -> Problem {
    let engine = Einlass(
      catalog: try ProviderCatalogTests.catalog(Self.provider), store: script.store.accountStore,
      effects: script.effects)
    let problem = await #expect(throws: Problem.self) {
      try await engine.signIn(
        SignInRequest(
          application: Sample.application, registration: Sample.registration, provider: "example"),
        asking: script.asker([.openURL]))
    }
    return try #require(problem)
  }

  private func timestamp(_ request: HTTPRequest) throws -> String? {
    let value = try #require(request.headers.first { $0.name == "Authorization" }?.value)
    return AuthorizationHeader.parse(value)?.first { $0.name == "oauth_timestamp" }?.value
  }

  @Test func `After a refused timestamp the next request uses the server's time`() async throws {
    let refusal = Script.Reply.text(
      "oauth_problem=timestamp_refused", status: 401, headers: [Self.date(400)])
    let script = Script([refusal, refusal])
    #expect(try await problem(script).advice == nil)
    _ = try await problem(script)
    #expect(try timestamp(script.requests[0]) == "\(Script.now)")
    #expect(try timestamp(script.requests[1]) == "\(Script.now + 400)")
  }

  @Test func `For a larger offset the error says by how much the clock is wrong`() async throws {
    let script = Script([
      .text("oauth_problem=timestamp_refused", status: 401, headers: [Self.date(3 * 3600)])
    ])
    let problem = try await problem(script)
    #expect(problem.advice == .checkClock)
    #expect(problem.message.contains("This machine's clock is 3 hours behind Example's."))
  }

  @Test func `An id_token is checked by its issuer's clock`() async throws {
    let key = PrivateKey.generate(.ed25519)
    guard case .ed25519(let x) = key.publicParts else { return }
    let keys: JSONValue = [
      "keys": [["kty": "OKP", "crv": "Ed25519", "x": .string(Base64URL.encode(x))]]
    ]
    let provider = """
      {"id":"example","name":"Example","setup":{"documentation":"https://op.example/docs"},\
      "accounts":"many","registration":["clientId"],"flows":[{"kind":"deviceCode",\
      "deviceAuthorization":{"method":"POST","url":"https://op.example/device"},\
      "token":{"method":"POST","url":"https://op.example/token"},"issuer":"https://op.example",\
      "keySet":"https://op.example/keys","algorithms":["EdDSA"]}]}
      """
    for (ahead, isValid) in [(-500, true), (500, false), (0, false)] as [(Int64, Bool)] {
      let claims: JSONObject = [
        "iss": "https://op.example", "sub": "42", "aud": "APP",
        "iat": JSONValue(Script.now - 900), "exp": JSONValue(Script.now - 300),
      ]
      let token = try #require(TokenSigner(key)?.token(claims: claims))
      let reply = Script.Reply.text(
        String(decoding: keys.bytes(), as: UTF8.self), headers: [Self.date(ahead)])
      let script = Script([reply])
      let engine = Einlass(
        catalog: try ProviderCatalogTests.catalog(provider), store: script.store.accountStore,
        effects: script.effects)
      let result = try await engine.verify(
        VerifyRequest(
          application: Sample.application, registration: ClientRegistration(clientID: "APP"),
          provider: "example", subject: .idToken(Secret(token))))
      #expect(result.isValid == isValid)
    }
  }
}
