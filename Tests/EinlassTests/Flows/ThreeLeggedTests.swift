import EinlassCrypto
import TestSupport
import Testing

@testable import Einlass

/// RFC 5849 section 2: request token, authorization by the person, access token.
@Suite struct ThreeLeggedTests {
  private static func provider(_ more: String = "") -> String {
    """
    {"id":"example","name":"Example","setup":{"documentation":"https://op.example/docs"},\
    "accounts":"many","registration":["clientId","clientSecret"],\
    "identity":{"request":{"method":"GET","url":"https://op.example/me"},"id":"/id","username":"/name","required":["id"]},\
    "flows":[{"kind":"oauth1","signature":"HMAC-SHA1","requestToken":{"method":"POST","url":"https://op.example/request"},\
    "authorize":{"method":"GET","url":"https://op.example/authorize","query":{"perms":"read"}},\
    "accessToken":{"method":"POST","url":"https://op.example/access"}\(more)}],"errors":{"shapes":[],"rules":[]}}
    """
  }

  /// RFC 5849 section 3.4.3.
  @Test(arguments: [PublicKey.Kind.rsa, .ed25519, .ellipticCurve(.p256)])
  func `RSA-SHA1 requires an RSA key`(kind: PublicKey.Kind) throws {
    let descriptor = Self.provider().replacing("HMAC-SHA1", with: "RSA-SHA1")
      .replacing("clientSecret", with: "privateKey")
    let provider = try ProviderCatalogTests.catalog(descriptor).provider("example")
    let registration = ClientRegistration(
      clientID: "APP", privateKey: ClientAssertionTests.pem(.generate(kind)))
    let complete = { () throws(Problem) in
      _ = try provider.complete(registration, with: provider.registrationNeeds)
    }
    guard kind != .rsa else { return try complete() }
    let problem = #expect(throws: Problem.self) { try complete() }
    #expect(problem?.reason == .authenticatorUnconfigured && problem?.detail == "privateKey")
  }

