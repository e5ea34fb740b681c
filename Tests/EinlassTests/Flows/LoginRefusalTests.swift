import EinlassCrypto
import EinlassJSON
import TestSupport
import Testing

@testable import Einlass

/// Refused logins are counted, and the last settings of a login serve the next one.
@Suite struct LoginRefusalTests {
  private static let refusal = Script.Reply.json("{}", status: 401)
  private static let session = Script.Reply.json(#"{"sessionid":"SESSION"}"#)
  private static let server = "https://pbx.example.com:8443"

  private static func entry(_ password: String, remembers: Bool = false) -> Answer {
    .accept(text: Secret(password), username: "ada", remembers: remembers)
  }

  /// Signs in, and returns the problem.
  @discardableResult
  private static func signIn(
    _ script: Script, username: String? = "ada", server: String? = "pbx.example.com",
    _ change: (inout SignInRequest) -> Void = { _ in }
  ) async -> Problem? {
    var request = SignInRequest(
      application: Sample.application, registration: nil, provider: "fcsdk")
    request.login.server = server.map { .init($0) }
    request.login.username = username
    change(&request)
    do {
      _ = try await Sample.engine(script).signIn(request, asking: script.asker([.enterPassword]))
      return nil
    } catch {
      return error as? Problem ?? Problem(.internal, "No problem of the domain.")
    }
  }

  /// Lets the server refuse this number of passwords, at the earliest times.
  private static func refuse(_ count: Int, _ script: Script) async throws {
    for number in 0..<count {
      script.reply(refusal)
      script.answer(entry("wrong \(number)"))
      // After the fifth refusal the wait comes before the next prompt.
      if number < 4 { script.answer(.cancel) }
      script.advance(seconds: 60)
      let reason = await signIn(script)?.reason
      try #require(reason == .userCanceled || reason == .throttled)
    }
  }

  @Test(
    arguments: [(Int64.max, 60 as Int64), (.min, 0), (1001, 60), (1000, 60), (941, 1), (940, 0)])
  func `Any time of the last refusal gives a pause of at most 60 seconds`(
    lastAt: UnixTime, seconds: Int64
  ) {
    #expect(OwnServerStore.Refusals(count: 20, lastAt: lastAt).secondsLeft(at: 1000) == seconds)
  }

  @Test(
    arguments: [(4, 0), (5, 1), (6, 2), (7, 4), (8, 8), (9, 16), (10, 32), (11, 60), (12, 60)])
  func `After five refusals a login waits, 1, 2, 4, up to 60 seconds`(
    count: Int, seconds: Int
  ) async throws {
    let script = Script()
    try await Self.refuse(count, script)
    let before = (script.requests.count, script.prompts.count)
    if seconds > 0 {
      script.advance(seconds: Int64(seconds) - 1)
      let problem = await Self.signIn(script)
      #expect(problem?.reason == .throttled && problem?.retryAfterSeconds == 1)
      #expect(problem?.isRetryable == true)
      script.advance(seconds: 1 - Int64(seconds))
      #expect(await Self.signIn(script)?.retryAfterSeconds == seconds)
      // A step of the clock back does not lengthen the wait.
      script.advance(seconds: -1000)
      #expect(await Self.signIn(script)?.retryAfterSeconds == seconds)
      script.advance(seconds: 1000 + Int64(seconds))
    }
    // Nobody was asked, and nothing was sent.
    #expect((script.requests.count, script.prompts.count) == before)
    script.answer(Self.entry("PASSWORD"))
    script.reply(Self.session)
    #expect(await Self.signIn(script) == nil)
  }

  @Test func `A person who enters the user name waits too, before anything is sent`() async throws {
    let script = Script()
    try await Self.refuse(5, script)
    let count = script.requests.count
    script.answer(Self.entry("PASSWORD"))
    #expect(await Self.signIn(script, username: nil)?.reason == .throttled)
    #expect(script.requests.count == count)
    // Another person does not wait.
    script.answer(.accept(text: Secret("x"), username: "eve"))
    script.reply(Self.session)
    #expect(await Self.signIn(script, username: "eve") == nil)
  }

  @Test func `A success ends the count`() async throws {
    let script = Script()
    for _ in 0..<2 {
      try await Self.refuse(4, script)
      script.answer(Self.entry("PASSWORD"))
      script.reply(Self.session)
      #expect(await Self.signIn(script) == nil)
    }
    #expect(
      try script.store.accountStore.ownServers.refusals(
        .init(server: Self.server, username: "ada")) == nil)
  }

