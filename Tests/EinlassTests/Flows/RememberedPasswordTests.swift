import EinlassCrypto
import EinlassJSON
import TestSupport
import Testing

@testable import Einlass

/// A session that has ended is replaced by the password that the person wanted remembered.
@Suite struct RememberedPasswordTests {
  private static let descriptor = """
    {"id":"pbx","name":"PBX","setup":{"documentation":"https://pbx.example/"},"accounts":"many",\
    "registration":[],"flows":[{"kind":"passwordSession",\
    "login":{"method":"POST","url":"https://server.invalid","path":"/login",\
    "json":{"u":"{username}","p":"{password}"}},"session":{"id":"/id"},\
    "check":{"method":"GET","url":"https://server.invalid/me","headers":{"X-Session":"{token}"}},\
    "checkSeconds":600}],"errors":{"shapes":[],"rules":[\
    {"step":"login","status":401,"outcome":"wrongCredentials"},\
    {"step":"sessionCheck","status":401,"outcome":"relogin"}]}}
    """
  private static let alive = Script.Reply.json("{}")
  private static let refusal = Script.Reply.json("{}", status: 401)
  private static func login(_ id: String) -> Script.Reply { .json(#"{"id":"\#(id)"}"#) }

  /// A front end that has signed in, without the requests so far.
  private struct World {
    let script: Script
    let engine: Einlass
    let account: Account.ID
    private let requestCount: Int

    init(remembers: Bool = true) async throws {
      script = Script(
        [login("ONE"), alive],
        answers: [.accept(text: Secret("PASSWORD"), username: "ada", remembers: remembers)],
        store: ScriptedStore(grants: Sample.grants("pbx", .granted)))
      engine = Einlass(
        catalog: try ProviderCatalogTests.catalog(descriptor), store: script.store.accountStore,
        effects: script.effects)
      var request = SignInRequest(
        application: Sample.application, registration: nil, provider: "pbx")
      request.login.server = .init("pbx.example.com")
      account = try await engine.signIn(request, asking: script.asker([.enterPassword])).account.id
      requestCount = script.requests.count
    }

    /// The paths since the sign-in.
    var paths: [String] { script.requests.dropFirst(requestCount).map(\.address.path) }
    var stored: StoredCredential? { script.store.credentials(of: account).first }
    var session: SessionCredential? {
      if case .session(let session)? = stored?.credential { session } else { nil }
    }
    var health: Account.Health? { script.store.accounts.first?.health }

    func wish(forced: Bool = false) -> CredentialRequest {
      var wish = CredentialRequest(
        application: Sample.application, registration: { _ in nil }, account: account,
        forcesRefresh: forced)
      wish.promptKinds = [.enterPassword]
      return wish
    }

    /// The session's id of `credentials.get`, or the reason of its error.
    func got(forced: Bool = false) async throws -> String {
      do throws(Problem) {
        return Self.id(try await engine.credential(wish(forced: forced)))
      } catch { return error.reason.rawValue }
    }

    /// The session's id of `auth.perform`, or the reason of its error.
    func performed() async throws -> String {
      var request = PerformRequest(
        application: Sample.application, registration: nil, provider: "pbx", account: account)
      request.selection = .whenMany
      do throws(Problem) {
        return Self.id(try await engine.perform(request, asking: script.asker([])))
      } catch { return error.reason.rawValue }
    }

    private static func id(_ result: PerformResult) -> String {
      guard case .session(let session)? = result.credential else { return "no session" }
      return session.password == nil && session.checkedAt == nil
        ? revealedText(session.id) : "a password is handed out"
    }
  }

  @Test(arguments: [false, true])
  func `A rejected session is replaced with the remembered password, without a prompt`(
    performs: Bool
  ) async throws {
    let world = try await World()
    try await world.engine.reject(world.wish())
    world.script.reply(Self.login("TWO"), Self.alive, Self.login("THREE"), Self.alive)
    #expect(try await (performs ? world.performed() : world.got()) == "TWO")
    #expect(world.paths == ["/login", "/me"])
    #expect(world.script.prompts.count == 1 && world.health == .ok)
    // The new session keeps the password.
    try await world.engine.reject(world.wish())
    #expect(try await world.got() == "THREE")
  }

  @Test func `Without a remembered password a dead session needs a sign-in`() async throws {
    let world = try await World(remembers: false)
    #expect(world.session?.password == nil)
    world.script.reply(Self.refusal)
    try await world.engine.reject(world.wish())
    #expect(try await world.got() == "reloginNeeded")
    #expect(try await world.performed() == "reloginNeeded")
    #expect(world.paths == ["/me"])
  }

  @Test func `A sign-in without the wish to remember removes the password`() async throws {
    let world = try await World()
    #expect(world.session?.password.map { revealedText($0) } == "PASSWORD")
    let again = Script(
      [Self.login("TWO"), Self.alive],
      answers: [.accept(text: Secret("PASSWORD"), username: "ada")], store: world.script.store)
    var request = SignInRequest(application: Sample.application, registration: nil, provider: "pbx")
    request.account = world.account
    _ = try await Einlass(
      catalog: world.engine.catalog, store: again.store.accountStore, effects: again.effects
    ).signIn(request, asking: again.asker([.enterPassword]))
    #expect(world.session.map { revealedText($0.id) } == "TWO" && world.session?.password == nil)
  }

  @Test(arguments: [false, true])
  func `A refused password is removed, and is not sent a second time`(performs: Bool) async throws {
    let world = try await World()
    try await world.engine.reject(world.wish())
    world.script.reply(Self.refusal)
    #expect(try await (performs ? world.performed() : world.got()) == "reloginNeeded")
    #expect(world.session?.password == nil && world.health == .reloginNeeded)
    #expect(world.stored?.isRefused == true)
    #expect(try await world.got() == "reloginNeeded")
    #expect(try await world.performed() == "reloginNeeded")
    #expect(world.paths == ["/login"])
    let problem = await #expect(throws: Problem.self) {
      try await world.engine.credential(world.wish())
    }
    #expect(problem?.hint?.method == "accounts.signIn")
  }

  @Test(
    arguments: [
      (.networkFailure(-1004), "networkFailure"), (.text("", status: 503), "providerFailure"),
      (.json("{}"), "providerFailure"),
    ] as [(Script.Reply, String)])
  func `Another failure of the login keeps the password, and the next request logs in`(
    reply: Script.Reply, reason: String
  ) async throws {
    for performs in [false, true] {
      let world = try await World()
      try await world.engine.reject(world.wish())
      world.script.reply(reply, Self.login("TWO"), Self.alive)
      #expect(try await (performs ? world.performed() : world.got()) == reason)
      #expect(world.session?.password != nil && world.health == .ok)
      #expect(world.paths == ["/login"])
      #expect(try await world.got() == "TWO")
    }
  }

  @Test func `A forced refresh and a renewal log in, and nothing does in the background`()
    async throws
  {
    let world = try await World()
    #expect(try world.engine.nextRefresh(world.wish(), since: Script.now) == nil)
    world.script.reply(Self.login("TWO"), Self.alive, Self.login("THREE"), Self.alive)
    #expect(try await world.got(forced: true) == "TWO")
    guard case .renewed(.session(let session)) = try await world.engine.renew(world.wish()) else {
      Issue.record("The session was not renewed.")
      return
    }
    #expect(revealedText(session.id) == "THREE" && session.password != nil)
    #expect(world.script.store.begunRenewals.isEmpty)
    // Without a password there is no way to renew.
    let other = try await World(remembers: false)
    #expect(try await other.got(forced: true) == "flowNotSupported")
  }

  @Test(arguments: [false, true])
  func `A session is checked at the age of the descriptor, and again after that time`(
    performs: Bool
  ) async throws {
    let world = try await World()
    func handedOut() async throws -> String {
      try await performs ? world.performed() : world.got()
    }
    world.script.advance(seconds: 599)
    #expect(try await handedOut() == "ONE" && world.paths.isEmpty)
    world.script.advance(seconds: 1)
    world.script.reply(Self.alive, Self.alive)
    #expect(try await handedOut() == "ONE" && world.paths == ["/me"])
    world.script.advance(seconds: 599)
    #expect(try await handedOut() == "ONE" && world.paths == ["/me"])
    // A step of the clock back is a reason to check, too.
    world.script.advance(seconds: -600)
    #expect(try await handedOut() == "ONE" && world.paths == ["/me", "/me"])
    #expect(try world.engine.storedCredential(world.wish()) != nil)
  }

  @Test(arguments: [false, true], [false, true])
  func `A session that the check refuses is replaced, or needs a sign-in`(
    performs: Bool, remembers: Bool
  ) async throws {
    let world = try await World(remembers: remembers)
    world.script.advance(seconds: 600)
    #expect(try world.engine.storedCredential(world.wish()) == nil)
    world.script.reply(Self.refusal, Self.login("TWO"), Self.alive)
    let got = try await performs ? world.performed() : world.got()
    #expect(got == (remembers ? "TWO" : "reloginNeeded"))
    #expect(world.paths == (remembers ? ["/me", "/login", "/me"] : ["/me"]))
    #expect(world.health == (remembers ? .ok : .reloginNeeded))
    // The stored answer serves the next request.
    #expect(try await world.got() == got && world.paths.count == (remembers ? 3 : 1))
  }

  @Test(
    arguments: [
      .networkFailure(-1001), .text("", status: 500), .text("", status: 404),
    ] as [Script.Reply])
  func `A check without an answer about the session hands out the stored one`(
    reply: Script.Reply
  ) async throws {
    for performs in [false, true] {
      let world = try await World()
      world.script.advance(seconds: 600)
      world.script.reply(reply, Self.alive)
      #expect(try await (performs ? world.performed() : world.got()) == "ONE")
      #expect(world.paths == ["/me"])
      // It is checked again.
      #expect(try await world.got() == "ONE" && world.paths == ["/me", "/me"])
    }
  }

  @Test func `A session that is dead stays dead when the login fails`() async throws {
    let world = try await World()
    world.script.advance(seconds: 600)
    world.script.reply(
      Self.refusal, .networkFailure(-1004), .networkFailure(-1004), Self.login("TWO"), Self.alive)
    #expect(try await world.got() == "networkFailure")
    #expect(try await world.performed() == "networkFailure")
    #expect(try await world.got() == "TWO")
    #expect(world.paths == ["/me", "/login", "/login", "/login", "/me"])
  }

  @Test func `The seconds of a check need a check`() throws {
    let check =
      #""check":{"method":"GET","url":"https://server.invalid/me","headers":{"X-Session":"{token}"}},"#
    for (old, new) in [(check, ""), (":600", ":0"), (":600", ":86401")] {
      let text = Self.descriptor.replacing(old, with: new)
      #expect(text != Self.descriptor)
      let fault = try #require(throws: ProviderCatalog.Fault.self) {
        try ProviderCatalogTests.catalog(text)
      }
      #expect(fault.pointer == "/providers/0/flows/0/checkSeconds")
    }
  }
}
