import Einlass
import EinlassCrypto
import TestSupport
import Testing

/// `verify` with the requests of a provider's descriptor.
struct VerifyTests {
  static let chirpToken = Credential.oauth1(
    OAuth1Credential(token: Secret("USER-TOKEN"), tokenSecret: Secret("USER-SECRET")))
  static let graphToken = Credential.oauth2(OAuth2Credential(accessToken: Secret("EAABtesttoken")))

  func verify(
    _ script: Script, _ provider: String, _ subject: VerifyRequest.Subject? = nil,
    expecting expected: VerifyRequest.Expectation = .init(),
    registration: ClientRegistration? = Sample.registration
  ) async throws -> Verification {
    let request = VerifyRequest(
      application: Sample.application, registration: registration, provider: provider,
      subject: subject
        ?? .credential(provider == "twitter" ? Self.chirpToken : Self.graphToken),
      expected: expected)
    return try await Sample.engine(script).verify(request)
  }

  /// The checks as short texts: `active ok`, `application no`.
  func words(_ verification: Verification) -> [String] {
    verification.checks.map { "\($0.check.rawValue) \($0.isOK ? "ok" : "no")" }
  }

  func info(_ change: (String) -> String = { $0 }) -> Script.Reply {
    .json(
      change(
        #"{"data":{"app_id":"APP","is_valid":true,"expires_at":1500000100,"user_id":"42","scopes":["email","a"]}}"#
      ))
  }

  @Test("A signed identity request answers all checks of an OAuth 1.0a token")
  func signedIdentity() async throws {
    let script = Script([.json(Sample.chirpIdentity)])
    let result = try await verify(script, "twitter", expecting: .init(id: "7"))
    #expect(words(result) == ["active ok", "application ok", "identity ok"])
    #expect(result.isValid)
    #expect(result.clientID == "APP")
    #expect(result.identity?.username == "ada")
    let header = try #require(script.requests[0].headers.first { $0.name == "Authorization" })
    let fields = try #require(AuthorizationHeader.parse(header.value))
    #expect(fields.contains(Parameter("oauth_consumer_key", "APP")))
    #expect(fields.contains(Parameter("oauth_token", "USER-TOKEN")))
  }

  @Test(
    "An invalid OAuth 1.0a token is a result",
    arguments: [(32, 401), (89, 401), (64, 403), (326, 403), (215, 400), (220, 403), (99, 403)])
  func refusedToken(code: Int, status: Int) async throws {
    let script = Script([Sample.chirpError(code, status: status)])
    let result = try await verify(script, "twitter")
    #expect(words(result) == ["active no"])
    #expect(!result.isValid)
    #expect(result.checks[0].detail == "Because.")
    #expect(result.identity == nil)
  }

