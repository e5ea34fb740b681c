import EinlassCrypto
import EinlassJSON
import EinlassSystem
import TestSupport
import Testing

@testable import Einlass

/// RFC 6749 section 6: the conditions for a refresh, and the consequences of a refused one.
@Suite struct RefreshTests {
  static let account = Account.ID(rawValue: "a_ada")
  static let refresh = "POST https://sequencing.com/oauth2/token?q=oauth2%2Ftoken"
  static let fresh = #"{"access_token":"NEW","token_type":"Bearer","expires_in":3600}"#
  static let rotated = """
    {"access_token":"NEW","token_type":"Bearer","expires_in":3600,"refresh_token":"RT2"}
    """

  /// An account with a token that expires this many seconds from now.
  static func store(
    endsIn seconds: Int64?, refreshToken: String? = "RT", isRefused: Bool = false,
    health: Account.Health = .ok
  ) -> ScriptedStore {
    var account = Sample.account("ada", "sequencing")
    account.health = health
    return ScriptedStore(
      accounts: [account], grants: Sample.grants("sequencing", .granted),
      credentials: [
        account.id: [
          StoredCredential(
            role: .application, registration: ClientRegistration(clientID: "APP"),
            credential: .oauth2(
              OAuth2Credential(
                accessToken: Secret("OLD"), scopes: ["demo"],
                expiresAt: seconds.map { Script.now + $0 },
                refreshToken: refreshToken.map { Secret($0) })),
            binding: ProviderBinding(
              origins: ["https://sequencing.com"], clientID: "APP", flowKind: .authorizationCode),
            isRefused: isRefused)
        ]
      ])
  }

  static func perform(_ change: (inout PerformRequest) -> Void = { _ in }) -> PerformRequest {
    var request = PerformRequest(
      application: Sample.application, registration: Sample.registration, provider: "sequencing",
      selection: .whenMany)
    change(&request)
    return request
  }

  /// The requests and changes, without the deadline of the wait for the lease.
  func work(_ script: Script) -> [String] { script.log.filter { !$0.hasPrefix("sleep") } }

  func stored(_ script: Script) -> OAuth2Credential? {
    let stored = script.store.credentials(of: Self.account).first?.credential
    if case .oauth2(let token)? = stored { return token } else { return nil }
  }

  @Test(
    "A token that cannot be refreshed is no fault of a healthy account",
    arguments: [
      (store(endsIn: nil, refreshToken: nil), "notRenewable"),
      (store(endsIn: 60, refreshToken: nil), "notRenewable"),
      (Sample.chirpStore(), "notRenewable"), (store(endsIn: 0, refreshToken: nil), nil),
      (store(endsIn: nil, refreshToken: nil, isRefused: true), nil),
      (store(endsIn: nil, refreshToken: nil, health: .reloginNeeded), nil),
    ])
  func notRenewable(store: ScriptedStore, detail: String?) async throws {
    let script = Script(store: store)
    let health = store.accounts[0].health
    for kinds: Set<Prompt.Kind> in [[], [.openURL, .enterVerifier]] {
      var request = RetrievalTests.request("ada")
      request.promptKinds = kinds
      guard case .failed(let problem) = try await Sample.engine(script).renew(request) else {
        Issue.record("It did not fail.")
        continue
      }
      #expect(problem.reason == .reloginNeeded && problem.detail == detail)
      #expect(problem.message.contains("It is still valid") == (detail != nil))
      #expect(problem.hint?.method == (kinds.isEmpty ? "accounts.add" : "accounts.signIn"))
    }
    #expect(work(script).isEmpty && store.accounts[0].health == health)
  }

