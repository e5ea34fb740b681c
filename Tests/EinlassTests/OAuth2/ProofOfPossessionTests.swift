import EinlassCrypto
import EinlassJSON
import TestSupport
import Testing

@testable import Einlass

/// RFC 9449: tokens that are bound to a key, and their proofs.
@Suite struct ProofOfPossessionTests {
  private static let provider = """
    {"id":"example","name":"Example","setup":{"documentation":"https://op.example/docs"},\
    "accounts":"many","registration":["clientId"],\
    "identity":{"request":{"method":"GET","url":"https://op.example/me?","bearer":"{token}"},"id":"/id","required":["id"]},\
    "flows":[{"kind":"deviceCode","deviceAuthorization":{"method":"POST","url":"https://op.example/device"},\
    "token":{"method":"POST","url":"https://op.example/token"},"refresh":{},"dpop":true}]}
    """.replacing("/me?", with: "/me")
  private static let device = Script.Reply.json(
    #"{"device_code":"D","user_code":"U","verification_uri":"https://op.example/","expires_in":9}"#)
  private static let token = #"{"access_token":"AT","token_type":"DPoP","refresh_token":"RT"}"#
  private static let person = Script.Reply.json(#"{"id":"42"}"#)

  private static func refusal(_ nonce: String, status: Int, atResource: Bool = false)
    -> Script.Reply
  {
    var headers = [HTTPRequest.Header("dpop-nonce", nonce)]
    if atResource {
      headers.append(.init("www-authenticate", #"DPoP error="use_dpop_nonce", algs="ES256""#))
    }
    return .text(
      atResource ? "" : #"{"error":"use_dpop_nonce"}"#, status: status, headers: headers)
  }

  private func engine(_ script: Script) throws -> Einlass {
    Einlass(
      catalog: try ProviderCatalogTests.catalog(Self.provider), store: script.store.accountStore,
      effects: script.effects)
  }

  private func signIn(_ script: Script) async throws -> Account {
    try await engine(script).signIn(
      SignInRequest(
        application: Sample.application, registration: ClientRegistration(clientID: "APP"),
        provider: "example"), asking: script.asker([.deviceCode])
    ).account
  }

  /// Returns header and claims of a request's proof, verified with the key in it.
  private func proof(_ request: HTTPRequest) throws -> (header: JSONValue, claims: JSONValue) {
    let proofs = request.headers.filter { $0.name == "DPoP" }
    try #require(proofs.count == 1)
    return try Self.decoded(proofs[0].value)
  }

  private static func decoded(_ text: String) throws -> (header: JSONValue, claims: JSONValue) {
    let parts = text.split(separator: ".").map(String.init)
    let header = try JSONReader.read(try #require(Base64URL.decode(parts[0])))
    let token = try JSONWebSignature.parse(text)
    let keys = try #require(JSONWebKeySet(["keys": [header["jwk"] ?? .null]]))
    try token.verify(keys, allowed: [.es256])
    return (header, try JSONReader.read(token.payload))
  }

  private func authorization(_ request: HTTPRequest) -> String? {
    request.headers.first { $0.name == "Authorization" }?.value
  }

  private static let head =
    "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgtMzR0VjNoUklDUkRZOXpDa0RscEJoRjQyVVFVZldWQVdCRnMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2In19."

  /// RFC 9449 sections 4.1, 5 (refresh) and 7.1.
  @Test(
    "The RFC's proofs have the same members as einlass's, and verify with the key in them",
    arguments: [
      (
        "eyJqdGkiOiItQndDM0VTYzZhY2MybFRjIiwiaHRtIjoiUE9TVCIsImh0dSI6Imh0dHBzOi8vc2VydmVyLmV4YW1wbGUuY29tL3Rva2VuIiwiaWF0IjoxNTYyMjYyNjE2fQ.2-GxA6T8lP4vfrg8v-FdWP0A0zdrj8igiMLvqRMUvwnQg4PtFLbdLXiOSsX0x7NVY-FNyJK70nfbV37xRZT3Lg",
        ["jti", "htm", "htu", "iat"]
      ),
      (
        "eyJqdGkiOiItQndDM0VTYzZhY2MybFRjIiwiaHRtIjoiUE9TVCIsImh0dSI6Imh0dHBzOi8vc2VydmVyLmV4YW1wbGUuY29tL3Rva2VuIiwiaWF0IjoxNTYyMjY1Mjk2fQ.pAqut2IRDm_De6PR93SYmGBPXpwrAk90e8cP2hjiaG5QsGSuKDYW7_X620BxqhvYC8ynrrvZLTk41mSRroapUA",
        ["jti", "htm", "htu", "iat"]
      ),
      (
        "eyJqdGkiOiJlMWozVl9iS2ljOC1MQUVCIiwiaHRtIjoiR0VUIiwiaHR1IjoiaHR0cHM6Ly9yZXNvdXJjZS5leGFtcGxlLm9yZy9wcm90ZWN0ZWRyZXNvdXJjZSIsImlhdCI6MTU2MjI2MjYxOCwiYXRoIjoiZlVIeU8ycjJaM0RaNTNFc05yV0JiMHhXWG9hTnk1OUlpS0NBcWtzbVFFbyJ9.2oW9RP35yRqzhrtNP86L-Ey71EOptxRimPPToA1plemAgR6pxHF8y6-yqyVnmcw6Fy1dqd-jfxSYoMxhAJpLjA",
        ["jti", "htm", "htu", "iat", "ath"]
      ),
    ])
  func examples(rest: String, members: [String]) throws {
    let theirs = try Self.decoded(Self.head + rest)
    let isAtResource = members.count == 5
    let token = isAtResource ? "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU" : nil
    let text = ProofOfPossession().text(
      method: try #require(theirs.claims["htm"]?.string),
      address: try .parse(try #require(theirs.claims["htu"]?.string) + "?a=b"), token: token,
      nonce: nil, id: [1], now: Script.now)
    let ours = try Self.decoded(try #require(text))
    #expect(ours.claims.object?.members.map(\.name) == members)
    for name in ["htm", "htu", "ath"] { #expect(ours.claims[name] == theirs.claims[name]) }
    for name in ["typ", "alg"] { #expect(ours.header[name] == theirs.header[name]) }
    let names = { (value: JSONValue) in value["jwk"]?.object.map { Set($0.members.map(\.name)) } }
    #expect(names(ours.header) == names(theirs.header))
  }

  @Test func `Token and identity requests use one proof key, which is stored with the token`()
    async throws
  {
    let script = Script([Self.device, .json(Self.token), Self.person], answers: [.accept()])
    let account = try await signIn(script)
    #expect(!script.requests[0].headers.contains { $0.name == "DPoP" })
    let (first, second) = (try proof(script.requests[1]), try proof(script.requests[2]))
    #expect(first.header["jwk"] == second.header["jwk"])
    #expect(first.claims["htm"] == "POST" && first.claims["htu"] == "https://op.example/token")
    #expect(first.claims["ath"] == nil && first.claims["nonce"] == nil)
    #expect(second.claims["htm"] == "GET" && second.claims["htu"] == "https://op.example/me")
    #expect(second.claims["ath"] == .string(ProofOfPossession.digest(of: "AT")))
    #expect(first.claims["jti"] != second.claims["jti"])
    #expect(authorization(script.requests[2]) == "DPoP AT")
    let stored = try #require(script.store.credentials(of: account.id).first)
    guard case .oauth2(let token) = stored.credential else { return }
    #expect(token.tokenType == "DPoP" && token.proofKey != nil)
  }

  @Test func `A nonce that a server requires is used at once and remembered`()
    async throws
  {
    let script = Script(
      [
        Self.device, Self.refusal("N1", status: 400),
        .text(Self.token, headers: [.init("dpop-nonce", "N2")]),
        Self.refusal("N3", status: 401, atResource: true), Self.person,
      ], answers: [.accept()])
    _ = try await signIn(script)
    let nonces = try script.requests[1...].map { try proof($0).claims["nonce"] }
    #expect(nonces == [nil, "N1", "N2", "N3"])
    #expect(script.unusedReplyCount == 0)
  }

  @Test func `A server that requires a new nonce each time gets two requests and no more`()
    async throws
  {
    let script = Script(
      [Self.device, Self.refusal("N1", status: 400), Self.refusal("N2", status: 400)],
      answers: [.accept()])
    let problem = await #expect(throws: Problem.self) { try await signIn(script) }
    #expect(problem?.reason == .providerFailure)
    #expect(problem?.serverError?.code == "use_dpop_nonce")
    #expect(script.requests.count == 3)
  }

  @Test(
    "An invalid nonce is not sent back",
    arguments: ["", "a b", "ä", String(repeating: "n", count: 1025)])
  func oddNonce(nonce: String) async throws {
    let script = Script([Self.device, Self.refusal(nonce, status: 400)], answers: [.accept()])
    let problem = await #expect(throws: Problem.self) { try await signIn(script) }
    #expect(problem?.reason == .providerFailure && script.requests.count == 2)
  }

  @Test(
    "A token that is not bound, or is bound without a request, is refused",
    arguments: [#"{"access_token":"AT","token_type":"Bearer"}"#, #"{"access_token":"AT"}"#])
  func unbound(token: String) async throws {
    let script = Script([Self.device, .json(token)], answers: [.accept()])
    let problem = await #expect(throws: Problem.self) { try await signIn(script) }
    #expect(problem?.reason == .providerFailure && script.store.accounts.isEmpty)
    #expect(
      TokenResponse.credential(
        in: ["access_token": "AT", "token_type": "DPoP"], scopes: [], now: 0)
        == nil)
  }

  @Test func `A refresh uses the same proof key, and the handed-out token does not contain it`()
    async throws
  {
    let first = Script([Self.device, .json(Self.token), Self.person], answers: [.accept()])
    let account = try await signIn(first)
    let stored = try #require(first.store.credentials(of: account.id).first)
    let store = ScriptedStore(
      accounts: [account], grants: Sample.grants("example", .granted),
      credentials: [account.id: [stored]])
    let fresh = #"{"access_token":"AT2","token_type":"dpop"}"#
    let script = Script([Self.refusal("N", status: 400), .json(fresh)], store: store)
    let request = CredentialRequest(
      application: Sample.application,
      registration: { _ in ClientRegistration(clientID: "APP") }, account: account.id,
      forcesRefresh: true)
    let result = try await engine(script).credential(request)
    guard case .oauth2(let token)? = result.credential,
      case .oauth2(let kept)? = store.credentials(of: account.id).first?.credential
    else { return }
    #expect(
      token.accessToken == Secret("AT2") && token.tokenType == "DPoP" && token.proofKey == nil)
    #expect(kept.proofKey != nil && kept.refreshToken == Secret("RT"))
    let (one, two) = (try proof(script.requests[0]), try proof(script.requests[1]))
    #expect(one.header["jwk"] == two.header["jwk"] && two.claims["nonce"] == "N")
    #expect(try one.header["jwk"] == proof(first.requests[1]).header["jwk"])
    // The signed requests of the front end use it too.
    var asked = SignRequest(
      application: Sample.application, registration: ClientRegistration(clientID: "APP"),
      account: account.id, method: "PUT", url: "https://api.example/things?a=b", nonce: "R")
    asked.services = [Service(try ServiceAddress("https://api.example"), provider: "example")]
    let signed = try await engine(script).sign(asked)
    #expect(signed.authorization == "DPoP AT2")
    let proof = signed.fields.first { $0.name == "DPoP" }?.value
    let own = try Self.decoded(try #require(proof))
    #expect(own.header["jwk"] == two.header["jwk"])
    #expect(own.claims["htm"] == "PUT" && own.claims["htu"] == "https://api.example/things")
    #expect(own.claims["nonce"] == "R")
    #expect(own.claims["ath"] == .string(ProofOfPossession.digest(of: "AT2")))
  }
}
