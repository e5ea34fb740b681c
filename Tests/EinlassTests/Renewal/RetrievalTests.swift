import Einlass
import EinlassCrypto
import TestSupport
import Testing

/// Credentials of an account for an application, without a person, and the requests that they take.
struct RetrievalTests {
  static let mint = "POST https://graph.facebook.com/oauth/access_token"
  static let me = "GET https://graph.facebook.com/v26.0/me?fields=id%2Cname%2Cemail"
  static let reverse = [
    "POST https://api.twitter.com/oauth/request_token",
    "POST https://api.twitter.com/oauth/access_token",
  ]

  /// A store with the application's token beside the account's own. The former expires this many
  /// seconds from now.
  static func store(
    endsIn seconds: Int64?, isRefused: Bool = false, health: Account.Health = .ok
  ) -> ScriptedStore {
    let store = Sample.graphStore(issuedTo: ["SYSFB", "APP"], health: health)
    var stored = store.credentials(of: SystemTokenFlowTests.account)[1]
    stored.credential = .oauth2(
      OAuth2Credential(
        accessToken: Secret("STORED"), expiresAt: seconds.map { Script.now + $0 }))
    stored.isRefused = isRefused
    store.put(stored, of: SystemTokenFlowTests.account)
    return store
  }

  static func request(
    _ account: String = "ada@example.org", application: String = Sample.application,
    minValidity: Int64? = nil, forced: Bool = false
  ) -> CredentialRequest {
    CredentialRequest(
      application: application, registration: { _ in Sample.registration },
      account: Account.ID(rawValue: "a_\(account)"), minValiditySeconds: minValidity,
      forcesRefresh: forced)
  }

  func token(_ script: Script, _ request: CredentialRequest = request()) async throws -> String {
    switch try await Sample.engine(script).credential(request).credential {
    case .oauth2(let credential):
      String(decoding: credential.accessToken.reveal(), as: UTF8.self)
    case .oauth1(let credential): String(decoding: credential.token.reveal(), as: UTF8.self)
    case .session(let credential): String(decoding: credential.id.reveal(), as: UTF8.self)
    case nil: ""
    }
  }

  /// The requests and changes, without the deadline of the wait for the lease.
  func work(_ script: Script) -> [String] { script.log.filter { !$0.hasPrefix("sleep") } }

  @Test(
    "A stored token is handed out if it is valid for the requested time",
    arguments: [
      (store(endsIn: nil), request(), false), (store(endsIn: 61), request(), false),
      (store(endsIn: 60), request(), true), (store(endsIn: -1), request(), true),
      (store(endsIn: 600), request(minValidity: 599), false),
      (store(endsIn: 600), request(minValidity: 600), true),
      (store(endsIn: 10), request(minValidity: 0), false),
      (store(endsIn: nil), request(forced: true), true),
      (store(endsIn: nil, isRefused: true), request(), true),
      (store(endsIn: nil, health: .reloginNeeded), request(), false),
    ])
  func stored(store: ScriptedStore, request: CredentialRequest, isRenewed: Bool) async throws {
    let script = Script([.json(Sample.renewed)], store: store)
    #expect(try await token(script, request) == (isRenewed ? "RENEWED" : "STORED"))
    #expect(work(script) == (isRenewed ? [Self.mint, "save application APP"] : []))
  }

  @Test("A token that is still valid is handed out while the provider is down")
  func offline() async throws {
    for (request, isServed) in [
      (Self.request(), true), (Self.request(minValidity: 300), false),
      (Self.request(forced: true), false),
    ] {
      let script = Script(
        [.text("busy", status: 503)], store: Self.store(endsIn: 30))
      #expect((try? await token(script, request)) == (isServed ? "STORED" : nil))
    }
  }

  @Test("Without a stored token reverse auth runs, without the identity request")
  func reverseAuth() async throws {
    let script = Script(
      [.text(Sample.requestToken), .text(Sample.accessToken)], store: Sample.chirpStore())
    #expect(try await token(script, Self.request("ada")) == "USER-TOKEN")
    #expect(try await token(script, Self.request("ada")) == "USER-TOKEN")
    #expect(work(script) == Self.reverse + ["save application APP"])
  }

  @Test("An application without a token gets a new one")
  func mint() async throws {
    let script = Script([.json(Sample.minted)], store: Sample.graphStore())
    #expect(try await token(script) == "MINTED")
    #expect(work(script) == [Self.mint, "save application APP"])
  }

  @Test("Without access, account or usable credential no request is sent")
  func refusals() async throws {
    let cases: [(ScriptedStore, CredentialRequest, Problem.Reason)] = [
      (Self.store(endsIn: nil), Self.request(application: "other"), .accessNotGranted),
      (Self.store(endsIn: nil), Self.request("nobody"), .unknownAccount),
      (Self.store(endsIn: -1, health: .reloginNeeded), Self.request(), .reloginNeeded),
      (Sample.graphStore(issuedTo: []), Self.request(), .reloginNeeded),
    ]
    for (store, request, reason) in cases {
      let script = Script(store: store)
      let problem = await #expect(throws: Problem.self) { try await token(script, request) }
      #expect(problem?.reason == reason)
      #expect(work(script).isEmpty)
    }
  }

  @Test("A rejected credential is marked, and the provider is asked for the account's state")
  func reject() async throws {
    let script = Script([Sample.graphError(190)], store: Self.store(endsIn: nil))
    try await Sample.engine(script).reject(Self.request())
    #expect(work(script) == ["refuse", "refuse no service until 60", Self.me])
  }

  @Test("A sign-out revokes the application's token first and always deletes the credentials")
  func signOut() async throws {
    let revoke = "DELETE https://graph.facebook.com/v26.0/me/permissions"
    let script = Script(
      [.json(#"{"success":true}"#), .text("no", status: 500)], store: Self.store(endsIn: nil))
    let report = try await Sample.engine(script).signOut(SystemTokenFlowTests.account)
    #expect(work(script) == ["forget", revoke, revoke])
    #expect(report.revoked == ["application APP"])
    #expect(report.notRevoked.map(\.what) == ["system"])
    #expect(script.requests.map(\.headers.last?.value) == ["Bearer STORED", "Bearer TOKEN-SYSFB"])
    let silent = Script(store: Self.store(endsIn: nil))
    let left = try await Sample.engine(silent).signOut(
      SystemTokenFlowTests.account, revokes: false)
    #expect(work(silent) == ["forget"] && left.revoked.isEmpty && left.notRevoked.count == 1)
  }

  @Test func `A forced refresh without a refresh token says that a sign-in brings one`()
    async throws
  {
    let script = Script(store: RefreshTests.store(endsIn: 3600, refreshToken: nil))
    var request = Self.request("ada")
    (request.forcesRefresh, request.promptKinds) = (true, [.openURL])
    let problem = await #expect(throws: Problem.self) {
      try await Sample.engine(script).credential(request)
    }
    #expect(problem?.reason == .reloginNeeded && problem?.detail == "notRenewable")
    #expect(problem?.message.contains("A new sign-in brings a refresh token") == true)
    #expect(problem?.hint?.method == "accounts.signIn")
    #expect(script.requests.isEmpty && script.store.accounts[0].health == .ok)
  }
}
