import EinlassCrypto
import EinlassJSON
import TestSupport
import Testing

@testable import Einlass

/// A login with a user name and a password at a server of the person's own.
@Suite struct PasswordSessionTests {
  private static let session = #"{"sessionid":"SESSION","voiceUser":"ada","voiceDomain":"pbx"}"#
  private static let refusal = Script.Reply.json(#"{"error":"no"}"#, status: 401)
  private static let entered = Answer.accept(text: Secret("PASSWORD"), username: "ada")

  private static func wrong(_ number: Int) -> Answer {
    .accept(text: Secret("wrong \(number)"), username: "ada")
  }

  private static func request(
    _ server: SignInRequest.Server? = .init("pbx.example.com"),
    _ change: (inout SignInRequest) -> Void = { _ in }
  ) -> SignInRequest {
    var request = SignInRequest(
      application: Sample.application, registration: nil, provider: "fcsdk")
    request.login.server = server
    change(&request)
    return request
  }

  private static func signIn(
    _ script: Script, _ request: SignInRequest = request(), provider: String? = nil
  ) async throws -> Account {
    let catalog =
      try provider.map { try ProviderCatalogTests.catalog($0) } ?? ProviderCatalog.builtIn
    let engine = Einlass(
      catalog: catalog, store: script.store.accountStore, effects: script.effects)
    return try await engine.signIn(request, asking: script.asker([.enterPassword])).account
  }

  private static func stored(_ script: Script, _ account: Account) -> SessionCredential? {
    guard case .session(let session)? = script.store.credentials(of: account.id).first?.credential
    else { return nil }
    return session
  }

  @Test func `The password is sent once, and the session is stored for the name at the server`()
    async throws
  {
    let script = Script([.json(Self.session)], answers: [Self.entered])
    let account = try await Self.signIn(script)
    #expect(
      script.requests.map(\.address.text) == ["https://pbx.example.com:8443/csdk-sample/SDK/login"])
    #expect(
      String(decoding: script.requests[0].body, as: UTF8.self)
        == #"{"username":"ada","password":"PASSWORD"}"#)
    #expect(script.requests[0].cookies == nil)
    #expect(account.username == "ada" && account.subject == "ada@pbx.example.com:8443")
    #expect(
      script.prompts
        == [.enterPassword(.init(server: "https://pbx.example.com:8443", host: "pbx.example.com"))])
    #expect(
      Self.stored(script, account)
        == SessionCredential(
          id: Secret("SESSION"), username: "ada",
          values: [Parameter("voiceUser", "ada"), Parameter("voiceDomain", "pbx")]))
    let binding = script.store.credentials(of: account.id).first?.binding
    #expect(binding?.origins == ["https://pbx.example.com:8443"])
  }

  @Test func `The same name at two servers is two accounts`() async throws {
    let script = Script(
      [.json(Self.session), .json(Self.session), .json(Self.session)],
      answers: [Self.entered, Self.entered, Self.entered])
    let ids = [
      try await Self.signIn(script).id,
      try await Self.signIn(script, Self.request(.init("other.example.com"))).id,
      try await Self.signIn(script).id,
    ]
    #expect(ids[0] != ids[1] && ids[0] == ids[2])
    #expect(script.store.accounts.count == 2)
  }

  @Test(
    arguments: [
      (.init("pbx.example.com"), "https://pbx.example.com:8443"),
      (.init("pbx.example.com:9000"), "https://pbx.example.com:9000"),
      (.init("pbx.example.com", port: 9000), "https://pbx.example.com:9000"),
      (.init("https://pbx.example.com"), "https://pbx.example.com"),
      (.init("https://pbx.example.com:9000/"), "https://pbx.example.com:9000"),
      (.init("127.0.0.1", isSecure: false), "http://127.0.0.1:8080"),
      (.init("http://127.0.0.1:9000"), "http://127.0.0.1:9000"),
      (.init("pbx.example.com", isSecure: false), "http://pbx.example.com:8080"),
    ] as [(SignInRequest.Server, String)])
  func `A server is a host or an address`(server: SignInRequest.Server, origin: String) throws {
    let provider = try ProviderCatalog.builtIn.provider("fcsdk").at(server)
    #expect(provider.origins == [origin])
  }

  @Test(
    arguments: [
      (.init("http://pbx.example.com"), .unsafeURL),
      (.init("http://localhost:8080"), .unsafeURL),
      (.init(""), .invalidParameter), (.init("https://"), .invalidParameter),
      (.init("https://ada@pbx.example.com"), .invalidParameter),
      (.init("https://pbx.example.com/path"), .invalidParameter),
      (.init("https://pbx.example.com?x"), .invalidParameter),
      (.init("ftp://pbx.example.com"), .invalidParameter),
      (.init("pbx example"), .invalidParameter),
      (nil, .invalidParameter),
    ] as [(SignInRequest.Server?, Problem.Reason)])
  func `Plain http to another machine, and a text that is no server, is refused before the prompt`(
    server: SignInRequest.Server?, reason: Problem.Reason
  ) async throws {
    let script = Script()
    let problem = await #expect(throws: Problem.self) {
      try await Self.signIn(script, Self.request(server))
    }
    #expect(problem?.reason == reason && problem?.path == "/server/host")
    #expect(script.prompts.isEmpty && script.requests.isEmpty)
  }

  @Test func `A refused password is asked for again, three times at most`() async throws {
    let again = Script(
      [Self.refusal, .json(Self.session)], answers: [Self.wrong(1), Self.entered])
    _ = try await Self.signIn(again)
    #expect(
      again.prompts.map(\.summary) == [
        "enterPassword https://pbx.example.com:8443",
        "enterPassword https://pbx.example.com:8443 again",
      ])
    let script = Script(
      [Self.refusal, Self.refusal, Self.refusal],
      answers: [Self.wrong(1), Self.wrong(2), Self.wrong(3)])
    let problem = await #expect(throws: Problem.self) { try await Self.signIn(script) }
    #expect(problem?.reason == .wrongCredentials && problem?.serverError?.status == 401)
    #expect(script.requests.count == 3 && script.store.accounts.isEmpty)
  }

  @Test func `A cancelled password prompt ends the sign-in`() async throws {
    let script = Script(answers: [.cancel])
    let problem = await #expect(throws: Problem.self) { try await Self.signIn(script) }
    #expect(problem?.reason == .userCanceled && script.requests.isEmpty)
  }

  private static let limit = SessionCredential.idLimitBytes

  @Test(
    arguments: [
      (.text("<html>Log in</html>"), false), (.json(#"{"error":"wrong password"}"#), false),
      (.json("[]"), false), (.json(#"{"sessionid":""}"#), false),
      (.json(#"{"sessionid":7}"#), false), (.json("{\"sessionid\":\"a\\nb\"}"), false),
      (.json(#"{"sessionid":"a b"}"#), false),
      (.json(#"{"sessionid":"\#(String(repeating: "a", count: limit))"}"#), true),
      (.json(#"{"sessionid":"\#(String(repeating: "a", count: limit + 1))"}"#), false),
      (.json("{\"sessionid\":\"S\",\"voiceUser\":\"a\\u0000\"}"), false),
      (.text("", status: 302), false), (.text("", status: 500), false),
    ] as [(Script.Reply, Bool)])
  func `An answer that is no session is refused, and nothing of it is stored`(
    reply: Script.Reply, isTaken: Bool
  ) async throws {
    let script = Script([reply], answers: [Self.entered])
    do {
      _ = try await Self.signIn(script)
      #expect(isTaken)
    } catch let problem as Problem {
      #expect(!isTaken && problem.reason == .providerFailure)
    }
    #expect(script.store.accounts.isEmpty != isTaken && script.requests.count == 1)
  }

  // MARK: Cookies

  private static let cookieProvider = """
    {"id":"fcsdk","name":"Own","setup":{"documentation":"https://own.example/"},"accounts":"many",\
    "registration":[],"flows":[{"kind":"passwordSession",\
    "login":{"method":"POST","url":"https://server.invalid","path":"/login",\
    "headers":{"X-CSRF-Token":"{csrf}"},"form":{"u":"{username}","p":"{password}"}},\
    "antiForgery":{"request":{"method":"GET","url":"https://server.invalid/login"},"token":"/csrf"},\
    "session":{},"cookies":"always","check":{"method":"GET","url":"https://server.invalid/me"}}],\
    "revoke":{"method":"POST","url":"https://server.invalid","path":"/logout",\
    "headers":{"X-CSRF-Token":"{csrf}"}},"errors":{"shapes":[],"rules":[]}}
    """

  /// The line of libcurl for a cookie.
  private static func line(_ name: String, endsAt: UnixTime = 0, value: String = "v") -> String {
    "pbx.example.com\tFALSE\t/\tTRUE\t\(endsAt)\t\(name)\t\(value)"
  }

  private static func answer(
    _ json: String, _ cookies: [String], setting count: Int = 0
  ) -> Script.Reply {
    .answer(
      HTTPResponse(
        status: 200, headers: Array(repeating: .init("set-cookie", "x"), count: count),
        body: Array(json.utf8), cookies: cookies))
  }

  private static let login = [
    answer(#"{"csrf":"TOKEN"}"#, [line("a")]), answer("{}", [line("a"), line("b")]),
    answer("{}", [line("a"), line("c")]),
  ]

  @Test func `A session of cookies begins with an empty jar, and its check sees its cookies`()
    async throws
  {
    let script = Script(Self.login, answers: [Self.entered])
    let account = try await Self.signIn(script, provider: Self.cookieProvider)
    #expect(
      script.requests.map(\.cookies) == [[], [Self.line("a")], [Self.line("a"), Self.line("b")]])
    #expect(
      script.requests.map { request in
        request.headers.first { $0.name == "X-CSRF-Token" }?.value
      } == [nil, "TOKEN", nil])
    let session = try #require(Self.stored(script, account))
    #expect(
      session.id.isEmpty
        && session.cookies.map { revealedText($0) } == "\(Self.line("a"))\n\(Self.line("b"))")
    // The logout gets a token of its own.
    script.reply(
      Self.answer(#"{"csrf":"TOKEN2"}"#, [Self.line("a"), Self.line("b")]), Self.answer("{}", []))
    let engine = Einlass(
      catalog: try ProviderCatalogTests.catalog(Self.cookieProvider),
      store: script.store.accountStore, effects: script.effects)
    let revocation = try await engine.signOut(account.id)
    #expect(revocation.notRevoked.isEmpty && revocation.revoked.count == 1)
    #expect(script.requests.suffix(2).map { $0.cookies?.count } == [2, 2])
    #expect(script.requests.last?.address.text == "https://pbx.example.com/logout")
  }

  @Test(
    arguments: [
      (150, 0, 1, true), (151, 0, 1, false), (1, 50, 1, true), (1, 51, 1, false),
      (1, 0, 8190 - 5, true), (1, 0, 8190 - 4, false),
    ])
  func `More cookies than libcurl takes and sends are no session`(
    count: Int, setCount: Int, size: Int, isTaken: Bool
  ) async throws {
    let many = (0..<count).map {
      Self.line("c\($0)", value: String(repeating: "v", count: size))
    }
    let script = Script(
      [Self.login[0], Self.answer("{}", many, setting: setCount), Self.answer("{}", many)],
      answers: [Self.entered])
    let account = try? await Self.signIn(script, provider: Self.cookieProvider)
    #expect((account != nil) == isTaken && script.store.accounts.isEmpty != isTaken)
  }

  @Test func `A cookie that has ended is not kept, and alone it is no session`() async throws {
    let ended = Self.line("old", endsAt: Script.now)
    for rest in [[], [Self.line("new", endsAt: Script.now + 1)]] {
      let script = Script(
        [Self.login[0], Self.answer("{}", [ended] + rest), Self.answer("{}", rest)],
        answers: [Self.entered])
      let account = try? await Self.signIn(script, provider: Self.cookieProvider)
      let cookies = account.flatMap { Self.stored(script, $0)?.cookies }
      #expect(cookies.map { revealedText($0) } == rest.first)
    }
  }

  @Test func `A login that brings no cookie, or a session that its check refuses, is none`()
    async throws
  {
    for replies in [
      [Self.login[0], Self.answer("{}", [])], [Self.login[0], Self.login[1], Self.refusal],
    ] {
      let script = Script(replies, answers: [Self.entered])
      let problem = await #expect(throws: Problem.self) {
        try await Self.signIn(script, provider: Self.cookieProvider)
      }
      #expect(problem?.reason == .providerFailure && script.store.accounts.isEmpty)
    }
  }

  @Test func `The cookies of fcsdk are kept if the sign-in asks for them`() async throws {
    for usesCookies in [false, true] {
      let script = Script([Self.answer(Self.session, [Self.line("a")])], answers: [Self.entered])
      let account = try await Self.signIn(
        script, Self.request { $0.login.usesCookies = usesCookies })
      #expect(script.requests[0].cookies == (usesCookies ? [] : nil))
      #expect((Self.stored(script, account)?.cookies != nil) == usesCookies)
    }
  }

  @Test(
    arguments: [
      ("\"cookies\":\"always\"", "\"cookies\":\"asked\"", "/providers/0/flows/0/session"),
      ("\"session\":{}", "\"session\":{},\"port\":0", "/providers/0/flows/0/port"),
      ("\"session\":{}", "\"session\":{},\"port\":65536", "/providers/0/flows/0/port"),
      ("https://server.invalid/me", "https://other.example/me", "/providers/0/flows"),
      (
        "\"url\":\"https://server.invalid\",\"path\":\"/logout\"",
        "\"url\":\"https://other.example\",\"path\":\"/logout\"", "/providers/0/flows"
      ),
      ("{username}", "{token}", "/providers/0/flows/0/login/form/u"),
    ])
  func `A descriptor of a login names one server and holds the session somewhere`(
    part: String, replacement: String, pointer: String
  ) throws {
    let text = Self.cookieProvider.replacing(part, with: replacement)
    #expect(text != Self.cookieProvider)
    let fault = try #require(throws: ProviderCatalog.Fault.self) {
      try ProviderCatalogTests.catalog(text)
    }
    #expect(fault.pointer == pointer)
  }

  // MARK: The stored session

  private static func signedIn() async throws -> (Script, Einlass, Account) {
    let script = Script(
      [.json(session)], answers: [entered],
      store: ScriptedStore(grants: Sample.grants("fcsdk", .granted)))
    let account = try await signIn(script)
    return (script, try Sample.engine(script), account)
  }

  private static func wish(_ account: Account) -> CredentialRequest {
    var wish = CredentialRequest(
      application: Sample.application, registration: { _ in nil }, account: account.id)
    wish.promptKinds = [.enterPassword]
    return wish
  }

  @Test func `The session is handed out until it is rejected, and then a sign-in is needed`()
    async throws
  {
    let (script, engine, account) = try await Self.signedIn()
    let result = try await engine.credential(Self.wish(account))
    #expect(result.credential == .session(try #require(Self.stored(script, account))))
    try await engine.reject(Self.wish(account))
    let problem = await #expect(throws: Problem.self) {
      try await engine.credential(Self.wish(account))
    }
    #expect(problem?.reason == .reloginNeeded && problem?.hint?.method == "accounts.signIn")
    #expect(script.requests.count == 1)
    // The account knows its server.
    script.reply(.json(Self.session.replacing("SESSION", with: "SESSION2")))
    let again = Script(
      [.json(Self.session)], answers: [Self.entered], store: script.store)
    _ = try await Self.signIn(again, Self.request(nil) { $0.account = account.id })
    #expect(again.requests[0].address.host == "pbx.example.com")
    #expect(try await engine.credential(Self.wish(account)).credential != nil)
  }

  @Test func `Another user name than the account's is refused`() async throws {
    let (script, _, account) = try await Self.signedIn()
    let other = Script(
      [.json(Self.session)], answers: [.accept(text: Secret("x"), username: "eve")],
      store: script.store)
    let problem = await #expect(throws: Problem.self) {
      try await Self.signIn(other, Self.request(nil) { $0.account = account.id })
    }
    #expect(problem?.reason == .invalidChoice)
  }

  @Test func `The sign-out ends the session at its server`() async throws {
    let (script, engine, account) = try await Self.signedIn()
    script.reply(.json("{}"))
    let revocation = try await engine.signOut(account.id)
    #expect(revocation.notRevoked.isEmpty)
    #expect(
      script.log.last
        == "DELETE https://pbx.example.com:8443/csdk-sample/SDK/login/id/SESSION")
  }

  @Test func `A parameter for servers of one's own is refused at other providers`() async throws {
    for change in [
      { (request: inout SignInRequest) in request.login.server = .init("a") },
      { $0.login.username = "ada" }, { $0.login.usesCookies = true },
    ] as [(inout SignInRequest) -> Void] {
      let script = Script()
      var request = AuthorizationCodeFlowTests.request()
      change(&request)
      let problem = await #expect(throws: Problem.self) {
        try await Sample.engine(script).signIn(request, asking: script.asker([.openURL]))
      }
      #expect(problem?.reason == .invalidParameter && script.log.isEmpty)
    }
  }
}
