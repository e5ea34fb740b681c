import Einlass
import EinlassCrypto
import TestSupport
import Testing

struct AccessGateTests {
  /// Runs a request that ends after the selection.
  func select(
    _ script: Script, kinds: Set<Prompt.Kind> = Set(Prompt.Kind.allCases),
    _ change: (inout PerformRequest) -> Void = { _ in }
  ) async -> Result<PerformResult, Problem> {
    var request = PerformRequest(
      application: Sample.application, registration: Sample.registration, provider: "twitter",
      fetchesCredential: false)
    change(&request)
    do {
      let engine = try Sample.engine(script)
      return .success(try await engine.perform(request, asking: script.asker(kinds)))
    } catch { return .failure(error as? Problem ?? Problem(.internal, "\(error)")) }
  }

  func problem(_ result: Result<PerformResult, Problem>) -> Problem? {
    if case .failure(let problem) = result { problem } else { nil }
  }

  @Test(
    "A request without a credential ends after the selection, without registration and requests")
  func accountOnly() async throws {
    let script = Script(
      answers: [.accept(), .accept(account: Account.ID(rawValue: "a_ada"))],
      store: Sample.chirpStore(grant: nil))
    let result = try await select(script) { $0.registration = nil }.get()
    #expect(result.account.username == "ada")
    #expect(result.credential == nil && result.identity == nil)
    #expect(script.log == ["ask grantAccess", "grant granted", "ask selectAccount ada"])
  }

  @Test(
    "With a read-only store no prompt is shown, except a choice that needs no storage",
    arguments: [AccessGrant.State.granted, nil], [true, false])
  func unwritable(grant: AccessGrant.State?, fetches: Bool) async {
    let script = Script(
      answers: [.accept(account: Account.ID(rawValue: "a_ada"))],
      store: Sample.chirpStore(grant: grant))
    script.store.fail("requireWritable", with: .store(.readOnly, "It can't be written."))
    let result = await select(script) { $0.fetchesCredential = fetches }
    let isAsked = grant != nil && !fetches
    #expect(problem(result)?.detail == (isAsked ? nil : "readOnly"))
    #expect(script.log == (isAsked ? ["ask selectAccount ada"] : []))
  }

  @Test(
    "A decline is remembered as denied, and a cancel is not",
    arguments: [
      (Answer.decline, [AccessGrant.State.denied], ["ask grantAccess", "grant denied"]),
      (.cancel, [], ["ask grantAccess"]),
    ])
  func no(answer: Answer, states: [AccessGrant.State], log: [String]) async {
    let script = Script(answers: [answer], store: Sample.chirpStore(grant: nil))
    let problem = problem(await select(script))
    #expect(problem?.reason == .accessNotGranted)
    let remedy = Problem.Hint("access.reset", ["provider": "twitter"])
    #expect(problem?.hint == (answer == .decline ? remedy : nil))
    #expect(script.store.grants.map(\.state) == states)
    #expect(script.log == log)
  }

  @Test(
    "A person who does not grant more keeps the earlier grant",
    arguments: [Answer.decline, .cancel])
  func noMore(answer: Answer) async {
    let grant = AccessGrant(
      application: Sample.application, provider: "facebook", state: .granted,
      permissions: ["email"], audience: .onlyMe, changedAt: 1)
    let script = Script(
      answers: [answer],
      store: ScriptedStore(
        accounts: [Sample.account("ada@example.org", "facebook")], grants: [grant]))
    let result = await select(script) {
      $0.provider = "facebook"
      $0.permissions = ["email", "user_friends"]
    }
    #expect(problem(result)?.reason == .accessNotGranted)
    #expect(script.store.grants == [grant])
    #expect(script.log == ["ask grantAccess user_friends"])
  }

  @Test(
    "Not choosing an account ends in userCanceledAccountSelection",
    arguments: [Answer.decline, .cancel])
  func notChosen(answer: Answer) async {
    let script = Script(answers: [answer], store: Sample.chirpStore())
    #expect(problem(await select(script))?.reason == .userCanceledAccountSelection)
    let confirm = Script(answers: [answer], store: Sample.graphStore())
    let result = await select(confirm) { $0.provider = "facebook" }
    #expect(problem(result)?.reason == .userCanceledAccountSelection)
  }

  @Test("Denied access or a missing account ends the request without a prompt")
  func withoutQuestions() async {
    let denied = Script(store: Sample.chirpStore(grant: .denied))
    #expect(problem(await select(denied))?.reason == .accessNotGranted)
    let none = Script(store: Sample.chirpStore([], grant: nil))
    let problem = problem(await select(none))
    #expect(problem?.reason == .noSystemAccount)
    #expect(problem?.hint == .init("accounts.signIn", ["provider": "twitter"]))
    #expect(denied.log.isEmpty && none.log.isEmpty)
  }

  @Test("A prompt that the front end cannot show fails at once, with the kinds of prompt needed")
  func undeclared() async throws {
    for (kinds, needed) in [
      (Set<Prompt.Kind>(), [Prompt.Kind.grantAccess, .selectAccount]),
      ([.selectAccount], [.grantAccess]),
    ] {
      let script = Script(store: Sample.chirpStore(["ada", "bob"], grant: nil))
      let problem = problem(await select(script, kinds: kinds))
      #expect(problem?.reason == .interactionRequired)
      #expect(problem?.neededPrompts.map(\.kind) == needed)
      #expect(script.log.isEmpty)
    }
    let later = Script(answers: [.accept()], store: Sample.chirpStore(["ada", "bob"], grant: nil))
    let problem = problem(await select(later, kinds: [.grantAccess]))
    #expect(problem?.neededPrompts.map(\.summary) == ["selectAccount ada,bob"])
    #expect(later.log == ["ask grantAccess", "grant granted"])
  }

