import EinlassCrypto
import EinlassJSON
import TestSupport
import Testing

@testable import Einlass

/// Providers that deviate from a standard flow, with settings of their descriptors.
@Suite struct ProviderDeviationTests {
  private static func provider(_ flow: String, _ more: String = "") -> String {
    """
    {"id":"example","name":"Example","setup":{"documentation":"https://op.example/docs"},\
    "accounts":"many","registration":["clientId"],"flows":[\(flow)]\(more)}
    """
  }

  private static let device = provider(
    """
    {"kind":"deviceCode","deviceAuthorization":{"method":"POST","url":"https://op.example/login",\
    "form":{"access_token":"{clientId}|{clientSecret}"}},\
    "device":{"code":"/code","page":"/go","wholePage":"/went"},\
    "question":{"method":"POST","url":"https://op.example/status",\
    "form":{"code":"{deviceCode}","user":"{userCode}"}},\
    "token":{"method":"POST","url":"https://op.example/token"},\
    "clientAuthentication":"client_secret_post","scopes":["a","b"]}
    """,
    """
    ,"errors":{"shapes":[{"code":"/error/code","subcode":"/error/sub"}],"rules":[\
    {"step":"deviceToken","subcodes":[1],"outcome":"pending"},\
    {"step":"deviceToken","subcodes":[2],"outcome":"slowDown"},\
    {"step":"deviceToken","codes":["no"],"outcome":"denied"},\
    {"step":"deviceToken","status":410,"outcome":"expired"}]}
    """)

  private static let identified = provider(
    """
    {"kind":"deviceCode","deviceAuthorization":{"method":"POST","url":"https://op.example/login"},\
    "token":{"method":"POST","url":"https://op.example/token"}}
    """,
    """
    ,"identity":{"request":{"method":"GET","url":"https://op.example/me","bearer":"{token}"},\
    "id":"/id","email":"/email","emails":{"request":{"method":"GET","url":"https://op.example/emails",\
    "bearer":"{token}"},"list":"/values","email":"/mail","primary":"/first","confirmed":"/sure"},\
    "required":["id"]},\
    "revoke":{"method":"DELETE","url":"https://op.example","path":"/apps/{clientId}/token",\
    "json":{"access_token":"{token}"},"basic":"{clientId}:{clientSecret}"}
    """)

