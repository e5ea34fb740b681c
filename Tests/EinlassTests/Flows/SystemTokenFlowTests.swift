import Einlass
import EinlassCrypto
import TestSupport
import Testing

/// The system-token flow: access, confirmation, a new token, identity; one repeated grant and one
/// renewal.
struct SystemTokenFlowTests {
  static let mint = "POST https://graph.facebook.com/oauth/access_token"
  static let me = "GET https://graph.facebook.com/v26.0/me?fields=id%2Cname%2Cemail"
  static let defaults = "user_birthday,user_location,user_friends,email,public_profile"
  static let account = Account.ID(rawValue: "a_ada@example.org")

  func request(_ change: (inout PerformRequest) -> Void = { _ in }) -> PerformRequest {
    var request = PerformRequest(
      application: Sample.application, registration: ClientRegistration(clientID: "APP"),
      provider: "facebook")
    change(&request)
    return request
  }

  func problem(_ script: Script, _ request: PerformRequest? = nil) async throws -> Problem {
    let request = request ?? self.request()
    let problem = await #expect(throws: Problem.self) {
      try await Sample.engine(script).perform(request, asking: script.asker())
    }
    return try #require(problem)
  }

  func bearers(_ script: Script) -> [String] {
    script.requests.map { request in
      request.headers.first { $0.name == "Authorization" }?.value ?? ""
    }
  }

  @Test("A first sign-in prompts for access and account, then gets a token and the identity")
  func firstTime() async throws {
    let script = Script(
      [.json(Sample.minted), .json(Sample.graphIdentity)], answers: [.accept(), .accept()],
      store: Sample.graphStore(grant: nil))
    let result = try await Sample.engine(script).perform(request(), asking: script.asker())
    #expect(
      script.log == [
        "ask grantAccess \(Self.defaults)", "grant granted", "ask confirmAccount ada@example.org",
        Self.mint, Self.me, "save application APP", "update",
      ])
    #expect(bearers(script) == ["Bearer TOKEN-SYSFB", "Bearer MINTED"])
    #expect(
      FormEncoding.decode(script.requests[0].body, plus: .plus) == [
        Parameter("grant_type", "fb_attenuate_token"), Parameter("client_id", "APP"),
        Parameter("scope", Self.defaults), Parameter("audience", "me"),
      ])
    #expect(
      result.credential
        == .oauth2(
          OAuth2Credential(
            accessToken: Secret("MINTED"),
            scopes: Self.defaults.split(separator: ",").map(String.init),
            expiresAt: Script.now + 3600)))
    var identity = try #require(result.identity)
    identity.profile = nil
    #expect(
      identity
        == Identity(
          id: "42", name: "Ada Lovelace", email: "ada@example.org",
          avatar: "https://graph.facebook.com/42/picture?type=large"))
    #expect(script.store.grants[0].audience == .onlyMe)
    #expect(script.store.credentials(of: Self.account).map(\.role) == [.system, .application])
  }

  @Test(
    "Permissions and audience are sent under the provider's names",
    arguments: [
      (nil, nil, defaults, "me"), ([], AccessGrant.Audience.onlyMe, defaults, "me"),
      (["email"], .friends, "email", "friends"), (["a", "b"], .everyone, "a,b", "everyone"),
    ] as [([String]?, AccessGrant.Audience?, String, String)])
  func permissions(
    asked: [String]?, audience: AccessGrant.Audience?, scope: String, word: String
  ) async throws {
    let script = Script(
      [.json(Sample.minted), .json(Sample.graphIdentity)], answers: [.accept(), .accept()],
      store: Sample.graphStore(grant: nil))
    let request = request {
      $0.permissions = asked
      $0.audience = audience
    }
    _ = try await Sample.engine(script).perform(request, asking: script.asker())
    let form = FormEncoding.decode(script.requests[0].body, plus: .plus)
    #expect(form?[2...] == [Parameter("scope", scope), Parameter("audience", word)])
    #expect(script.store.grants[0].permissions == scope.split(separator: ",").map(String.init))
    #expect(script.store.grants[0].audience == audience ?? .onlyMe)
  }

  @Test(
    "The application's stored token is used while access is granted or no new one is possible",
    arguments: [
      (["SYSFB", "APP"], AccessGrant.State.granted, "Bearer TOKEN-APP"),
      (["APP"], .granted, "Bearer TOKEN-APP"), (["APP"], nil, "Bearer TOKEN-APP"),
    ] as [([String], AccessGrant.State?, String)])
  func stored(clients: [String], grant: AccessGrant.State?, bearer: String) async throws {
    let script = Script(
      [.json(Sample.graphIdentity)], answers: grant == nil ? [.accept()] : [],
      store: Sample.graphStore(grant: grant, issuedTo: clients))
    let result = try await Sample.engine(script).perform(
      request { $0.confirmsOnlyAccount = true }, asking: script.asker())
    #expect(bearers(script) == [bearer])
    #expect(!script.log.contains { $0.hasPrefix("save") })
    #expect(
      result.credential == .oauth2(OAuth2Credential(accessToken: Secret("TOKEN-APP"))))
  }

  @Test("A new grant gets a new token even if one is stored")
  func newGrant() async throws {
    let script = Script(
      [.json(Sample.minted), .json(Sample.graphIdentity)], answers: [.accept(), .accept()],
      store: Sample.graphStore(grant: nil, issuedTo: ["SYSFB", "APP"]))
    _ = try await Sample.engine(script).perform(request(), asking: script.asker())
    #expect(bearers(script) == ["Bearer TOKEN-SYSFB", "Bearer MINTED"])
    #expect(script.store.credentials(of: Self.account).count == 2)
  }

  @Test(
    "A stored token with too few permissions is replaced by a new one",
    arguments: [
      (["email"], ["email"], false), (["email", "b"], ["email"], false), ([], ["email"], false),
      (["email"], ["email", "user_friends"], true), (["\u{212A}"], ["K"], true),
    ])
  func narrow(scopes: [String], asked: [String], isMinted: Bool) async throws {
    let store = Sample.graphStore(issuedTo: ["SYSFB", "APP"])
    var stored = store.credentials(of: Self.account)[1]
    stored.credential = .oauth2(OAuth2Credential(accessToken: Secret("TOKEN-APP"), scopes: scopes))
    store.put(stored, of: Self.account)
    var grant = store.grants[0]
    grant.permissions = asked
    _ = try store.accountStore.setGrant(grant, .usual)
    let script = Script(
      (isMinted ? [.json(Sample.minted)] : []) + [.json(Sample.graphIdentity)], store: store)
    let result = try await Sample.engine(script).perform(
      request {
        $0.permissions = asked
        $0.confirmsOnlyAccount = true
      }, asking: script.asker())
    #expect(
      result.credential
        == .oauth2(
          isMinted
            ? OAuth2Credential(
              accessToken: Secret("MINTED"), scopes: asked, expiresAt: Script.now + 3600)
            : OAuth2Credential(accessToken: Secret("TOKEN-APP"), scopes: scopes)))
  }

  @Test("A renewed token keeps the permissions of the former one")
  func renewedScopes() async throws {
    let store = Sample.graphStore(issuedTo: ["SYSFB", "APP"])
    var stored = store.credentials(of: Self.account)[1]
    stored.credential = .oauth2(
      OAuth2Credential(accessToken: Secret("TOKEN-APP"), scopes: ["email", "b"]))
    store.put(stored, of: Self.account)
    let script = Script(
      [Sample.graphError(190, 463), .json(Sample.renewed), .json(Sample.graphIdentity)],
      store: store)
    let result = try await Sample.engine(script).perform(
      request {
        $0.permissions = ["email"]
        $0.confirmsOnlyAccount = true
      }, asking: script.asker())
    guard case .oauth2(let token) = result.credential else {
      Issue.record("No OAuth 2.0 credential came out.")
      return
    }
    #expect(token.scopes == ["email", "b"])
  }

  @Test("An application that the provider does not know is refused by the account store")
  func refused() async throws {
    let script = Script(
      [
        .json(
          #"{"error":{"message":"remote_app_id does not match stored id","type":"OAuthException","code":101}}"#,
          status: 400)
      ], store: Sample.graphStore())
    let problem = try await problem(script, request { $0.confirmsOnlyAccount = true })
    #expect(problem.reason == .accountStoreFailure)
    #expect(problem.detail == "refused")
    #expect(problem.serverError?.text == "OAuthException: remote_app_id does not match stored id")
    #expect(script.log == [Self.mint])
  }

  @Test(
    "An invalid token response is a failure and stores nothing",
    arguments: [
      "{}", "[]", "<html>", #"{"access_token":""}"#, #"{"access_token":7}"#,
      #"{"access_token":"a b"}"#, #"{"access_token":"a\n"}"#,
      #"{"access_token":"a","token_type":"mac"}"#, #"{"access_token":"a","token_type":1}"#,
    ])
  func badMint(body: String) async throws {
    let script = Script([.text(body)], store: Sample.graphStore())
    #expect(
      try await problem(script, request { $0.confirmsOnlyAccount = true }).reason
        == .providerFailure)
    #expect(script.log == [Self.mint])
  }

  @Test("The worst case is a repeated grant, a renewal and a failure")
  func worstCase() async throws {
    let script = Script(
      [
        .json(Sample.minted), Sample.graphError(190, 458), .json(Sample.minted),
        Sample.graphError(190, 458), .json(Sample.renewed), Sample.graphError(190, 458),
      ], answers: Array(repeating: .accept(), count: 4), store: Sample.graphStore(grant: nil))
    let problem = try await problem(script)
    #expect(
      script.log == [
        "ask grantAccess \(Self.defaults)", "grant granted", "ask confirmAccount ada@example.org",
        Self.mint, Self.me, "reset grant", "ask grantAccess \(Self.defaults)", "grant granted",
        "ask confirmAccount ada@example.org", Self.mint, Self.me, Self.mint, "save application APP",
        Self.me,
      ])
    #expect(problem.reason == .providerFailure)
    #expect(
      problem.serverError
        == .init(status: 400, code: "190", subcode: "458", text: "OAuthException: No."))
    #expect(script.store.accounts[0].health == .ok)
    #expect(
      FormEncoding.decode(script.requests[4].body, plus: .plus) == [
        Parameter("grant_type", "fb_extend_sso_token"), Parameter("client_id", "APP"),
      ])
    #expect(bearers(script)[4...] == ["Bearer TOKEN-SYSFB", "Bearer RENEWED"])
  }

  @Test("A renewal needs no further prompt and is saved before it is used")
  func renewal() async throws {
    let script = Script(
      [Sample.graphError(190, 463), .json(Sample.renewed), .json(Sample.graphIdentity)],
      store: Sample.graphStore(issuedTo: ["SYSFB", "APP"]))
    let result = try await Sample.engine(script).perform(
      request { $0.confirmsOnlyAccount = true }, asking: script.asker())
    #expect(script.log == [Self.me, Self.mint, "save application APP", Self.me, "update"])
    guard case .oauth2(let token) = result.credential else {
      Issue.record("No OAuth 2.0 credential came out.")
      return
    }
    #expect(token.accessToken == Secret("RENEWED"))
    #expect(script.store.credentials(of: Self.account).last?.credential == .oauth2(token))
  }

  @Test("An account's only token renews itself and stays the account's own")
  func selfRenewal() async throws {
    let script = Script(
      [Sample.graphError(190), .json(Sample.renewed), .json(Sample.graphIdentity)],
      store: Sample.graphStore(issuedTo: ["APP"]))
    _ = try await Sample.engine(script).perform(
      request { $0.confirmsOnlyAccount = true }, asking: script.asker())
    #expect(bearers(script) == ["Bearer TOKEN-APP", "Bearer TOKEN-APP", "Bearer RENEWED"])
    #expect(script.store.credentials(of: Self.account).map(\.role) == [.system])
  }

  @Test("Each remedy is tried only once")
  func budgets() async throws {
    let script = Script(
      [
        Sample.graphError(190, 463), .json(Sample.renewed), Sample.graphError(190, 458),
        .json(Sample.minted), Sample.graphError(190, 463),
      ], answers: [.accept(), .accept()], store: Sample.graphStore(issuedTo: ["SYSFB", "APP"]))
    let problem = try await problem(script, request { $0.account = Self.account })
    #expect(problem.reason == .providerFailure)
    #expect(problem.serverError?.subcode == "463")
    #expect(
      script.log == [
        Self.me, Self.mint, "save application APP", Self.me, "reset grant",
        "ask grantAccess \(Self.defaults)", "grant granted", Self.mint, Self.me,
      ])
    #expect(script.unusedReplyCount == 0)
  }

  @Test(
    "A failed renewal ends in reloginNeeded, and only a dead token marks the account",
    arguments: [
      (Sample.graphError(190, 460), Account.Health.reloginNeeded, false),
      (Sample.graphError(190), .reloginNeeded, false), (Sample.graphError(190, 458), .ok, false),
      (Sample.graphError(190, 459), .ok, false), (Sample.graphError(190, 464), .ok, false),
      (Sample.graphError(100), .ok, false), (.networkFailure(-1001), .ok, true),
      (.text("<html>", status: 500), .ok, true), (.json("{}"), .ok, true),
      (.json("{}", status: 400), .ok, true), (Sample.graphError(4), .ok, true),
      (Sample.graphError(2), .ok, true), (.text("slow", status: 429), .ok, true),
    ])
  func failedRenewal(reply: Script.Reply, health: Account.Health, isRetryable: Bool) async throws {
    let script = Script(
      [Sample.graphError(190), reply], store: Sample.graphStore(issuedTo: ["SYSFB", "APP"]))
    let problem = try await problem(script, request { $0.confirmsOnlyAccount = true })
    #expect(problem.reason == .reloginNeeded)
    #expect(problem.isRetryable == isRetryable)
    #expect(problem.hint?.method == "accounts.signIn")
    #expect(script.store.accounts[0].health == health)
  }

  @Test(
    "Declining the second prompt for access ends the flow", arguments: [Answer.decline, .cancel])
  func noTheSecondTime(answer: Answer) async throws {
    let script = Script(
      [Sample.graphError(190, 458)], answers: [answer],
      store: Sample.graphStore(issuedTo: ["APP"]))
    let problem = try await problem(script, request { $0.confirmsOnlyAccount = true })
    #expect(problem.reason == .accessNotGranted)
    #expect(script.store.grants.map(\.state) == (answer == .decline ? [.denied] : []))
  }

  @Test("A cancelled renewal ends in cancelled")
  func cancelledRenewal() async throws {
    let script = Script(
      [Sample.graphError(190), .problem(Problem(.cancelled, "Cancelled."))],
      store: Sample.graphStore(issuedTo: ["APP"]))
    #expect(
      try await problem(script, request { $0.confirmsOnlyAccount = true }).reason == .cancelled)
  }

  @Test(
    "An account without a credential needs a new sign-in",
    arguments: [[String]()])
  func nothingStored(clients: [String]) async throws {
    let script = Script(store: Sample.graphStore(issuedTo: clients))
    #expect(
      try await problem(script, request { $0.confirmsOnlyAccount = true }).reason == .reloginNeeded)
  }

  @Test(
    "A token from another origin is neither used nor exchanged", arguments: [["APP"], ["SYSFB"]])
  func binding(clients: [String]) async throws {
    let script = Script(store: Sample.graphStore(issuedTo: clients))
    let moved = Einlass(
      catalog: try ProviderCatalog.builtIn.relocated(
        origins: ["https://graph.facebook.com": "http://127.0.0.1:1"]),
      store: script.store.accountStore, effects: script.effects)
    let problem = await #expect(throws: Problem.self) {
      try await moved.perform(request { $0.confirmsOnlyAccount = true }, asking: script.asker())
    }
    #expect(problem?.reason == .bindingMismatch)
    #expect(script.log.isEmpty)
  }

  @Test("A refresh token is handed out only on request", arguments: [false, true])
  func refreshToken(isIncluded: Bool) async throws {
    let account = Sample.account("ada@example.org", "facebook")
    let stored = StoredCredential(
      role: .application, registration: ClientRegistration(clientID: "APP"),
      credential: .oauth2(
        OAuth2Credential(accessToken: Secret("T"), refreshToken: Secret("R"))),
      binding: ProviderBinding(
        origins: ["https://graph.facebook.com"], clientID: "APP", flowKind: .systemToken))
    // The grant does not include the refresh token, so the person is prompted before it is handed
    // out.
    let script = Script(
      [.json(Sample.graphIdentity)], answers: isIncluded ? [.accept()] : [],
      store: ScriptedStore(
        accounts: [account], grants: Sample.grants("facebook", .granted),
        credentials: [account.id: [stored]]))
    let result = try await Sample.engine(script).perform(
      request {
        $0.confirmsOnlyAccount = true
        $0.includesRefreshToken = isIncluded
      }, asking: script.asker())
    #expect(
      result.credential
        == .oauth2(
          OAuth2Credential(
            accessToken: Secret("T"), refreshToken: isIncluded ? Secret("R") : nil)))
    #expect(script.prompts.count == (isIncluded ? 1 : 0))
    #expect(script.store.grants[0].includes == (isIncluded ? [.refreshToken] : []))
  }

  @Test("A credential over 48 KiB is refused and not stored")
  func huge() async throws {
    let scopes = Self.defaults.split(separator: ",").reduce(0) { $0 + $1.utf8.count + 3 }
    let fits = String(repeating: "t", count: (48 << 10) - scopes)
    for (token, isStored) in [(fits, true), (fits + "t", false)] {
      let script = Script(
        [.json("{\"access_token\":\"\(token)\"}"), .json(Sample.graphIdentity)],
        store: Sample.graphStore())
      let result = await Result {
        try await Sample.engine(script).perform(
          request { $0.confirmsOnlyAccount = true }, asking: script.asker())
      }
      #expect(script.log.contains("save application APP") == isStored)
      #expect(((try? result.get()) != nil) == isStored)
      if case .failure(let error as Problem) = result { #expect(error.reason == .providerFailure) }
    }
  }
}

extension Result where Failure == any Error {
  fileprivate init(_ body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}