  @Test("A request that is not interactive shows no prompt")
  func notInteractive() async {
    let script = Script(store: Sample.chirpStore())
    let problem = problem(await select(script) { $0.isInteractive = false })
    #expect(problem?.neededPrompts.map(\.kind) == [.selectAccount])
  }

  @Test("Every prompt except the one for access can be answered in advance")
  func inAdvance() async throws {
    let ada = Account.ID(rawValue: "a_ada")
    let named = await select(Script(store: Sample.chirpStore(["ada", "bob"])), kinds: []) {
      $0.account = ada
    }
    #expect(try named.get().account.id == ada)
    let confirmed = await select(Script(store: Sample.graphStore()), kinds: []) {
      $0.provider = "facebook"
      $0.confirmsOnlyAccount = true
    }
    #expect(try confirmed.get().account.provider == "facebook")
    let access = await select(Script(store: Sample.chirpStore(grant: nil)), kinds: []) {
      $0.account = ada
    }
    #expect(problem(access)?.neededPrompts.map(\.kind) == [.grantAccess])
  }

  @Test("An account of another provider is an invalid choice, and a missing one is unknown")
  func wrongAccount() async {
    let script = Script(
      store: ScriptedStore(
        accounts: [Sample.account("ada", "twitter"), Sample.account("eve", "facebook")],
        grants: Sample.grants("twitter", .granted)))
    for (name, reason) in [("eve", Problem.Reason.invalidChoice), ("nobody", .unknownAccount)] {
      let result = await select(script) { $0.account = Account.ID(rawValue: "a_\(name)") }
      #expect(problem(result)?.reason == reason)
    }
  }

  @Test("An answer without an account, or with a removed one, is refused")
  func brokenAnswers() async {
    let none = Script(answers: [.accept()], store: Sample.chirpStore())
    #expect(problem(await select(none))?.reason == .invalidChoice)
    let gone = Script(
      answers: [.accept(account: Account.ID(rawValue: "a_gone"))], store: Sample.chirpStore())
    #expect(problem(await select(gone))?.reason == .unknownAccount)
  }

  @Test("A grant is for one application and one provider, compared as bytes")
  func otherGrants() async {
    for (application, provider) in [("\u{212A}", "twitter"), ("K", "facebook")] {
      let grant = AccessGrant(
        application: application, provider: provider, state: .granted, changedAt: 0)
      let script = Script(
        answers: [.cancel],
        store: ScriptedStore(accounts: [Sample.account("ada", "twitter")], grants: [grant]))
      let result = await select(script) { $0.application = "K" }
      #expect(problem(result)?.reason == .accessNotGranted)
      #expect(script.prompts.count == 1)
    }
  }

  @Test("The registration is checked before access, and access before the rest")
  func orderOfChecks() async {
    for (registration, missing) in [
      (nil, "clientId, clientSecret"), (ClientRegistration(clientID: "APP"), "clientSecret"),
      (ClientRegistration(clientID: "", clientSecret: Secret("s")), "clientId"),
      (ClientRegistration(clientID: "APP", clientSecret: Secret("")), "clientSecret"),
    ] as [(ClientRegistration?, String)] {
      let script = Script(store: Sample.chirpStore([], grant: .denied))
      let result = await select(script) {
        $0.registration = registration
        $0.fetchesCredential = true
      }
      let problem = problem(result)
      #expect(problem?.reason == .authenticatorUnconfigured)
      #expect(problem?.detail == missing)
      #expect(problem?.message.contains(missing) == true)
    }
  }

  @Test("An unknown provider and an unsupported flow have their problems")
  func unknown() async {
    let script = Script(store: Sample.chirpStore())
    #expect(problem(await select(script) { $0.provider = "nobody" })?.reason == .unknownProvider)
    let result = await select(script) {
      $0.flowKind = .systemToken
      $0.fetchesCredential = true
    }
    #expect(problem(result)?.reason == .flowNotSupported)
  }

  @Test(
    "A store that fails at any step ends in accountStoreFailure",
    arguments: ["reading", "decide", "credentials", "settle", "lease"])
  func storeFailure(closure: String) async throws {
    let script = Script(
      [.text(Sample.requestToken), .text(Sample.accessToken), .json(Sample.chirpIdentity)],
      answers: [.accept(), .accept(account: Account.ID(rawValue: "a_ada"))],
      store: Sample.chirpStore(grant: nil))
    let full = Problem.store(.full, "The disk is full. Make room.")
    script.store.fail(closure, with: full)
    #expect(problem(await select(script) { $0.fetchesCredential = true }) == full)
  }

  @Test("A ban is reported even if the store fails to record it")
  func banAndStoreFailure() async {
    let script = Script(
      [Sample.chirpError(64, status: 403)],
      answers: [.accept(account: Account.ID(rawValue: "a_ada"))], store: Sample.chirpStore())
    script.store.fail("settle", with: .store(.full, "The disk is full."))
    #expect(
      problem(await select(script) { $0.fetchesCredential = true })?.reason == .accountBanned)
  }

  @Test("A waiting prompt that expires or is cancelled ends the flow with that reason")
  func expiry() async {
    for reason in [Problem.Reason.flowExpired, .cancelled] {
      let script = Script(store: Sample.chirpStore())
      var asker = script.asker()
      asker.ask = { _ throws(Problem) in throw Problem(reason, "Over.") }
      let request = PerformRequest(
        application: Sample.application, registration: nil, provider: "twitter",
        fetchesCredential: false)
      let problem = await #expect(throws: Problem.self) {
        try await Sample.engine(script).perform(request, asking: asker)
      }
      #expect(problem?.reason == reason)
    }
  }
}