  private static let token = Script.Reply.json(#"{"access_token":"AT","token_type":"bearer"}"#)
  private static let codes = Script.Reply.json(
    #"{"device_code":"DC","user_code":"UC","verification_uri":"https://op.example/go","expires_in":600}"#
  )

  private func engine(_ script: Script, _ provider: String) throws -> Einlass {
    Einlass(
      catalog: try ProviderCatalogTests.catalog(provider), store: script.store.accountStore,
      effects: script.effects)
  }

  private func signIn(_ script: Script, _ provider: String) async throws -> Account {
    try await engine(script, provider).signIn(
      SignInRequest(
        application: Sample.application,
        registration: ClientRegistration(clientID: "A PP", clientSecret: Secret("S")),
        provider: "example"), asking: script.asker([.deviceCode])
    ).account
  }

  private static func refusal(_ text: String, status: Int = 400) -> Script.Reply {
    .json(#"{"error":\#(text)}"#, status: status)
  }

  private static let loginAnswer = Script.Reply.json(
    #"{"code":"DC","user_code":"UC","go":"https://op.example/go","went":"https://op.example/went","expires_in":"x"}"#
      .replacing("\"x\"", with: "600"))

  @Test func `The members of a device flow's requests and answers can have other names`()
    async throws
  {
    let script = Script(
      [
        Self.loginAnswer, Self.refusal(#"{"code":31,"sub":1}"#),
        Self.refusal(#"{"code":31,"sub":2}"#), Self.token,
      ], answers: [.accept()])
    _ = try await signIn(script, Self.device)
    let forms = script.requests.map { FormEncoding.decode($0.body, plus: .space) }
    #expect(
      forms[0] == [Parameter("scope", "a b"), Parameter("access_token", "A PP|S")])
    #expect(
      forms[1] == [
        Parameter("code", "DC"), Parameter("user", "UC"), Parameter("client_id", "A PP"),
        Parameter("client_secret", "S"),
      ])
    #expect(script.requests.map(\.address.path) == ["/login", "/status", "/status", "/status"])
    #expect(
      script.log.filter { $0.hasPrefix("sleep") }
        == [5, 5, 10].map { (seconds: Int64) in "sleep until \(Script.now + seconds)" })
    guard case .deviceCode(let page, let wholePage, "UC", _) = script.prompts[0] else {
      Issue.record("\(script.prompts)")
      return
    }
    #expect(page.path == "/go" && wholePage?.path == "/went")
  }

  @Test(
    "A provider's own errors for denial and expiry are mapped to the standard ones",
    arguments: [
      (refusal(#"{"code":"no"}"#), Problem.Reason.accessDenied),
      (refusal(#"{"code":5}"#, status: 410), .flowExpired),
      (refusal(#"{"code":5}"#), .providerFailure),
    ])
  func ends(reply: Script.Reply, reason: Problem.Reason) async throws {
    let script = Script([Self.loginAnswer, reply], answers: [.accept()])
    let problem = await #expect(throws: Problem.self) { try await signIn(script, Self.device) }
    #expect(problem?.reason == reason)
  }

  @Test(
    "The e-mail address is requested separately if the identity has none",
    arguments: [
      (
        #"{"values":[{"mail":"old@x","sure":true},{"mail":"new@x","first":true,"sure":true}]}"#,
        200, "new@x"
      ),
      (#"{"values":[{"mail":"a@x","first":true,"sure":false}]}"#, 200, nil),
      (#"{"message":"Not Found"}"#, 404, nil), ("<html>", 200, nil),
    ])
  func emails(answer: String, status: Int, email: String?) async throws {
    let script = Script(
      [Self.codes, Self.token, .json(#"{"id":"7"}"#), .json(answer, status: status)],
      answers: [.accept()])
    let account = try await signIn(script, Self.identified)
    #expect(account.email == email && account.subject == "7")
    #expect(account.isEmailVerified == (email != nil), "The second request gives confirmed ones.")
    #expect(script.requests.last?.address.path == "/emails")
    #expect(script.requests.last?.headers.contains(.init("Authorization", "Bearer AT")) == true)
  }

  @Test func `An e-mail address in the identity needs no second request`() async throws {
    let script = Script(
      [Self.codes, Self.token, .json(#"{"id":"7","email":"a@x"}"#)], answers: [.accept()])
    let account = try await signIn(script, Self.identified)
    #expect(account.email == "a@x" && !account.isEmailVerified)
  }

  @Test func `A revocation can have the client id in its path`() async throws {
    let script = Script(
      [Self.codes, Self.token, .json(#"{"id":"7","email":"a@x"}"#), .text("", status: 204)],
      answers: [.accept()])
    let account = try await signIn(script, Self.identified)
    let registration = ClientRegistration(clientID: "A PP", clientSecret: Secret("S"))
    let revocation = try await engine(script, Self.identified).signOut(account.id, revokes: true) {
      _ in registration
    }
    #expect(revocation.revoked == ["application A PP"])
    let request = try #require(script.requests.last)
    #expect(
      request.method == .delete && request.address.text == "https://op.example/apps/A%20PP/token")
    #expect(request.body == Array(#"{"access_token":"AT"}"#.utf8))
    #expect(request.headers.contains(.init("Authorization", "Basic QSBQUDpT")))
  }

  @Test func `GitHub's error for a dead refresh token needs a sign-in`() async throws {
    for (error, needsSignIn) in [("bad_refresh_token", true), ("unsupported_grant_type", false)] {
      let account = Sample.account("ada", "github")
      let stored = StoredCredential(
        role: .application, registration: ClientRegistration(clientID: "APP"),
        credential: .oauth2(
          OAuth2Credential(
            accessToken: Secret("AT"), expiresAt: Script.now, refreshToken: Secret("RT"))),
        binding: ProviderBinding(
          origins: ["https://api.github.com", "https://github.com"], clientID: "APP",
          flowKind: .deviceCode))
      // GitHub's errors have the status of a success.
      let script = Script(
        [.json(#"{"error":"\#(error)","error_description":"No."}"#)],
        store: ScriptedStore(
          accounts: [account], grants: Sample.grants("github", .granted),
          credentials: [account.id: [stored]]))
      let problem = await #expect(throws: Problem.self) {
        try await Sample.engine(script).credential(ResourceCredentialTests.request(nil))
      }
      #expect(problem?.serverError?.code == error)
      #expect((problem?.reason == .reloginNeeded) == needsSignIn)
      #expect((script.store.accounts[0].health == .reloginNeeded) == needsSignIn)
    }
  }
}
