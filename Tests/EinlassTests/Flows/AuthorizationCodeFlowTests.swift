import EinlassCrypto
import EinlassJSON
import EinlassSystem
import TestSupport
import Testing

@testable import Einlass

/// RFC 6749 section 4.1, RFC 7636 and RFC 8252: sign-in through the browser, and a token for the
/// account.
@Suite struct AuthorizationCodeFlowTests {
  /// Made from the script's second random bytes. The first ones are for the proof key.
  static let stateParameter = Base64URL.encode([UInt8](repeating: 2, count: 32))
  static let token = """
    {"access_token":"AT","token_type":"bearer","expires_in":"3600","refresh_token":"RT","scope":"demo"}
    """
  static let exchange = "POST https://sequencing.com/oauth2/token"
  static let out = "ask openURL sequencing.com"

  static func good(_ more: String = "") -> String { "code=CODE&state=\(stateParameter)\(more)" }

  static func request(_ change: (inout SignInRequest) -> Void = { _ in }) -> SignInRequest {
    var request = SignInRequest(
      application: Sample.application, registration: Sample.registration, provider: "sequencing")
    change(&request)
    return request
  }

  static let kinds: Set<Prompt.Kind> = [.openURL]

  func signIn(
    _ script: Script, _ request: SignInRequest = request(), _ kinds: Set<Prompt.Kind> = kinds
  ) async throws -> Account {
    try await Sample.engine(script).signIn(request, asking: script.asker(kinds)).account
  }

