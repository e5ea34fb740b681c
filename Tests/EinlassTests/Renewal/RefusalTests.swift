import Einlass
import EinlassCrypto
import TestSupport
import Testing

/// A service's word that it refused a token which only a sign-in replaces.
struct RefusalTests {
  private static let account = Sample.account("ada", "github")
  private static let place = AccountStore.Place("APP", resource: "")
  private static let me = "GET https://api.github.com/user"
  private static let person = Script.Reply.json(#"{"id":7,"login":"ada","email":"a@example.org"}"#)
  private static let service = "https://git.example.com"

  /// A store with a token without a refresh token, and these refusals by services: the origin and
  /// the seconds from now to its end.
  private static func store(
    _ refusals: [(String, Int64)] = [], refreshToken: String? = nil, isRefused: Bool = false
  ) -> ScriptedStore {
    var account = account
    account.serviceRefusals = refusals.map {
      ServiceRefusal(of: place, by: $0.0, endsAt: Script.now + $0.1)
    }
    var stored = StoredCredential(
      role: .application, registration: ClientRegistration(clientID: "APP"),
      credential: .oauth2(
        OAuth2Credential(
          accessToken: Secret("TOKEN"), refreshToken: refreshToken.map { Secret($0) })),
      binding: ProviderBinding(
        origins: ["https://api.github.com", "https://github.com"], clientID: "APP",
        flowKind: .authorizationCode))
    stored.isRefused = isRefused
    return ScriptedStore(
      accounts: [account], grants: Sample.grants("github", .granted),
      credentials: [account.id: [stored]])
  }

  private static func request(_ service: String?) -> CredentialRequest {
    var request = CredentialRequest(
      application: Sample.application, registration: { _ in Sample.registration },
      account: account.id)
    request.service = service
    return request
  }

  private func work(_ script: Script) -> [String] { script.log.filter { !$0.hasPrefix("sleep") } }

  @Test(
    "The refusal is written before the provider is asked, and the token is dead only if that refuses it",
    arguments: [
      (person, false), (.json("{}", status: 403), false), (.json("{}", status: 503), false),
      (.json("{}", status: 429), false), (.text("<html>"), false), (.networkFailure(-1001), false),
      (.json(#"{"message":"Bad credentials"}"#, status: 401), true),
    ] as [(Script.Reply, Bool)])
  func asked(reply: Script.Reply, isDead: Bool) async throws {
    for service in [Self.service, nil] {
      let script = Script([reply], store: Self.store())
      try await Sample.engine(script).reject(Self.request(service))
      let own = service.map { ["refuse \($0) until 300"] } ?? []
      #expect(
        work(script) == ["refuse no service until 60"] + own + [Self.me]
          + (isDead ? ["refuse", "update"] : []))
      let account = try script.store.accountStore.account(Self.account.id)
      #expect(account.health == (isDead ? .reloginNeeded : .ok))
      let stored = script.store.credentials(of: Self.account.id)[0]
      #expect(stored.isRefused == isDead)
    }
  }

  @Test(arguments: [false, true])
  func `A dead token of one application ends no good one of another`(isOtherRefused: Bool)
    async throws
  {
    let store = Self.store()
    var other = store.credentials(of: Self.account.id)[0]
    other.registration = ClientRegistration(clientID: "OTHER")
    other.binding.clientID = "OTHER"
    other.isRefused = isOtherRefused
    let both = ScriptedStore(
      accounts: [Self.account], grants: Sample.grants("github", .granted),
      credentials: [Self.account.id: store.credentials(of: Self.account.id) + [other]])
    let script = Script([.json("{}", status: 401)], store: both)
    try await Sample.engine(script).reject(Self.request(Self.service))
    #expect(
      script.store.credentials(of: Self.account.id).first { $0.place == Self.place }?.isRefused
        == true)
    let health = try script.store.accountStore.account(Self.account.id).health
    #expect(health == (isOtherRefused ? .reloginNeeded : .ok))
  }

  @Test(arguments: [("https://api.github.com", true), (service, false)])
  func `A request to a refusing service is not signed`(
    service: String, isRefused: Bool
  ) async throws {
    let script = Script(store: Self.store([(service, 60)]))
    let request = SignRequest(
      application: Sample.application, registration: Sample.registration, account: Self.account.id,
      method: "GET", url: "https://api.github.com/user", form: [])
    let engine = try Sample.engine(script)
    do throws(Problem) {
      let signed = try await engine.sign(request)
      #expect(!isRefused && signed.authorization == "Bearer TOKEN")
    } catch { #expect(isRefused && error.detail == "refusedByService") }
  }

  @Test(
    "The provider is asked at most once a minute",
    arguments: [(1, false), (60, false), (0, true), (-1, true), (361, true)] as [(Int64, Bool)])
  func pause(endsIn seconds: Int64, asks: Bool) async throws {
    let script = Script([Self.person], store: Self.store([("", seconds)]))
    try await Sample.engine(script).reject(Self.request(Self.service))
    #expect(
      work(script)
        == (asks ? ["refuse no service until 60"] : []) + ["refuse \(Self.service) until 300"]
        + (asks ? [Self.me] : []))
  }

  @Test(
    "A refused service gets no token until the end of its refusal, and others do",
    arguments: [
      (service, 1, true), (service, 300, true), (service, 360, true), (service, 0, false),
      (service, -1, false), (service, 361, false), ("https://git.example.com:8443", 60, false),
      ("http://git.example.com", 60, false), ("", 60, false),
    ] as [(String, Int64, Bool)])
  func got(refusing: String, endsIn seconds: Int64, isRefused: Bool) async throws {
    let script = Script(store: Self.store([(refusing, seconds)]))
    let engine = try Sample.engine(script)
    for service in [nil, "https://github.com"] {
      #expect(try engine.storedCredential(Self.request(service))?.credential != nil)
    }
    guard isRefused else {
      #expect(try engine.storedCredential(Self.request(Self.service))?.credential != nil)
      return
    }
    var request = Self.request(Self.service)
    request.promptKinds = [.openURL]
    for promptKinds in [[], [.openURL]] as [Set<Prompt.Kind>] {
      request.promptKinds = promptKinds
      let problems = [
        #expect(throws: Problem.self) { try engine.storedCredential(request) },
        await #expect(throws: Problem.self) { try await engine.credential(request) },
      ]
      for problem in problems {
        #expect(problem?.reason == .throttled && problem?.detail == "refusedByService")
        #expect(problem?.retryAfterSeconds == Int(seconds) && problem?.isRetryable == true)
        #expect(problem?.hint?.method == (promptKinds.isEmpty ? nil : "accounts.signIn"))
      }
    }
    #expect(work(script).isEmpty)
  }

  @Test func `A token that can be refreshed is refused for all, and a refused one is not again`()
    async throws
  {
    let script = Script([Self.person], store: Self.store(refreshToken: "RT"))
    try await Sample.engine(script).reject(Self.request(Self.service))
    let own = "refuse \(Self.service) until 300"
    #expect(work(script) == ["refuse", "refuse no service until 60", own, Self.me])
    let again = Script(store: Self.store(isRefused: true))
    try await Sample.engine(again).reject(Self.request(Self.service))
    #expect(work(again).isEmpty)
  }

  @Test(arguments: [("https://github.com", true), (nil, true), (service, false)])
  func `While a refused token cannot be renewed, the other services still get it`(
    service: String?, isGiven: Bool
  ) async throws {
    let busy = Script.Reply.json("{}", status: 503)
    let script = Script(
      [busy, busy],
      store: Self.store([(Self.service, 60)], refreshToken: "RT", isRefused: true))
    let result = try? await Sample.engine(script).credential(Self.request(service))
    #expect((result?.credential != nil) == isGiven && !script.requests.isEmpty)
  }

  @Test(
    "Addresses have one normal form, and a host alone is of https",
    arguments: [
      ("https://git.example.com/a/b?c=d", "https://git.example.com"),
      ("https://GIT.example.com:443", "https://git.example.com"),
      ("git.example.com", "https://git.example.com"),
      ("git.example.com:8443", "https://git.example.com:8443"),
      ("http://git.example.com/", "http://git.example.com"),
      ("https://ada@git.example.com/", nil), ("ftp://git.example.com/", nil), ("", nil),
      ("git example", nil),
    ])
  func normalForm(address: String, service: String?) {
    #expect(ServiceRefusal.service(address) == service)
  }
}