  @Test(
    "A token is refreshed ten minutes before its end, on demand, and after a resource refused it",
    arguments: [
      (store(endsIn: nil), RetrievalTests.request("ada"), false),
      (store(endsIn: 601), RetrievalTests.request("ada"), false),
      (store(endsIn: 600), RetrievalTests.request("ada"), true),
      (store(endsIn: -5), RetrievalTests.request("ada"), true),
      (store(endsIn: 600), RetrievalTests.request("ada", minValidity: 10), false),
      (store(endsIn: 5000), RetrievalTests.request("ada", minValidity: 5000), true),
      (store(endsIn: nil), RetrievalTests.request("ada", forced: true), true),
      (store(endsIn: nil, isRefused: true), RetrievalTests.request("ada"), true),
      (store(endsIn: 5, refreshToken: nil), RetrievalTests.request("ada"), false),
    ])
  func when(store: ScriptedStore, request: CredentialRequest, isRefreshed: Bool) async throws {
    let script = Script([.json(Self.fresh)], store: store)
    let result = try await Sample.engine(script).credential(request)
    let token = try #require(result.credential.flatMap(oauth2))
    #expect(token.accessToken == Secret(isRefreshed ? "NEW" : "OLD"))
    #expect(token.refreshToken == nil)
    #expect(work(script) == (isRefreshed ? [Self.refresh, "save application APP"] : []))
    guard isRefreshed else { return }
    #expect(
      FormEncoding.decode(script.requests[0].body, plus: .space) == [
        Parameter("grant_type", "refresh_token"), Parameter("refresh_token", "RT"),
      ])
    #expect(stored(script)?.refreshToken == Secret("RT") && stored(script)?.scopes == ["demo"])
  }

  @Test func `A rotated token is stored before it is handed out, or is not handed out`()
    async throws
  {
    let script = Script([.json(Self.rotated)], store: Self.store(endsIn: 0))
    _ = try await Sample.engine(script).credential(RetrievalTests.request("ada"))
    #expect(stored(script)?.refreshToken == Secret("RT2"))
    let full = Script([.json(Self.rotated)], store: Self.store(endsIn: 0))
    full.store.fail("settle", with: .store(.full, "No room."))
    let problem = await #expect(throws: Problem.self) {
      try await Sample.engine(full).credential(RetrievalTests.request("ada"))
    }
    #expect(problem?.reason == .tokenNotSaved)
    #expect(problem?.account == Self.account && problem?.provider == "sequencing")
  }

  @Test(
    "Only a refused grant marks the account, and any other refusal for good asks for a sign-in too",
    arguments: [
      (
        Script.Reply.json(#"{"error":"invalid_grant"}"#, status: 400), Problem.Reason.reloginNeeded,
        Account.Health.reloginNeeded
      ),
      (.json(#"{"error":"invalid_client"}"#, status: 401), .authenticatorUnconfigured, .ok),
      (.json(#"{"error":"invalid_request"}"#, status: 400), .reloginNeeded, .ok),
      (.json(#"{"error":"interaction_required"}"#, status: 400), .reloginNeeded, .reloginNeeded),
      (.json(#"{"error":"invalid_grant"}"#, status: 503), .providerFailure, .ok),
      (.json(#"{"error":"invalid_target"}"#, status: 400), .providerFailure, .ok),
      (.json(#"{"error":"server_error"}"#, status: 500), .providerFailure, .ok),
      (.json(#"{"error":"temporarily_unavailable"}"#, status: 400), .providerFailure, .ok),
      (.text("busy", status: 503), .providerFailure, .ok),
      (.text("", status: 429), .throttled, .ok),
      (.json(#"{"error":"temporarily_unavailable"}"#, status: 429), .throttled, .ok),
      (.json(#"{"error":"invalid_grant"}"#, status: 429), .throttled, .ok),
      (.text("<html>invalid_grant", status: 400), .providerFailure, .ok),
      (.json(#"{"error":"slow"}"#, status: 408), .providerFailure, .ok),
      (.text("404 page not found", status: 404), .providerFailure, .ok),
      (.text("Forbidden", status: 403), .providerFailure, .ok),
      (.text("Locked", status: 423), .providerFailure, .ok),
      (.text("Invalid refresh token", status: 401), .reloginNeeded, .ok),
      (.json(#"{"error":"invalid_grant"}"#), .providerFailure, .ok),
      (.networkFailure(-1005), .networkFailure, .ok),
    ])
  func failures(reply: Script.Reply, reason: Problem.Reason, health: Account.Health) async throws {
    for isPerform in [false, true] {
      let script = Script([reply], store: Self.store(endsIn: 0))
      let problem = await #expect(throws: Problem.self) {
        if isPerform {
          _ = try await Sample.engine(script).perform(Self.perform(), asking: script.asker([]))
        } else {
          _ = try await Sample.engine(script).credential(RetrievalTests.request("ada"))
        }
      }
      #expect(problem?.reason == reason)
      #expect(script.store.accounts[0].health == health)
      #expect(stored(script)?.refreshToken == Secret("RT"))
    }
  }

  @Test(arguments: [(503, "busy"), (400, #"{"error":"invalid_request"}"#), (200, "<html>")])
  func `A token with some minutes left is handed out although its refresh fails`(
    status: Int, body: String
  ) async throws {
    for isPerform in [false, true] {
      let script = Script([.text(body, status: status)], store: Self.store(endsIn: 300))
      let engine = try Sample.engine(script)
      let result =
        isPerform
        ? try await engine.perform(Self.perform(), asking: script.asker([]))
        : try await engine.credential(RetrievalTests.request("ada"))
      let token = try #require(result.credential.flatMap(oauth2))
      #expect(token.accessToken == Secret("OLD"))
    }
  }

  /// A refreshed token could not be stored, so no refresh is sent.
  @Test(
    "With a read-only store no refresh is sent, and a valid token is still handed out",
    arguments: [
      (store(endsIn: 300), RetrievalTests.request("ada"), true),
      (store(endsIn: 0), RetrievalTests.request("ada"), false),
      (store(endsIn: 300), RetrievalTests.request("ada", minValidity: 400), false),
      (store(endsIn: 300), RetrievalTests.request("ada", forced: true), false),
    ])
  func unwritable(store: ScriptedStore, request: CredentialRequest, serves: Bool) async throws {
    store.fail("lease", with: .store(.readOnly, "It can't be written."))
    let script = Script([.json(Self.rotated)], store: store)
    let engine = try Sample.engine(script)
    do throws(Problem) {
      let result = try await engine.credential(request)
      guard let token = result.credential.flatMap(oauth2) else {
        Issue.record("There is no token.")
        return
      }
      #expect(serves && token.accessToken == Secret("OLD"))
    } catch {
      #expect(!serves && error.detail == "readOnly")
    }
    #expect(script.requests.isEmpty)
  }

  /// The scripted clock ends the wait at once.
  @Test(
    "A lease that fails at the end of the wait reports its own failure",
    arguments: [
      (Problem.store(.readOnly, "It can't be written."), "readOnly"),
      (Problem(.cancelled, "The request was cancelled."), "locked"),
    ])
  func leaseThatFailsLate(failure: Problem, detail: String) async throws {
    let script = Script([], store: Self.store(endsIn: 0))
    let store = script.store.accountStore.with(lease: { _ throws(Problem) in
      while !Task.isCancelled { await Task.yield() }
      throw failure
    })
    let engine = Einlass(catalog: .builtIn, store: store, effects: script.effects)
    let problem = await #expect(throws: Problem.self) {
      try await engine.credential(RetrievalTests.request("ada"))
    }
    #expect(problem?.detail == detail)
  }

  @Test(
    "A credential of 48 KiB in all is stored, and none of a byte more",
    arguments: [0, 1], [false, true])
  func large(excess: Int, isPerform: Bool) async throws {
    // The stored credential also has the refresh token and the scope, in quotes and with a comma.
    let rest = "RT".utf8.count + "demo".utf8.count + 3
    let token = String(repeating: "t", count: 48 << 10 - rest + excess)
    let script = Script(
      [.json(#"{"access_token":"\#(token)","token_type":"Bearer"}"#)], store: Self.store(endsIn: 0))
    let engine = try Sample.engine(script)
    var problem: Problem?
    do throws(Problem) {
      _ =
        isPerform
        ? try await engine.perform(Self.perform(), asking: script.asker([]))
        : try await engine.credential(RetrievalTests.request("ada"))
    } catch { problem = error }
    #expect(problem?.reason == (excess == 0 ? nil : .providerFailure))
    #expect(stored(script)?.accessToken == Secret(excess == 0 ? token : "OLD"))
    #expect(script.store.accounts[0].health == .ok)
  }

  @Test func `The error text of a token endpoint is cleaned, cut and stripped of sent secrets`()
    async throws
  {
    let canary = "canary of the refresh token"
    let words = "\u{1B}[31ma\u{202E}b\u{0}\r\n\(canary) \(PercentEncoding.encode(canary)) "
    let said: JSONValue = [
      "error": .string("no\u{7} \(canary)"),
      "error_description": .string(words + String(repeating: "é ", count: 1 << 18)),
    ]
    let script = Script(
      [.text(said.text, status: 400)], store: Self.store(endsIn: 0, refreshToken: canary))
    let problem = await #expect(throws: Problem.self) {
      try await Sample.engine(script).credential(RetrievalTests.request("ada"))
    }
    #expect(problem?.serverError?.code == "no …")
    let text = try #require(problem?.serverError?.text)
    #expect(text.hasPrefix("[31mab… … é é") && (197...200).contains(text.utf8.count))
  }

  @Test func `A request with a stored account refreshes the token without a prompt`() async throws {
    let script = Script([.json(Self.rotated)], store: Self.store(endsIn: 0))
    let result = try await Sample.engine(script).perform(Self.perform(), asking: script.asker([]))
    let token = try #require(result.credential.flatMap(oauth2))
    #expect(token.accessToken == Secret("NEW"))
    #expect(work(script) == [Self.refresh, "save application APP", "update"])
  }

  @Test(
    "A request gets the stored token if it is valid for the requested time",
    arguments: [
      (store(endsIn: 5000), 4999, true), (store(endsIn: 5000), 5000, false),
      (store(endsIn: 10), 5, true), (store(endsIn: 100, refreshToken: nil), 99, true),
    ] as [(ScriptedStore, Int64, Bool)])
  func performValidity(store: ScriptedStore, seconds: Int64, serves: Bool) async throws {
    let script = Script([.json(Self.rotated)], store: store)
    let result = try await Sample.engine(script).perform(
      Self.perform { $0.minValiditySeconds = seconds }, asking: script.asker([]))
    let token = try #require(result.credential.flatMap(oauth2))
    #expect(token.accessToken == Secret(serves ? "OLD" : "NEW"))
    #expect(script.requests.count == (serves ? 0 : 1))
  }

  @Test func `A token that is not valid for the requested time is not handed out`() async throws {
    for (store, reason) in [
      (Self.store(endsIn: 300), Problem.Reason.providerFailure),
      (Self.store(endsIn: 300, refreshToken: nil), .reloginNeeded),
    ] {
      let script = Script([.text("busy", status: 503)], store: store)
      let problem = await #expect(throws: Problem.self) {
        try await Sample.engine(script).perform(
          Self.perform { $0.minValiditySeconds = 400 }, asking: script.asker([]))
      }
      #expect(problem?.reason == reason)
    }
  }

  @Test func `After a refused grant the person signs in again if the request allows it`()
    async throws
  {
    let script = Script(
      [.json(#"{"error":"invalid_grant"}"#, status: 400), .json(AuthorizationCodeFlowTests.token)],
      answers: [.accept()], brought: [AuthorizationCodeFlowTests.good()],
      store: Self.store(endsIn: 0))
    let request = Self.perform {
      $0.signIn = AuthorizationCodeFlowTests.request()
      $0.signsInIfNeeded = true
    }
    let result = try await Sample.engine(script).perform(request, asking: script.asker([.openURL]))
    let token = try #require(result.credential.flatMap(oauth2))
    #expect(token.accessToken == Secret("AT") && result.account.id == Self.account)
    #expect(script.store.accounts.count == 1 && script.store.accounts[0].health == .ok)
    #expect(stored(script)?.refreshToken == Secret("RT"))
  }

  @Test(arguments: [true, false])
  func `A sign-in for the application is the only question, unless access is asked for`(
    grants: Bool
  ) async throws {
    let script = Script(
      [.json(AuthorizationCodeFlowTests.token)], answers: [.accept(), .accept()],
      brought: [AuthorizationCodeFlowTests.good()])
    let granted = Lock<[AccessGrant]>([])
    let request = Self.perform {
      $0.selection = .always
      $0.signIn = AuthorizationCodeFlowTests.request()
      $0.signIn?.granted = { grant, _ in granted.withLock { $0.append(grant) } }
      $0.signsInIfNeeded = true
    }
    let engine = Einlass(
      catalog: try Sample.engine(script).catalog, store: script.store.accountStore,
      effects: script.effects, signInsGrantAccess: grants)
    let result = try await engine.perform(
      request, asking: script.asker([.openURL, .grantAccess]))
    #expect(script.prompts.map(\.kind) == (grants ? [.openURL] : [.openURL, .grantAccess]))
    #expect(script.store.grants.map(\.accounts) == [grants ? [result.account.id] : nil])
    #expect(granted.withLock { $0 } == (grants ? script.store.grants : []))
  }

  @Test func `A grant that could not be stored is not reported`() async throws {
    let script = Script(
      [.json(AuthorizationCodeFlowTests.token)], answers: [.accept()],
      brought: [AuthorizationCodeFlowTests.good()])
    script.store.fail("decide", with: .store(.full, "The disk is full."))
    let granted = Lock(false)
    var request = AuthorizationCodeFlowTests.request()
    request.granted = { _, _ in granted.withLock { $0 = true } }
    let added = try await Sample.engine(script).signIn(request, asking: script.asker())
    #expect(added.created && !added.isGranted && !granted.withLock { $0 })
    #expect(script.store.grants == [])
  }

  @Test func `A stored denial stays after a sign-in for the application`() async throws {
    let denial = AccessGrant(
      application: AuthorizationCodeFlowTests.request().application,
      provider: AuthorizationCodeFlowTests.request().provider, state: .denied, changedAt: 1)
    let script = Script(
      [.json(AuthorizationCodeFlowTests.token)], answers: [.accept()],
      brought: [AuthorizationCodeFlowTests.good()], store: ScriptedStore(grants: [denial]))
    let added = try await Sample.engine(script).signIn(
      AuthorizationCodeFlowTests.request(), asking: script.asker())
    #expect(!added.isGranted && script.store.grants == [denial])
  }

  @Test func `The hint is accounts.signIn if a page can be shown, and else accounts.add`()
    async throws
  {
    for (kinds, method) in [([Prompt.Kind.openURL], "accounts.signIn"), ([], "accounts.add")] {
      let none = Script()
      let missing = await #expect(throws: Problem.self) {
        try await Sample.engine(none).perform(Self.perform(), asking: none.asker(Set(kinds)))
      }
      #expect(missing?.reason == .noSystemAccount && missing?.hint?.method == method)
      let dead = Script(store: Self.store(endsIn: 0, health: .reloginNeeded))
      var request = RetrievalTests.request("ada")
      request.promptKinds = Set(kinds)
      let problem = await #expect(throws: Problem.self) {
        try await Sample.engine(dead).credential(request)
      }
      #expect(problem?.reason == .reloginNeeded && problem?.hint?.method == method)
      #expect(dead.requests.isEmpty)
    }
  }
}

private func oauth2(_ credential: Credential) -> OAuth2Credential? {
  if case .oauth2(let token) = credential { token } else { nil }
}
