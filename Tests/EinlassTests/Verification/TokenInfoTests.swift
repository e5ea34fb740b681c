import Einlass
import EinlassCrypto
import TestSupport
import Testing

/// The recipes of the catalogue that name a token's application, with the answers of the providers'
/// documentation.
struct TokenInfoTests {
  /// A provider's check of a token, and its identity request.
  struct Recipe: Sendable, CustomTestStringConvertible {
    var provider: String
    /// The method and the address of the check.
    var request: String
    /// The `Authorization` header and the body of the check.
    var authorization: String?
    var body = ""
    /// The answer about a token of the application `APP`.
    var answer: String
    var identity: String
    /// The answer about another token.
    var refusal: Script.Reply
    var scopes: [String]?
    var expiresIn: Int64?

    var testDescription: String { provider }
  }

  static let recipes = [
    Recipe(
      provider: "github", request: "POST https://api.github.com/applications/APP/token",
      authorization: "Basic QVBQOkFQUC1TRUNSRVQ=", body: #"{"access_token":"AT"}"#,
      answer:
        #"{"id":1,"scopes":["repo","user"],"token":"AT","app":{"name":"a","client_id":"APP"},"expires_at":null,"user":{"login":"ada","id":7}}"#,
      identity: #"{"id":7,"login":"ada","email":"ada@example.org"}"#,
      refusal: .json(#"{"message":"Not Found"}"#, status: 404), scopes: ["repo", "user"]),
    Recipe(
      provider: "gitlab", request: "GET https://gitlab.com/oauth/token/info",
      authorization: "Bearer AT",
      answer:
        #"{"resource_owner_id":7,"scope":["read_user"],"expires_in":7200,"application":{"uid":"APP"},"created_at":1499999000}"#,
      identity: #"{"id":7,"username":"ada","name":"Ada"}"#,
      refusal: .json(
        #"{"error":"invalid_token","error_description":"The access token is invalid","state":"unauthorized"}"#,
        status: 401), scopes: ["read_user"], expiresIn: 7200),
    Recipe(
      provider: "discord", request: "GET https://discord.com/api/oauth2/@me",
      authorization: "Bearer AT",
      answer:
        #"{"application":{"id":"APP","name":"a"},"scopes":["identify"],"expires":"2021-01-23T02:33:17.017000+00:00","user":{"id":"7","username":"ada"}}"#,
      identity: #"{"id":"7","username":"ada","global_name":"Ada"}"#,
      refusal: .json(#"{"message":"401: Unauthorized","code":0}"#, status: 401),
      scopes: ["identify"]),
    Recipe(
      provider: "twitch", request: "GET https://id.twitch.tv/oauth2/validate",
      authorization: "OAuth AT",
      answer:
        #"{"client_id":"APP","login":"ada","scopes":["user:read:email"],"user_id":"7","expires_in":5520838}"#,
      identity: #"{"data":[{"id":"7","login":"ada","display_name":"Ada"}]}"#,
      refusal: .json(#"{"status":401,"message":"invalid access token"}"#, status: 401),
      scopes: ["user:read:email"], expiresIn: 5_520_838),
    Recipe(
      provider: "google", request: "POST https://oauth2.googleapis.com/tokeninfo",
      authorization: "Bearer AT",
      answer:
        #"{"azp":"APP","aud":"APP","sub":"7","scope":"openid email","expires_in":"3488"}"#,
      identity: #"{"sub":"7","name":"Ada"}"#,
      refusal: .json(
        #"{"error":"invalid_token","error_description":"Invalid Value"}"#, status: 400),
      scopes: ["openid", "email"], expiresIn: 3488),
    Recipe(
      provider: "linkedin", request: "POST https://www.linkedin.com/oauth/v2/introspectToken",
      body: "client_id=APP&client_secret=APP-SECRET&token=AT",
      answer:
        #"{"active":true,"client_id":"APP","status":"active","expires_at":1500000100,"scope":"openid,email","auth_type":"3L"}"#,
      identity: #"{"sub":"7","name":"Ada"}"#, refusal: .json(#"{"active":false}"#),
      scopes: ["openid", "email"], expiresIn: 100),
    Recipe(
      provider: "gitea", request: "POST https://gitea.com/login/oauth/introspect",
      authorization: "Basic QVBQOkFQUC1TRUNSRVQ=", body: "token=AT",
      answer: #"{"active":true,"scope":"openid","username":"ada","sub":"7","aud":["APP"]}"#,
      identity: #"{"sub":"7","preferred_username":"ada"}"#, refusal: .json(#"{"active":false}"#),
      scopes: ["openid"]),
    Recipe(
      provider: "sina-weibo", request: "POST https://api.weibo.com/oauth2/get_token_info",
      body: "access_token=AT",
      answer: #"{"uid":7,"appkey":"APP","scope":null,"create_at":1499999000,"expire_in":100}"#,
      identity: #"{"idstr":"7","name":"Ada","screen_name":"ada"}"#,
      refusal: .json(#"{"error":"expired_token","error_code":21327}"#, status: 403),
      expiresIn: 100),
  ]

  private func verify(
    _ script: Script, _ recipe: Recipe, as clientID: String = "APP",
    expecting expected: VerifyRequest.Expectation = .init()
  ) async throws -> Verification {
    try await Sample.engine(script).verify(
      VerifyRequest(
        application: Sample.application,
        registration: ClientRegistration(clientID: clientID, clientSecret: Secret("APP-SECRET")),
        provider: recipe.provider,
        subject: .credential(.oauth2(OAuth2Credential(accessToken: Secret("AT")))),
        expected: expected))
  }

  private func words(_ verification: Verification) -> [String] {
    verification.checks.map { "\($0.check.rawValue) \($0.isOK ? "ok" : "no")" }
  }

  @Test("The application's own token is valid", arguments: recipes)
  func own(recipe: Recipe) async throws {
    let script = Script([.json(recipe.answer), .json(recipe.identity)])
    let result = try await verify(script, recipe, expecting: .init(id: "7"))
    #expect(words(result) == ["active ok", "application ok", "expiry ok", "identity ok"])
    #expect(result.isValid && result.clientID == "APP" && result.scopes == recipe.scopes)
    #expect(result.expiresAt == recipe.expiresIn.map { Script.now + $0 })
    #expect(script.log[0] == recipe.request)
    let sent = script.requests[0]
    #expect(sent.headers.first { $0.name == "Authorization" }?.value == recipe.authorization)
    #expect(String(decoding: sent.body, as: UTF8.self) == recipe.body)
  }

  @Test(
    "A token of another application is not valid, and its person is not asked", arguments: recipes)
  func foreign(recipe: Recipe) async throws {
    let script = Script([.json(recipe.answer.replacing(#""APP""#, with: #""OTHER""#))])
    let result = try await verify(script, recipe)
    #expect(words(result) == ["active ok", "application no", "expiry ok"])
    #expect(!result.isValid && result.clientID == "OTHER" && result.identity == nil)
  }

  @Test("A token that the provider does not know is a result", arguments: recipes)
  func unknown(recipe: Recipe) async throws {
    let result = try await verify(Script([recipe.refusal]), recipe)
    #expect(words(result) == ["active no"] && result.checks[0].detail != nil)
  }

  @Test(
    "A token of another person is not valid",
    arguments: recipes.filter { $0.provider != "linkedin" })
  func otherPerson(recipe: Recipe) async throws {
    let other = recipe.identity.replacing("7", with: "8")
    let result = try await verify(Script([.json(recipe.answer), .json(other)]), recipe)
    #expect(words(result) == ["active ok", "application ok", "expiry ok", "identity no"])
  }

  @Test("An answer without the facts, and a busy provider, are errors", arguments: recipes)
  func nonsense(recipe: Recipe) async throws {
    for reply in [
      Script.Reply.json("{}"), .text("<html>"), .text("", status: 503), .networkFailure(-1001),
    ] {
      await #expect(throws: Problem.self) { try await verify(Script([reply]), recipe) }
    }
  }

  @Test(
    "A check that refuses the application's secret is an error of the configuration",
    arguments: recipes.filter { ["github", "gitea"].contains($0.provider) })
  func wrongSecret(recipe: Recipe) async throws {
    let problem = await #expect(throws: Problem.self) {
      try await verify(Script([.text("no valid authorization", status: 401)]), recipe)
    }
    #expect(problem?.reason == .authenticatorUnconfigured)
  }

  @Test func `A whole number names an application too`() async throws {
    let recipe = try #require(Self.recipes.last)
    let script = Script([
      .json(recipe.answer.replacing(#""APP""#, with: "1352222456")), .json(recipe.identity),
    ])
    #expect(try await verify(script, recipe, as: "1352222456").isValid)
  }
}