  @Test(arguments: [(900, false), (901, true)])
  func `A refused password is not sent again for 15 minutes, and another one is sent at once`(
    seconds: Int64, isSent: Bool
  ) async {
    let script = Script(
      [Self.refusal], answers: [Self.entry("wrong"), Self.entry("wrong"), Self.entry("wrong")])
    let problem = await Self.signIn(script)
    #expect(problem?.reason == .wrongCredentials && script.requests.count == 1)
    #expect(
      script.prompts.map(\.summary) == [
        "enterPassword \(Self.server)", "enterPassword \(Self.server) again",
        "enterPassword \(Self.server) again",
      ])
    script.advance(seconds: seconds)
    script.answer(Self.entry("wrong"), Self.entry("PASSWORD"))
    script.reply(isSent ? Self.refusal : Self.session, Self.session)
    #expect(await Self.signIn(script) == nil)
    #expect(script.requests.count == (isSent ? 3 : 2))
  }

  @Test func `A renewal does not send a password that a sign-in has learned to be wrong`()
    async throws
  {
    let script = Script(
      [Self.session], answers: [Self.entry("PASSWORD", remembers: true)],
      store: ScriptedStore(grants: Sample.grants("fcsdk", .granted)))
    #expect(await Self.signIn(script) == nil)
    let account = try #require(script.store.accounts.first).id
    let wish = CredentialRequest(
      application: Sample.application, registration: { _ in nil }, account: account)
    let engine = try Sample.engine(script)
    try await engine.reject(wish)
    // The server's password has changed.
    script.reply(Self.refusal)
    script.answer(Self.entry("PASSWORD"), .cancel)
    #expect(await Self.signIn(script)?.reason == .userCanceled)
    let problem = await #expect(throws: Problem.self) { try await engine.credential(wish) }
    #expect(problem?.reason == .reloginNeeded && script.requests.count == 2)
    #expect(script.store.credentials(of: account).first?.remembersPassword == false)
  }

  @Test func `A renewal waits after refusals, and keeps the password`() async throws {
    let script = Script(
      [Self.session], answers: [Self.entry("PASSWORD", remembers: true)],
      store: ScriptedStore(grants: Sample.grants("fcsdk", .granted)))
    #expect(await Self.signIn(script) == nil)
    let account = try #require(script.store.accounts.first).id
    let wish = CredentialRequest(
      application: Sample.application, registration: { _ in nil }, account: account)
    let engine = try Sample.engine(script)
    try await engine.reject(wish)
    try await Self.refuse(5, script)
    let problem = await #expect(throws: Problem.self) { try await engine.credential(wish) }
    #expect(problem?.reason == .throttled && problem?.retryAfterSeconds == 1)
    script.advance(seconds: 1)
    script.reply(Self.session)
    #expect(try await engine.credential(wish).credential != nil)
  }

  // MARK: The last settings

  private static func settings(_ script: Script) throws -> ServerSettings? {
    try Sample.engine(script).serverSettings(
      of: Sample.application, at: "fcsdk", patience: .none)
  }

  @Test func `The settings of a failed login serve the next sign-in without a server`()
    async throws
  {
    let script = Script([.networkFailure(-1004)], answers: [Self.entry("PASSWORD")])
    #expect(try Self.settings(script) == nil)
    let failed = await Self.signIn(script) {
      $0.login.server = .init("127.0.0.1", port: 9000, isSecure: false)
      $0.login.usesCookies = true
    }
    #expect(failed?.reason == .networkFailure)
    let saved = ServerSettings(
      server: "127.0.0.1", port: 9000, isSecure: false, usesCookies: true, username: "ada")
    #expect(try Self.settings(script) == saved)
    script.reply(Self.session)
    script.answer(.accept(text: Secret("PASSWORD")))
    #expect(await Self.signIn(script, username: nil, server: nil) == nil)
    #expect(script.requests.last?.address.text.hasPrefix("http://127.0.0.1:9000/") == true)
    #expect(script.requests.last?.cookies == [])
    #expect(try Self.settings(script) == saved)
  }

  @Test func `A named server takes nothing from the last settings, and replaces them`() async throws
  {
    let script = Script(
      [Self.session, Self.session],
      answers: [Self.entry("PASSWORD"), .accept(text: Secret("x"), username: "eve")])
    #expect(
      await Self.signIn(script) {
        $0.login.server?.port = 9000
        $0.login.usesCookies = true
      } == nil)
    #expect(await Self.signIn(script, username: nil, server: "other.example.com") == nil)
    #expect(
      script.requests.last?.address.origin == "https://other.example.com:8443"
        && script.requests.last?.cookies == nil)
    #expect(
      try Self.settings(script) == ServerSettings(server: "other.example.com", username: "eve"))
    // The settings belong to the application.
    #expect(
      try Sample.engine(script).serverSettings(of: "other", at: "fcsdk", patience: .none) == nil)
  }
}