  @Test(
    "Network failures, busy providers, clock errors and invalid answers are errors",
    arguments: [
      (Script.Reply.networkFailure(-1001), Problem.Reason.networkFailure),
      (Sample.chirpError(88, status: 429), .throttled),
      (Sample.chirpError(131, status: 500), .providerFailure),
      (Sample.chirpError(135, status: 401), .providerFailure), (.text("<html>"), .providerFailure),
      (.text("<html>", status: 502), .providerFailure),
      (Sample.chirpError(34, status: 404), .providerFailure),
    ])
  func errors(reply: Script.Reply, reason: Problem.Reason) async throws {
    let problem = await #expect(throws: Problem.self) {
      try await verify(Script([reply]), "twitter")
    }
    #expect(problem?.reason == reason)
  }

  @Test("A token is inspected first, and then its person's identity is requested")
  func tokenInfo() async throws {
    let script = Script([info(), .json(Sample.graphIdentity)])
    let result = try await verify(
      script, "facebook", expecting: .init(id: "42", clientID: "APP", scopes: ["email"]),
      registration: ClientRegistration(
        clientID: "APP", clientSecret: Secret("0123456789abcdef0123456789abcdef")))
    #expect(
      words(result) == ["active ok", "application ok", "expiry ok", "identity ok", "scopes ok"])
    #expect(result.isValid)
    #expect(result.expiresAt == 1_500_000_100)
    #expect(result.scopes == ["email", "a"])
    #expect(result.identity?.name == "Ada Lovelace")
    #expect(
      script.log == [
        "GET https://graph.facebook.com/debug_token?input_token=EAABtesttoken",
        """
        GET https://graph.facebook.com/v26.0/me?fields=id%2Cname%2Cemail\
        &appsecret_proof=90ebdaa6e59538ed6730bcc524b5c57ccbc60d33908688f9fc219e9d6eeee808
        """,
      ])
    let bearers = script.requests.map { request in
      request.headers.first { $0.name == "Authorization" }?.value
    }
    #expect(
      bearers == ["Bearer APP|0123456789abcdef0123456789abcdef", "Bearer EAABtesttoken"])
  }

  @Test(
    "The appsecret_proof of a token has its published value",
    arguments: [
      (
        "foo_token", "shhhhh!is.my.secret",
        "796ba0d8a6b339e476a7b166a9e8ac0a395f7de736dc37de5f2f4397f5854eb8"
      ),
      (
        "EAABtesttoken", "0123456789abcdef0123456789abcdef",
        "90ebdaa6e59538ed6730bcc524b5c57ccbc60d33908688f9fc219e9d6eeee808"
      ),
    ])
  func proof(token: String, secret: String, proof: String) async throws {
    let script = Script([info(), .json(Sample.graphIdentity)])
    _ = try await verify(
      script, "facebook",
      .credential(.oauth2(OAuth2Credential(accessToken: Secret(token)))),
      registration: ClientRegistration(clientID: "APP", clientSecret: Secret(secret)))
    #expect(script.requests[1].address.query?.hasSuffix("&appsecret_proof=\(proof)") == true)
  }

  @Test(
    "After some failed checks no further check is made",
    arguments: [
      ("\"is_valid\":true", "\"is_valid\":false", ["active no"]),
      ("APP", "OTHER", ["active ok", "application no", "expiry ok"]),
      ("\"app_id\":\"APP\",", "", ["active ok", "application no", "expiry ok"]),
      ("1500000100", "1500000000", ["active ok", "application ok", "expiry no"]),
      ("1500000100", "0", ["active ok", "application ok", "expiry ok", "identity ok"]),
      ("\"42\"", "\"43\"", ["active ok", "application ok", "expiry ok", "identity no"]),
    ])
  func failingChecks(part: String, replacement: String, expected: [String]) async throws {
    let script = Script([
      info { $0.replacing(part, with: replacement) }, .json(Sample.graphIdentity),
    ])
    let result = try await verify(script, "facebook")
    #expect(words(result) == expected)
    #expect(result.isValid == expected.allSatisfy { $0.hasSuffix("ok") })
    #expect(result.checks.allSatisfy { $0.isOK == ($0.detail == nil) })
    #expect(script.requests.count == (expected.count == 4 ? 2 : 1))
  }

  @Test("Expectations that do not hold are named")
  func expectations() async throws {
    for (expected, words) in [
      (VerifyRequest.Expectation(id: "43"), ["identity no"]),
      (.init(scopes: ["email", "b"]), ["identity ok", "scopes no"]),
      (.init(scopes: []), ["identity ok", "scopes ok"]),
      (.init(nonce: "n"), ["identity ok", "nonce no"]),
    ] {
      let script = Script([info(), .json(Sample.graphIdentity)])
      let result = try await verify(script, "facebook", expecting: expected)
      #expect(self.words(result) == ["active ok", "application ok", "expiry ok"] + words)
    }
    let other = try await verify(
      Script([.json(Sample.chirpIdentity)]), "twitter", expecting: .init(clientID: "OTHER"))
    #expect(words(other) == ["active ok", "application no"])
    let scopes = try await verify(
      Script([.json(Sample.chirpIdentity)]), "twitter", expecting: .init(scopes: ["x"]))
    #expect(words(scopes) == ["active ok", "application ok", "identity ok", "scopes no"])
  }

  @Test func `An expected scope can be a name of the provider's scopeNames`() async throws {
    let descriptor = """
      {"id":"example","name":"Example","setup":{"documentation":"https://op.example/docs"},\
      "accounts":"many","registration":["clientId"],"scopeNames":{"mail":["https://op.example/mail"]},\
      "flows":[{"kind":"deviceCode","deviceAuthorization":{"method":"POST","url":"https://op.example/device"},\
      "token":{"method":"POST","url":"https://op.example/token"}}],\
      "verify":{"recipe":"introspection","request":{"method":"POST","url":"https://op.example/check"}}}
      """
    for (scope, word) in [("https://op.example/mail", "scopes ok"), ("mail", "scopes no")] {
      let script = Script([.json(#"{"active":true,"client_id":"APP","scope":"\#(scope)"}"#)])
      let engine = Einlass(
        catalog: try ProviderCatalogTests.catalog(descriptor), store: script.store.accountStore,
        effects: script.effects)
      let result = try await engine.verify(
        VerifyRequest(
          application: Sample.application, registration: Sample.registration, provider: "example",
          subject: .credential(Self.graphToken), expected: .init(scopes: ["mail"])))
      #expect(words(result).last == word)
    }
  }

  @Test("The provider's reason for an inactive token is shown")
  func inactive() async throws {
    let script = Script([
      .json(
        #"{"data":{"is_valid":false,"error":{"code":190,"message":"Session has\nexpired"}}}"#)
    ])
    let result = try await verify(script, "facebook")
    #expect(result.checks == [.init(.active, isOK: false, detail: "Session hasexpired")])
  }

  @Test("A secret in a provider's answer appears nowhere in the result")
  func reflectedSecrets() async throws {
    func leaks(_ result: Verification) -> Bool {
      "\(result)".contains("EAABtesttoken") || "\(result)".contains("USER-SECRET")
    }
    let info =
      #"{"data":{"app_id":"APP","is_valid":true,"user_id":"42","scopes":["EAABtesttoken"]}}"#
    let identity = #"{"id":"42","name":"N EAABtesttoken","email":"EAABtesttoken@example.org"}"#
    let graph = try await verify(Script([.json(info), .json(identity)]), "facebook")
    #expect(graph.isValid && graph.identity?.name == "N …" && graph.scopes == ["…"])
    #expect(!leaks(graph))
    let foreign = try await verify(
      Script([.json(info.replacing("APP", with: "EAABtesttoken"))]), "facebook")
    #expect(words(foreign) == ["active ok", "application no", "expiry ok"] && !leaks(foreign))
    let inactive = #"{"data":{"is_valid":false,"error":{"code":1,"message":"No EAABtesttoken"}}}"#
    let refused = try await verify(Script([.json(inactive)]), "facebook")
    #expect(refused.checks[0].detail == "No …")

    let picture = Sample.chirpIdentity.replacing("/1/", with: "/USER-SECRET/")
    let chirp = try await verify(Script([.json(picture)]), "twitter")
    #expect(chirp.isValid && chirp.identity?.avatar == nil && !leaks(chirp))
    // An identity with a secret as its id is refused.
    let id = Sample.chirpIdentity.replacing("\"7\"", with: "\"USER-SECRET\"")
    let problem = await #expect(throws: Problem.self) {
      try await verify(Script([.json(id)]), "twitter")
    }
    #expect(problem?.reason == .providerFailure)
    // Negative control: other values stay.
    let honest = try await verify(Script([.json(Sample.chirpIdentity)]), "twitter")
    #expect(honest.identity?.avatar != nil && honest.identity?.id == "7")
  }

  @Test("A token that the identity request refuses is a result")
  func refusedIdentity() async throws {
    let script = Script([info(), Sample.graphError(190, 463)])
    let result = try await verify(script, "facebook")
    #expect(words(result) == ["active ok", "application ok", "expiry ok", "identity no"])
  }

  @Test(
    "An invalid answer about a token is an error",
    arguments: [
      "{}", #"{"data":{}}"#, #"{"data":{"is_valid":"yes"}}"#, "<html>",
      #"{"error":{"code":190,"type":"OAuthException","message":"Invalid application token."}}"#,
    ])
  func nonsense(body: String) async throws {
    let problem = await #expect(throws: Problem.self) {
      try await verify(
        Script([.text(body, status: body.contains("error") ? 400 : 200)]), "facebook")
    }
    #expect(problem?.reason == .providerFailure)
  }

  @Test(
    "A provider that needs the client secret reports that it is missing",
    arguments: ["twitter", "facebook"])
  func missingSecret(provider: String) async throws {
    let script = Script([.json(Sample.graphIdentity)])
    let problem = await #expect(throws: Problem.self) {
      try await verify(script, provider, registration: ClientRegistration(clientID: "APP"))
    }
    #expect(problem?.reason == .authenticatorUnconfigured)
    #expect(problem?.detail == "clientSecret")
  }

  @Test(
    "Without the secret for the check, the store vouches for a token that einlass got itself, and for no added one",
    arguments: [["APP", "SYSFB"], ["APP"]])
  func vouchingStore(clients: [String]) async throws {
    let script = Script(
      [.json(Sample.graphIdentity)], store: Sample.graphStore(issuedTo: clients))
    let account = VerifyRequest.Subject.account(Account.ID(rawValue: "a_ada@example.org"))
    let registration = ClientRegistration(clientID: "APP")
    if clients.count > 1 {
      let result = try await verify(script, "facebook", account, registration: registration)
      #expect(words(result) == ["active ok", "application ok", "identity ok"])
    } else {
      let problem = await #expect(throws: Problem.self) {
        try await verify(script, "facebook", account, registration: registration)
      }
      #expect(problem?.reason == .authenticatorUnconfigured && problem?.detail == "clientSecret")
    }
    #expect(script.log == ["GET https://graph.facebook.com/v26.0/me?fields=id%2Cname%2Cemail"])
  }

  @Test("A token of another flow of the provider is verified with that flow's requests")
  func otherFlow() async throws {
    let script = Script([
      .json(#"{"data":{"id":"7","name":"Ada","username":"ada"}}"#)
    ])
    let problem = await #expect(throws: Problem.self) {
      try await verify(script, "twitter", .credential(Self.graphToken))
    }
    #expect(problem?.reason == .flowNotSupported && problem?.detail == "applicationUnknown")
    #expect(problem?.identity?.username == "ada")
    #expect(script.requests[0].address.host == "api.x.com")
  }

  @Test("A token with a control character is an invalid parameter", arguments: ["a\nb", "a\0b"])
  func controlCharacter(token: String) async throws {
    let subject = VerifyRequest.Subject.credential(
      .oauth2(OAuth2Credential(accessToken: Secret(token))))
    let problem = await #expect(throws: Problem.self) {
      try await verify(Script([]), "facebook", subject)
    }
    #expect(problem?.reason == .invalidParameter && problem?.path == "/credential/token")
  }

  @Test("A credential of the wrong type is an invalid parameter")
  func wrongType() async throws {
    let problem = await #expect(throws: Problem.self) {
      try await verify(Script(), "facebook", .credential(Self.chirpToken))
    }
    #expect(problem?.reason == .invalidParameter)
    #expect(problem?.path == "/credential/type")
  }

  @Test(
    "The application's stored token is verified only while access is granted",
    arguments: [
      (AccessGrant.State.granted, "ada@example.org", ["APP", "SYS"], Problem.Reason?.none),
      (.granted, "ada@example.org", ["SYSFB"], .notIssuedToThisClient),
      (.granted, "ada@example.org", [], .reloginNeeded),
      (.granted, "eve", ["APP"], .unknownAccount),
      (.denied, "ada@example.org", ["APP"], .accessNotGranted),
      (nil, "ada@example.org", ["APP"], .accessNotGranted),
    ] as [(AccessGrant.State?, String, [String], Problem.Reason?)])
  func stored(
    grant: AccessGrant.State?, name: String, clients: [String], reason: Problem.Reason?
  ) async throws {
    let script = Script(
      [info(), .json(Sample.graphIdentity)],
      store: Sample.graphStore(grant: grant, issuedTo: clients))
    let account = VerifyRequest.Subject.account(Account.ID(rawValue: "a_\(name)"))
    guard let reason else {
      #expect(try await verify(script, "facebook", account).isValid)
      #expect(script.log[0].hasSuffix("input_token=TOKEN-APP"))
      return
    }
    let problem = await #expect(throws: Problem.self) {
      try await verify(script, "facebook", account)
    }
    #expect(problem?.reason == reason)
    #expect(script.log.isEmpty)
  }
}