  private static let requestToken =
    "oauth_token=RT&oauth_token_secret=RTS&oauth_callback_confirmed=true"
  private static let replies: [Script.Reply] = [
    .text(requestToken), .text("oauth_token=AT&oauth_token_secret=ATS&screen_name=ada"),
    .json(#"{"id":"7","name":"ada"}"#),
  ]

  private func signIn(
    _ script: Script, _ provider: String = provider(), _ kinds: Set<Prompt.Kind> = [.openURL]
  ) async throws -> Account {
    let engine = Einlass(
      catalog: try ProviderCatalogTests.catalog(provider), store: script.store.accountStore,
      effects: script.effects)
    return try await engine.signIn(
      SignInRequest(
        application: Sample.application, registration: Sample.registration, provider: "example"),
      asking: script.asker(kinds)
    ).account
  }

  private func header(_ request: HTTPRequest) throws -> [String: String] {
    let value = try #require(request.headers.first { $0.name == "Authorization" }?.value)
    let parameters = try #require(AuthorizationHeader.parse(value))
    return Dictionary(uniqueKeysWithValues: parameters.map { ($0.name, $0.value) })
  }

  @Test func `The browser returns the verifier, and the token is stored as the application's`()
    async throws
  {
    let script = Script(
      Self.replies, answers: [.accept()], brought: ["oauth_token=RT&oauth_verifier=V"])
    let account = try await signIn(script)
    #expect(account.username == "ada" && account.subject == "7")
    #expect(
      script.log.filter { !$0.hasPrefix("listen") } == [
        "POST https://op.example/request", "ask openURL op.example",
        "POST https://op.example/access", "GET https://op.example/me", "add ada",
        "grant granted", "page signedIn(person: Optional(\"ada\"), isGranted: true)", "close",
      ])
    let headers = try script.requests.map(header)
    #expect(headers[0]["oauth_callback"]?.hasPrefix("http://127.0.0.1:8400/") == true)
    #expect(headers[0]["oauth_token"] == nil)
    #expect(headers[1]["oauth_token"] == "RT" && headers[1]["oauth_verifier"] == "V")
    #expect(headers[2]["oauth_token"] == "AT" && headers[2]["oauth_verifier"] == nil)
    guard case .openURL(let page, _) = script.prompts[0] else { return }
    #expect(page.text == "https://op.example/authorize?perms=read&oauth_token=RT")
    let stored = try #require(script.store.credentials(of: account.id).first)
    #expect(stored.role == .application && stored.binding.flowKind == .oauth1)
    #expect(
      stored.credential
        == .oauth1(OAuth1Credential(token: Secret("AT"), tokenSecret: Secret("ATS"))))
  }

  @Test func `The person enters a number from the page, and the token is later handed out`()
    async throws
  {
    let store = ScriptedStore(grants: Sample.grants("example", .granted))
    let script = Script(Self.replies, answers: [.accept()], pasted: [" 123 456\n"], store: store)
    let pin = Self.provider(#","verifier":"pin""#)
    let account = try await signIn(script, pin, [.openURL, .enterVerifier])
    #expect(try header(script.requests[0])["oauth_callback"] == "oob")
    #expect(try header(script.requests[1])["oauth_verifier"] == "123456")
    #expect(!script.log.contains { $0.hasPrefix("listen") })
    let engine = Einlass(
      catalog: try ProviderCatalogTests.catalog(pin), store: store.accountStore,
      effects: script.effects)
    let result = try await engine.perform(
      PerformRequest(
        application: Sample.application, registration: Sample.registration, provider: "example",
        selection: .whenMany), asking: script.asker([]))
    #expect(result.account.id == account.id && script.requests.count == 3)
    let refused = await #expect(throws: Problem.self) {
      _ = try await signIn(Script(), pin, [.openURL])
    }
    #expect(refused?.neededKinds == [.enterVerifier])
  }

  @Test(
    "A refused number is prompted for again, three times in all",
    arguments: [
      (401, 2, nil), (400, 3, nil), (401, 4, Problem.Reason.providerFailure),
      (500, 2, .providerFailure),
    ])
  func misread(status: Int, entry: Int, reason: Problem.Reason?) async throws {
    let wrong = Script.Reply.text("oauth_problem=verifier_invalid", status: status)
    let script = Script(
      [Self.replies[0]] + Array(repeating: wrong, count: entry - 1) + Self.replies[1...],
      answers: [.accept()], pasted: ["1", "2", "3", "4"])
    var problem: Problem?
    do {
      _ = try await signIn(
        script, Self.provider(#","verifier":"pin""#), [.openURL, .enterVerifier])
    } catch { problem = error as? Problem }
    #expect(problem?.reason == reason)
    // The registration is correct, because the provider has issued a request token.
    #expect(
      problem?.message.contains("the entered PIN") == problem.map { _ in status != 500 }
    )
    let asked = script.log.count { $0.hasPrefix("ask enterVerifier pin") }
    #expect(asked == (status == 500 ? 1 : min(entry, 3)))
    #expect(script.log.count { $0.hasPrefix("ask openURL") } == 1)
  }

  private static let missing = "has no usable oauth_verifier"

  @Test(
    "Only a callback for this request token ends the wait",
    arguments: [
      ("oauth_token=RT&oauth_verifier=V", PendingThreeLegged.Response.verifier(Secret("V"))),
      ("denied=RT", .denied), ("oauth_token=RT&oauth_problem=user_refused", .denied),
      ("oauth_token=RT&oauth_token=RT&oauth_verifier=V", .verifier(Secret("V"))),
      ("oauth_token=RT&oauth_verifier=V&oauth_problem=", .verifier(Secret("V"))),
      ("oauth_token=RT", .unusable(Self.missing)),
      ("oauth_token=RT&oauth_verifier=", .unusable(Self.missing)),
      ("oauth_token=RT&oauth_verifier=a%0Ab", .unusable(Self.missing)),
      (
        "oauth_token=RT&oauth_verifier=V&oauth_verifier=W",
        .unusable("has several different values of oauth_verifier")
      ),
      ("oauth_token=XX&oauth_verifier=V", nil), ("denied=XX", nil), ("oauth_verifier=V", nil),
      ("oauth_token=RT&oauth_token=XX&oauth_verifier=V", nil), ("", nil), ("%ZZ", nil),
    ])
  func callbacks(query: String, expected: PendingThreeLegged.Response?) {
    #expect(
      PendingThreeLegged(token: "RT").response(RedirectParameters(query)) == expected)
  }

  @Test func `A denial, and a request token without a confirmed callback, store nothing`()
    async throws
  {
    let denied = Script(Self.replies, answers: [.accept()], brought: ["denied=RT"])
    let no = await #expect(throws: Problem.self) { _ = try await signIn(denied) }
    #expect(no?.reason == .accessDenied && denied.requests.count == 1)
    #expect(denied.log.suffix(2) == ["page denied", "close"])
    for body in [
      "oauth_token=RT&oauth_token_secret=RTS", "<html>", "oauth_token=&oauth_token_secret=",
    ] {
      let script = Script([.text(body)])
      let problem = await #expect(throws: Problem.self) { _ = try await signIn(script) }
      #expect(problem?.reason == .providerFailure && script.prompts.isEmpty)
      #expect(script.log.last == "close")
    }
  }
}