  func problem(
    _ script: Script, _ request: SignInRequest = request(), _ kinds: Set<Prompt.Kind> = kinds
  ) async throws -> Problem {
    let problem = await #expect(throws: Problem.self) {
      _ = try await signIn(script, request, kinds)
    }
    return try #require(problem)
  }

  @Test func `With a read-only store no page is opened`() async throws {
    let script = Script([.json(Self.token)], answers: [.accept()], brought: [Self.good()])
    script.store.fail("requireWritable", with: .store(.readOnly, "It can't be written."))
    #expect(try await problem(script).detail == "readOnly")
    #expect(script.log.isEmpty)
  }

  @Test func `A first sign-in opens the browser, exchanges the code and adds an account`()
    async throws
  {
    let script = Script(
      [.json(Self.token)], answers: [.accept()], brought: [Self.good()])
    let account = try await signIn(script)
    #expect(
      script.log == [
        "listen at 127.0.0.1 /callback", Self.out, Self.exchange, "add Sequencing.com",
        "grant granted", "page signedIn(person: Optional(\"Sequencing.com\"), isGranted: true)",
        "close",
      ])
    guard case .openURL(let page, returningTo: nil) = script.prompts[0] else {
      Issue.record("no page")
      return
    }
    let challenge = ProofKey(randomBytes: [UInt8](repeating: 1, count: 32))
    #expect(
      page.text
        == "https://sequencing.com/oauth2/authorize?redirect_uri=http%3A%2F%2F127.0.0.1%3A8400%2Fcallback&response_type=code&state=\(Self.stateParameter)&client_id=APP&scope=demo%20external&code_challenge=\(challenge.codeChallenge)&code_challenge_method=S256"
    )
    #expect(
      FormEncoding.decode(script.requests[0].body, plus: .space) == [
        Parameter("grant_type", "authorization_code"), Parameter("code", "CODE"),
        Parameter("redirect_uri", "http://127.0.0.1:8400/callback"),
        Parameter("code_verifier", revealedText(challenge.codeVerifier)),
      ])
    #expect(
      script.requests[0].headers.contains(
        .init("Authorization", "Basic " + Base64.encode(Array("APP:APP-SECRET".utf8)))))
    #expect(script.stages == [.awaitingPerson, .exchanging, .verifying, .saving])
    let stored = try #require(script.store.credentials(of: account.id).first)
    #expect(stored.role == .application && stored.binding.flowKind == .authorizationCode)
    #expect(stored.binding.origins == ["https://sequencing.com"])
    #expect(stored.registration == ClientRegistration(clientID: "APP"))
    #expect(
      stored.credential
        == .oauth2(
          OAuth2Credential(
            accessToken: Secret("AT"), scopes: ["demo"], expiresAt: Script.now + 3600,
            refreshToken: Secret("RT"))))
  }

  @Test func `The page gets the parameters of the front end under their standard names`()
    async throws
  {
    let script = Script([.json(Self.token)], answers: [.accept()], brought: [Self.good()])
    let account = try await signIn(
      script,
      Self.request {
        $0.scopes = ["a", "b c"]
        $0.openID.loginHint = "ada@example.org"
        $0.openID.prompt = "login"
        $0.openID.maxAgeSeconds = 60
        $0.customParameters = [Parameter("hl", "de")]
      })
    #expect(account.username == "ada@example.org")
    guard case .openURL(let page, _) = script.prompts[0] else { return }
    #expect(
      page.text.contains("&scope=a%20b%20c&")
        && page.text.hasSuffix("&login_hint=ada%40example.org&prompt=login&max_age=60&hl=de"))
  }

  @Test("A parameter name that belongs to the sign-in is refused before any effect")
  func reserved() async throws {
    for (name, hint) in [("state", nil), ("login_hint", "ada"), ("redirect_uri", nil)] {
      let script = Script()
      let request = Self.request {
        $0.customParameters = [Parameter(name, "x")]
        $0.openID.loginHint = hint
      }
      #expect(try await problem(script, request).reason == .reservedParameter)
      #expect(script.log.isEmpty)
    }
  }

  @Test(
    "A response for another sign-in gets an error page, and the flow goes on waiting",
    arguments: [
      "code=CODE", "code=CODE&state=other", good("&state=other"), "error=access_denied", "",
    ])
  func foreign(query: String) async throws {
    let script = Script(
      [.json(Self.token)], answers: [.accept()], brought: [query, Self.good()])
    _ = try await signIn(script)
    #expect(script.log[2...3] == ["page unexpected", Self.exchange])
  }

  @Test func `No number of wrong responses ends the sign-in`() async throws {
    let wrong = Array(repeating: "code=CODE&state=guess", count: 100)
    let script = Script([.json(Self.token)], answers: [.accept()], brought: wrong + [Self.good()])
    _ = try await signIn(script)
    #expect(script.log.count(where: { $0 == "page unexpected" }) == 100)
    #expect(script.explanation == nil)
  }

  @Test(
    "A response of this sign-in that cannot be used ends it at once, with the reason",
    arguments: [
      ("code=A&\(good())", "has several different values of code"),
      ("state=\(stateParameter)", "has neither a code nor an error"),
      (good("&error=x"), "has both a code and an error"),
    ])
  func unusable(query: String, flaw: String) async throws {
    let script = Script(
      [.json(Self.token)], answers: [.accept()], brought: [query, Self.good()])
    let problem = try await problem(script)
    #expect(problem.reason == .providerFailure && !problem.isRetryable)
    #expect(problem.message == "Sequencing.com's answer to the sign-in \(flaw).")
    #expect(script.requests.isEmpty)
    #expect(script.log[2].hasPrefix("page failed") && script.log.last == "close")
  }

  @Test(
    "The wait is explained by the last refused response, without a text that may be anyone's",
    arguments: [
      ("error=invalid_scope&error_description=x", "had the error invalid_scope, but not the state"),
      ("error=See%20evil.example", "did not have the state"),
      ("code=C&state=x", "did not have the state"), ("", "came back without an answer"),
    ])
  func explained(query: String, words: String) async throws {
    let script = Script(answers: [.accept()], brought: [query])
    let task = Task { try await signIn(script) }
    while script.explanation == nil { await Task.yield() }
    task.cancel()
    _ = await task.result
    let sentence = try #require(script.explanation)
    #expect(sentence.contains(words) && !sentence.contains("evil"))
  }

  @Test(
    "An error response ends the sign-in with its reason",
    arguments: [
      ("access_denied", Problem.Reason.accessDenied, false, "page denied"),
      ("consent_required", .accessDenied, false, "page denied"),
      ("interaction_required", .accessDenied, false, "page denied"),
      ("login_required", .accessDenied, false, "page denied"),
      ("temporarily_unavailable", .providerFailure, true, "page failed"),
      ("invalid_scope", .providerFailure, false, "page failed"),
    ])
  func refused(error: String, reason: Problem.Reason, isRetryable: Bool, page: String)
    async throws
  {
    let script = Script(
      answers: [.accept()],
      brought: ["error=\(error)&error_description=No%21&state=\(Self.stateParameter)"])
    let problem = try await problem(script)
    #expect(problem.reason == reason && problem.isRetryable == isRetryable)
    #expect(problem.serverError == .init(code: error, text: "No!"))
    #expect(script.requests.isEmpty)
    #expect(script.log[2].hasPrefix(page) && script.log.last == "close")
  }

  @Test func `If no page may be shown, login_required is not the person's decision`() async throws {
    for (error, reason) in [
      ("login_required", Problem.Reason.providerFailure), ("access_denied", .accessDenied),
    ] {
      let script = Script(
        answers: [.accept()], brought: ["error=\(error)&state=\(Self.stateParameter)"])
      let problem = try await problem(script, Self.request { $0.openID.prompt = "none" })
      #expect(problem.reason == reason)
    }
  }

  @Test(
    "Declining or cancelling the page ends in userCanceled", arguments: [Answer.decline, .cancel])
  func cancelled(answer: Answer) async throws {
    let script = Script(answers: [answer])
    #expect(try await problem(script).reason == .userCanceled)
    #expect(script.log.last == "close" && script.requests.isEmpty)
  }

  @Test func `The flow waits for the browser until it is cancelled`()
    async throws
  {
    let script = Script(answers: [.accept()])
    let task = Task { try await signIn(script, Self.request(), [.openURL, .enterVerifier]) }
    while script.log.count < 3 { await Task.yield() }
    task.cancel()
    let problem = await #expect(throws: Problem.self) { try await task.value }
    #expect(problem?.reason == .cancelled)
    #expect(script.log.last == "close" && script.requests.isEmpty)
  }

  @Test(
    "The final address of a browser on another machine can be entered",
    arguments: [
      ("http://127.0.0.1:8400/callback?\(good())", true),
      ("  HTTP://127.0.0.1:8400/callback?\(good())#_=_\n", true),
      ("http://127.0.0.1:8400/Callback?\(good())", false),
      ("http://127.0.0.1:8401/callback?\(good())", false),
      ("https://evil.example/callback?\(good())", false), (good(), false),
      ("http://127.0.0.1:8400/callback?code=CODE&state=other", false), ("", false),
    ])
  func pasted(text: String, isOurs: Bool) async throws {
    let script = Script([.json(Self.token)], answers: [.accept()], pasted: [text])
    let kinds: Set<Prompt.Kind> = [.openURL, .enterVerifier]
    if isOurs {
      _ = try await signIn(script, Self.request(), kinds)
      #expect(script.log.contains("ask enterVerifier redirectURL"))
    } else {
      let problem = try await problem(script, Self.request(), kinds)
      #expect(problem.reason == .stateMismatch)
      #expect(problem.message.contains("another sign-in") == text.contains("state=other"))
      #expect(script.requests.isEmpty)
      #expect(script.log.count { $0 == "ask enterVerifier redirectURL again" } == 2)
    }
    #expect(script.log.last == "close")
  }

  @Test func `A wrong address is prompted for again, and the sign-in goes on`() async throws {
    let ours = "http://127.0.0.1:8400/callback?\(Self.good())"
    let script = Script(
      [.json(Self.token)], answers: [.accept()], pasted: ["https://evil.example/?code=C", ours])
    _ = try await signIn(script, Self.request(), [.openURL, .enterVerifier])
    #expect(script.log.count { $0 == "ask enterVerifier redirectURL again" } == 1)
  }

  @Test func `A pasted answer withdraws the words about a refused one`() async throws {
    let script = Script(
      [.json(Self.token)], answers: [.accept()], brought: ["code=C&state=x"],
      pasted: ["http://127.0.0.1:8400/callback?\(Self.good())"])
    var asker = script.asker([.openURL, .enterVerifier])
    let ask = asker.ask
    asker.ask = { prompt async throws(Problem) in
      while prompt.kind == .enterVerifier, script.explanation == nil { await Task.yield() }
      return try await ask(prompt)
    }
    _ = try await Sample.engine(script).signIn(Self.request(), asking: asker)
    #expect(script.explanation == nil)
  }

  @Test("The port of another sign-in is waited for", arguments: [true, false])
  func portQueue(isRegistered: Bool) async throws {
    let script = Script([.json(Self.token)], answers: [.accept()], brought: [Self.good()])
    let (attempts, open) = (Lock(0), script.effects.openRedirect)
    let effects = script.effects.with(openRedirect: { place async throws(Problem) in
      let isFree = attempts.withLock { count in
        count += 1
        return count > 100
      }
      guard isFree else {
        throw Problem(.flowNotSupported, "port 8400", detail: Problem.portQueue, isRetryable: true)
      }
      return try await open(place)
    })
    let request = Self.request {
      if isRegistered { $0.registration?.redirect = "http://localhost:8400/cb" }
    }
    _ = try await Einlass(
      catalog: .builtIn, store: script.store.accountStore, effects: effects
    ).signIn(request, asking: script.asker(Self.kinds))
    #expect(script.log.count { $0.hasPrefix("sleep") } == 100)
    #expect(script.stages.prefix(2) == [.awaitingPort, .awaitingPerson])
    #expect(script.explanation == nil)
  }

  @Test("The port of another program is not waited for, and is worth another try")
  func portIsTaken() async throws {
    let script = Script()
    let effects = script.effects.with(openRedirect: { _ throws(Problem) in
      throw Problem(.flowNotSupported, "There is no port.", isRetryable: true)
    })
    let engine = Einlass(
      catalog: .builtIn, store: script.store.accountStore, effects: effects)
    let request = Self.request { $0.registration?.redirect = "http://localhost:8400/cb" }
    let problem = await #expect(throws: Problem.self) {
      try await engine.signIn(request, asking: script.asker(Self.kinds))
    }
    #expect(problem?.reason == .flowNotSupported && problem?.isRetryable == true)
    #expect(script.log.isEmpty && script.stages.isEmpty)
  }

  @Test(
    "For a custom scheme the front end returns the address together with its answer",
    arguments: [
      ("authapp://Default/Authcallback?\(good())", Problem.Reason?.none),
      ("AuthApp://default/Authcallback?\(good())", nil),
      ("authapp://default/authcallback?\(good())", .stateMismatch),
      ("authapp://Default/Authcallback?code=CODE&state=x", .stateMismatch),
    ])
  func customScheme(brought: String, reason: Problem.Reason?) async throws {
    let script = Script([.json(Self.token)], answers: [.accept(text: Secret(brought))])
    let request = Self.request { $0.registration?.redirect = "authapp://Default/Authcallback" }
    if let reason {
      #expect(try await problem(script, request).reason == reason)
    } else {
      _ = try await signIn(script, request)
    }
    #expect(script.log.first == "\(Self.out) authapp://Default/Authcallback")
    #expect(script.requests.count == (reason == nil ? 1 : 0))
  }

  @Test func `The listener uses a registered loopback address exactly as it is written`()
    async throws
  {
    let script = Script([.json(Self.token)], answers: [.accept()], brought: [Self.good()])
    _ = try await signIn(
      script, Self.request { $0.registration?.redirect = "http://localhost:8400/cb" })
    #expect(script.log[0] == "listen at localhost /cb")
  }

  @Test(
    "An error of the token endpoint ends the sign-in",
    arguments: [
      (
        Script.Reply.json(#"{"error":"invalid_grant"}"#, status: 400),
        Problem.Reason.providerFailure
      ),
      (.json(#"{"error":"invalid_client"}"#, status: 401), .authenticatorUnconfigured),
      (.json(#"{"token_type":"bearer"}"#), .providerFailure),
      (.json(#"{"access_token":"AT","token_type":"mac"}"#), .providerFailure),
      (.text("<html>", status: 502), .providerFailure), (.text("", status: 429), .throttled),
      (.networkFailure(-1001), .networkFailure),
    ])
  func refusedExchange(reply: Script.Reply, reason: Problem.Reason) async throws {
    let script = Script([reply], answers: [.accept()], brought: [Self.good()])
    let problem = try await problem(script)
    #expect(problem.reason == reason)
    #expect(!"\(problem)".contains("CODE"))
    #expect(script.store.accounts.isEmpty)
    #expect(script.log[3].hasPrefix("page failed") && script.log.last == "close")
  }

  @Test func `Without a front end that can show a page no page is opened`() async throws {
    let script = Script()
    let problem = try await problem(script, Self.request(), [.selectAccount])
    #expect(problem.reason == .interactionRequired && problem.neededKinds == [.openURL])
    #expect(problem.message.contains("authorizationCode"))
    #expect(script.log.isEmpty)
    #expect(
      try await self.problem(Script(), Self.request { $0.flowKind = .systemToken }).reason
        == .flowNotSupported)
    #expect(
      try await self.problem(Script(), Self.request { $0.registration = nil }).reason
        == .authenticatorUnconfigured)
  }
}
