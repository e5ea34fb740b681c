import EinlassCrypto
import TestSupport
import Testing

@testable import Einlass

/// A refresh with a lost answer. The refresh token can be dead already, or still work for some
/// seconds.
struct LostAnswerTests {
  static let begun = BegunRenewal(account: RefreshTests.account, generation: 0)
  static let fresh = Script.Reply.json(RefreshTests.rotated)
  static let refused = Script.Reply.json(#"{"error":"invalid_grant"}"#, status: 400)

  static func request(_ application: String = Sample.application) -> CredentialRequest {
    RetrievalTests.request("ada", application: application)
  }

  @Test(
    "A refresh with a lost answer is sent once more at once, and leaves nothing for other processes",
    arguments: [
      ([.lostAnswer, fresh], 2, nil),
      ([.lostAnswer, refused], 2, .reloginNeeded),
      ([.lostAnswer, .lostAnswer, fresh], 2, .networkFailure),
      ([.lostAnswer, .networkFailure(-1004)], 2, .networkFailure),
      ([.lostAnswer, .text("busy", status: 503)], 2, .providerFailure),
      ([.networkFailure(-1004), fresh], 1, .networkFailure),
      ([.text("busy", status: 503), fresh], 1, .providerFailure),
    ] as [([Script.Reply], Int, Problem.Reason?)])
  func lost(replies: [Script.Reply], requestCount: Int, reason: Problem.Reason?) async throws {
    let script = Script(replies, store: RefreshTests.store(endsIn: 0))
    let engine = try Sample.engine(script)
    do throws(Problem) {
      _ = try await engine.credential(Self.request())
      #expect(reason == nil)
    } catch { #expect(error.reason == reason) }
    #expect(script.requests.count == requestCount)
    #expect(Set(script.requests.map(\.body)).count == 1)
    #expect(script.store.begunRenewals.isEmpty)
  }

  @Test(
    "An empty 400 is retried once, then the person can sign in again and the token is kept",
    arguments: [false, true])
  func wordless(isPerform: Bool) async throws {
    let script = Script(
      [.text("", status: 400), .text("", status: 400), Self.fresh],
      store: RefreshTests.store(endsIn: 0))
    let engine = try Sample.engine(script)
    var request = Self.request()
    request.promptKinds = [.openURL]
    func token() async throws -> Credential? {
      isPerform
        ? try await engine.perform(RefreshTests.perform(), asking: script.asker([.openURL]))
          .credential
        : try await engine.credential(request).credential
    }
    let problem = await #expect(throws: Problem.self) { try await token() }
    #expect(problem?.reason == .reloginNeeded && problem?.isRetryable == true)
    #expect(problem?.hint?.method == "accounts.signIn" && problem?.serverError?.status == 400)
    #expect(script.requests.count == 2 && script.store.accounts[0].health == .ok)
    #expect(script.store.accounts[0].serviceRefusals.compactMap(\.refresh) == [.failed])
    #expect(script.store.begunRenewals.isEmpty)
    // The next request tries the refresh token again.
    #expect(try await token() != nil)
    #expect(script.requests.count == 3 && Set(script.requests.map(\.body)).count == 1)
  }

  @Test func `A valid token is still handed out while its refresh gets empty errors`()
    async throws
  {
    let script = Script(
      [.text("", status: 400), .text("", status: 400)], store: RefreshTests.store(endsIn: 300))
    _ = try await Sample.engine(script).credential(Self.request())
    #expect(script.requests.count == 2)
  }

  @Test func `A refresh is remembered before its request is sent`() async throws {
    let script = Script([Self.fresh], store: RefreshTests.store(endsIn: 0))
    let effects = script.effects.with(send: {
      [send = script.effects.send] request throws(Problem) in
      #expect(script.store.begunRenewals == [Self.begun])
      return try await send(request)
    })
    let engine = Einlass(
      catalog: ProviderCatalog.builtIn, store: script.store.accountStore, effects: effects)
    _ = try await engine.credential(Self.request())
    #expect(script.requests.count == 1 && script.store.begunRenewals.isEmpty)
  }

  @Test func `A refresh that a killed process left behind is tried again`() async throws {
    let script = Script([Self.fresh], store: RefreshTests.store(endsIn: 5000))
    script.store.begunRenewals = [Self.begun]
    let engine = try Sample.engine(script)
    try await engine.finish(Self.begun) { _ in Self.request() }
    #expect(script.requests.count == 1 && script.store.begunRenewals.isEmpty)
    #expect(script.log.contains(Self.pause(of: script)))
    // The refresh has its answer now.
    try await engine.finish(Self.begun) { _ in Self.request() }
    #expect(script.requests.count == 1)
  }

  @Test(arguments: [false, true])
  func `Only a refresh that a killed process left behind is repeated after a pause`(
    isLeftBehind: Bool
  ) async throws {
    let script = Script(
      [.lostAnswer, Self.fresh], store: RefreshTests.store(endsIn: 0))
    if isLeftBehind { script.store.begunRenewals = [Self.begun] }
    _ = try await Sample.engine(script).credential(Self.request())
    let first = try #require(script.log.firstIndex { $0.hasPrefix("POST") })
    // The lost answer of its own request is asked for again at once.
    #expect(script.requests.count == 2 && !script.log[first...].contains(Self.pause(of: script)))
    #expect(script.log[..<first].contains(Self.pause(of: script)) == isLeftBehind)
  }

  private static func pause(of script: Script) -> String {
    "sleep until \(script.effects.now() + 2)"
  }

  @Test func `An application without access leaves a begun refresh to others`() async throws {
    let script = Script([Self.fresh], store: RefreshTests.store(endsIn: 0))
    script.store.begunRenewals = [Self.begun]
    let problem = await #expect(throws: Problem.self) {
      try await Sample.engine(script).finish(Self.begun) { _ in Self.request("stranger") }
    }
    #expect(problem?.reason == .accessNotGranted)
    var foreign = Self.request()
    foreign.registration = { _ in
      ClientRegistration(clientID: "OTHER", clientSecret: Secret("OTHER-SECRET"))
    }
    try await Sample.engine(script).finish(Self.begun) { [foreign] _ in foreign }
    #expect(script.requests.isEmpty && script.store.begunRenewals == [Self.begun])
  }

  @Test(arguments: [RefreshTests.account, Account.ID(rawValue: "a_gone")])
  func `A begun refresh of a replaced credential or removed account is forgotten`(
    account: Account.ID
  )
    async throws
  {
    let script = Script(store: RefreshTests.store(endsIn: 0))
    let former = BegunRenewal(account: account, generation: 7)
    script.store.begunRenewals = [former]
    try await Sample.engine(script).finish(former) { _ in Self.request() }
    #expect(script.requests.isEmpty && script.store.begunRenewals.isEmpty)
  }
}
