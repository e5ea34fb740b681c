import EinlassCrypto
import EinlassJSON
import TestSupport
import Testing

@testable import Einlass

/// RFC 8628: a code for another device, and polling until the person has entered it.
@Suite struct DeviceCodeFlowTests {
  private static let provider = """
    {"id":"example","name":"Example","setup":{"documentation":"https://op.example/docs"},\
    "accounts":"many","registration":["clientId"],\
    "flows":[{"kind":"deviceCode","deviceAuthorization":{"method":"POST","url":"https://op.example/device"},\
    "token":{"method":"POST","url":"https://op.example/token"},"scopes":["a","b"]}]}
    """
  private static let device = """
    {"device_code":"DC","user_code":"WDJB-MJHT","verification_uri":"https://op.example/go",\
    "verification_uri_complete":"https://op.example/go?c=WDJB-MJHT","expires_in":1800,"interval":7}
    """
  private static let endpoint = WebAddress(scheme: .https, host: "op.example")
  private static let pending = Script.Reply.json(#"{"error":"authorization_pending"}"#, status: 400)
  private static let token = Script.Reply.json(#"{"access_token":"AT","token_type":"Bearer"}"#)

  private func signIn(
    _ script: Script, kinds: Set<Prompt.Kind> = [.deviceCode], isRemote: Bool = false,
    _ change: (inout SignInRequest) -> Void = { _ in }
  ) async throws -> Account {
    let engine = Einlass(
      catalog: try ProviderCatalogTests.catalog(Self.provider),
      store: script.store.accountStore.with(isRemote: isRemote),
      effects: script.effects)
    var request = SignInRequest(
      application: Sample.application, registration: ClientRegistration(clientID: "APP"),
      provider: "example")
    change(&request)
    return try await engine.signIn(request, asking: script.asker(kinds)).account
  }

  private func sleeps(_ script: Script) -> [String] {
    script.log.filter { $0.hasPrefix("sleep") }.map { String($0.dropFirst(12)) }
  }

  @Test(arguments: [true, false])
  func `An account is added once if the answer to its addition is lost`(isRemote: Bool) async {
    let script = Script([.json(Self.device), Self.token], answers: [.accept()])
    script.store.loseAnswer("add", with: .store(.unreachable, "The answer is lost."))
    let account = try? await signIn(script, isRemote: isRemote)
    #expect(script.store.accounts.count == 1)
    // The control: a file is never away.
    #expect(account?.id == (isRemote ? script.store.accounts.first?.id : nil))
  }

  @Test func `The code is shown, and the provider is polled until the person has entered it`()
    async throws
  {
    let script = Script(
      [
        .json(Self.device), .json(#"{"error":"authorization_pending"}"#),
        .json(#"{"error":"slow_down"}"#, status: 400),
        .json(#"{"error":"slow_down"}"#, status: 429), Self.token,
      ],
      answers: [.accept()])
    _ = try await signIn(script)
    #expect(
      script.prompts == [
        .deviceCode(
          WebAddress(scheme: .https, host: "op.example", path: "/go"),
          wholePage: WebAddress(
            scheme: .https, host: "op.example", path: "/go", query: "c=WDJB-MJHT"),
          userCode: "WDJB-MJHT", expiresAt: Script.now + 900)
      ])
    #expect(sleeps(script) == [7, 7, 12, 17].map { (seconds: Int64) in "\(Script.now + seconds)" })
    let forms = script.requests.map { FormEncoding.decode($0.body, plus: .space) }
    #expect(forms[0] == [Parameter("scope", "a b"), Parameter("client_id", "APP")])
    #expect(
      forms[1] == [
        Parameter("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
        Parameter("device_code", "DC"), Parameter("client_id", "APP"),
      ])
    #expect(script.store.accounts.count == 1)
  }

  @Test func `The front end's parameters are sent with the request for the code`() async throws {
    let script = Script([.json(Self.device), Self.token], answers: [.accept()])
    _ = try await signIn(script) {
      $0.openID.loginHint = "ada@example.org"
      $0.customParameters = [Parameter("audience", "https://api.example")]
    }
    let forms = script.requests.map { FormEncoding.decode($0.body, plus: .space) ?? [] }
    let added = [
      Parameter("login_hint", "ada@example.org"), Parameter("audience", "https://api.example"),
    ]
    #expect(forms[0] == [Parameter("scope", "a b")] + added + [Parameter("client_id", "APP")])
    #expect(forms[1].allSatisfy { !added.contains($0) })
    let reserved = await #expect(throws: Problem.self) {
      try await signIn(Script()) {
        $0.customParameters = [Parameter("Client_Assertion", "x")]
      }
    }
    #expect(reserved?.reason == .reservedParameter)
  }

  @Test(
    "These answers end the polling",
    arguments: [
      ([.json(#"{"error":"access_denied"}"#, status: 400)], Problem.Reason.accessDenied),
      ([pending, .json(#"{"error":"expired_token"}"#, status: 400)], .flowExpired),
      ([.json(#"{"error":"invalid_client"}"#, status: 401)], .authenticatorUnconfigured),
      ([.json(#"{"token_type":"Bearer"}"#)], .providerFailure),
      ([.json(#"{"error":"device_flow_disabled"}"#)], .providerFailure),
    ] as [([Script.Reply], Problem.Reason)])
  func ends(replies: [Script.Reply], reason: Problem.Reason) async throws {
    let script = Script([.json(Self.device)] + replies, answers: [.accept()])
    let problem = await #expect(throws: Problem.self) { _ = try await signIn(script) }
    #expect(problem?.reason == reason)
    #expect(script.store.accounts.isEmpty)
  }

  @Test(arguments: [254, 255])
  func `A form with more than the maximum number of fields is refused`(count: Int) async throws {
    let form =
      "access_token=AT&token_type=bearer"
      + (0..<count).map { "&f\($0)=x" }.joined()
    let script = Script([.json(Self.device), .text(form)], answers: [.accept()])
    let engine = Einlass(
      catalog: try ProviderCatalogTests.catalog(
        Self.provider.replacing(#""scopes""#, with: #""answer":"form","scopes""#)),
      store: script.store.accountStore, effects: script.effects)
    let request = SignInRequest(
      application: Sample.application, registration: ClientRegistration(clientID: "APP"),
      provider: "example")
    _ = try? await engine.signIn(request, asking: script.asker([.deviceCode]))
    #expect(script.store.accounts.count == (count == 254 ? 1 : 0))
  }

  @Test func `A busy provider is polled again later`() async throws {
    let script = Script(
      [.json(Self.device), .text("busy", status: 503), Self.pending, Self.token],
      answers: [.accept()])
    _ = try await signIn(script)
    #expect(sleeps(script) == [7, 14, 14].map { (seconds: Int64) in "\(Script.now + seconds)" })
  }

  @Test(
    "A code that ends after a failed poll says why, and only then",
    arguments: [
      (
        [
          .text(
            "", status: 302, headers: [HTTPRequest.Header("location", "http://portal.example/")])
        ], "redirects to portal.example"
      ),
      ([.text("<html>")], "is a web page"), ([.text("busy", status: 503)], "status 503"),
      ([.text("404 page not found", status: 404)], "status 404"),
      ([.text("busy", status: 503), pending], nil),
    ] as [([Script.Reply], String?)])
  func explained(replies: [Script.Reply], words: String?) async throws {
    // The next poll after a failure is twice as late.
    let device = Self.device.replacing("1800", with: "\(replies.count * 14)")
    let script = Script([.json(device)] + replies, answers: [.accept()])
    let problem = await #expect(throws: Problem.self) { _ = try await signIn(script) }
    #expect(problem?.reason == .flowExpired && problem?.isRetryable == true)
    #expect(problem?.message.contains("was not entered") == (words == nil))
    #expect(words.map { problem?.message.contains($0) == true } ?? true)
    #expect(words.map { script.explanation?.contains($0) == true } ?? (script.explanation == nil))
    #expect(script.unusedReplyCount == 0)
  }

  /// The code's lifetime is measured by elapsed time, because the clock can be set in the meantime.
  @Test(
    "A code is polled for its lifetime, even if the clock is set",
    arguments: ClockJumpTests.jumps, [21, 22])
  func clockJumps(jump: Int64, lifetime: Int) async throws {
    let device = Self.device.replacing("1800", with: "\(lifetime)")
    let script = Script(
      [.json(device), Self.pending, Self.pending, Self.token], answers: [.accept()])
    let isSignedIn = try await isSignedIn(script, effects(script, jumping: jump))
    #expect(isRight(isSignedIn, script, lifetime))
  }

  @Test("Negative control: an end by the wall clock is wrong", arguments: ClockJumpTests.jumps)
  func endOnTheClock(jump: Int64) async throws {
    var areRight = true
    for lifetime in [21, 22] {
      let script = Script([Self.pending, Self.pending, Self.token])
      let effects = effects(script, jumping: jump)
      let end = effects.now() + Int64(lifetime)
      var isSignedIn = false
      while !isSignedIn {
        try await effects.sleepUntil(effects.now() + 7)
        guard effects.now() < end else { break }
        isSignedIn = try await effects.send(HTTPRequest(.post, Self.endpoint)).status == 200
      }
      areRight = areRight && isRight(isSignedIn, script, lifetime)
    }
    #expect(areRight == (jump == 0))
  }

  /// The script's effects. The clock jumps after every sleep.
  private func effects(_ script: Script, jumping jump: Int64) -> Effects {
    script.effects.with(sleepUntil: { [effects = script.effects] time throws(Problem) in
      try await effects.sleepUntil(time)
      script.advance(seconds: time - effects.now() + jump)
    })
  }

  /// Polled after 7 and 14 seconds, and after 21 if the code is still valid.
  private func isRight(_ isSignedIn: Bool, _ script: Script, _ lifetime: Int) -> Bool {
    isSignedIn == (lifetime > 21) && script.unusedReplyCount == (lifetime > 21 ? 0 : 1)
  }

  private func isSignedIn(_ script: Script, _ effects: Effects) async throws -> Bool {
    let engine = Einlass(
      catalog: try ProviderCatalogTests.catalog(Self.provider), store: script.store.accountStore,
      effects: effects)
    do throws(Problem) {
      _ = try await engine.signIn(
        SignInRequest(
          application: Sample.application, registration: ClientRegistration(clientID: "APP"),
          provider: "example"), asking: script.asker([.deviceCode]))
      return true
    } catch {
      #expect(error.reason == .flowExpired)
      return false
    }
  }

  @Test(
    "An error code is compared before secrets are cut out of it", arguments: [200, 400, 429, 503])
  func shortDeviceCode(status: Int) async throws {
    let script = Script(
      [
        .json(Self.device.replacing("\"DC\"", with: "\"d\"")),
        .json(#"{"error":"authorization_pending"}"#, status: status), Self.token,
      ], answers: [.accept()])
    _ = try await signIn(script)
    #expect(script.unusedReplyCount == 0)
  }

  @Test func `An error that repeats the device code does not reveal it`() async throws {
    let script = Script(
      [.json(Self.device), .json(#"{"error":"not DC"}"#)], answers: [.accept()])
    let problem = await #expect(throws: Problem.self) { _ = try await signIn(script) }
    #expect(problem?.serverError?.code == "not …")
  }

  @Test(
    "An unsuitable page address is never shown",
    arguments: WebAddressTests.hostile)
  func hostilePages(text: String) async throws {
    for member in ["verification_uri", "verification_uri_complete"] {
      var answer = try #require(JSONReader.read(Array(Self.device.utf8)).object)
      answer[member] = .string(text)
      let device = DeviceAuthorization(.object(answer), from: Self.endpoint, now: Script.now)
      // An unsuitable complete address is left out, and the plain one is shown.
      #expect(member == "verification_uri" ? device == nil : device?.wholePage == nil)
    }
    let script = Script([
      .json(
        Self.device.replacing(
          "https://op.example/go\"", with: "\(JSONValue.string(text).text.dropFirst())"))
    ])
    let problem = await #expect(throws: Problem.self) { _ = try await signIn(script) }
    #expect(problem?.reason == .providerFailure && script.prompts.isEmpty)
  }

  @Test(
    "A device response needs all its members and safe addresses",
    arguments: [
      (#""device_code":"DC","#, ""), (#""user_code":"WDJB-MJHT","#, ""),
      ("https://op.example/go\",", "http://op.example/go\","), (#""expires_in":1800,"#, ""),
      ("1800", "0"), ("WDJB-MJHT\",\"v", "W\\u0007\",\"v"),
    ])
  func malformed(part: String, replacement: String) async throws {
    let answer = Self.device.replacing(part, with: replacement)
    try #require(answer != Self.device)
    let script = Script([.json(answer)])
    let problem = await #expect(throws: Problem.self) { _ = try await signIn(script) }
    #expect(problem?.reason == .providerFailure)
    #expect(script.prompts.isEmpty)
  }

  @Test
  func `The flow never sleeps past the end of the code, even if the interval is longer`()
    async throws
  {
    let script = Script(
      [.json(Self.device.replacing("1800", with: "5")), Self.token], answers: [.accept()])
    let problem = await #expect(throws: Problem.self) { _ = try await signIn(script) }
    #expect(problem?.reason == .flowExpired)
    #expect(sleeps(script) == ["\(Script.now + 5)"])
  }

  @Test(
    "The times of a device response are numbers or numeric texts",
    arguments: [
      ("600", "7", 600, 7), ("600.0", "7.9", 600, 7), ("\"600\"", "\"7\"", 600, 7),
      ("900", "0", 900, 1), ("901", "301", 900, 300), ("900", "null", 900, 5),
      ("900", "-1", 900, 5), ("900", "\"soon\"", 900, 5),
    ])
  func times(expiresIn: String, interval: String, end: Int64, wait: Int64) throws {
    let text = Self.device.replacing("1800", with: expiresIn)
      .replacing("\"interval\":7", with: "\"interval\":\(interval)")
    let device = try #require(
      DeviceAuthorization(try JSONReader.read(Array(text.utf8)), from: Self.endpoint, now: 0))
    #expect(device.expiresAt == end && device.intervalSeconds == wait)
  }

  @Test func `A complete address on another host is not shown`() throws {
    let foreign = Self.device.replacing("https://op.example/go?c", with: "https://evil.example/?c")
    let device = DeviceAuthorization(
      try JSONReader.read(Array(foreign.utf8)), from: Self.endpoint, now: Script.now)
    #expect(try #require(device).wholePage == nil)
    let draft = Self.device.replacing("verification_uri\"", with: "verification_url\"")
    #expect(
      DeviceAuthorization(try JSONReader.read(Array(draft.utf8)), from: Self.endpoint, now: 0)?.page
        .path == "/go")
  }
}
