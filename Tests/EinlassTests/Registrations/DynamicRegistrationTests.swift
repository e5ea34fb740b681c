import EinlassCrypto
import EinlassJSON
import EinlassSystem
import TestSupport
import Testing

@testable import Einlass

/// RFC 7591: the answers to a registration request, and the occasions for it.
@Suite struct DynamicRegistrationTests {
  private static let offer = DynamicRegistration(
    endpoint: WebAddress(scheme: .https, host: "as.example", path: "/register"),
    clientAuthentication: .none)
  private static let redirect = "http://127.0.0.1:8400/callback"

  private static func read(_ text: String) throws -> (ClientRegistration, expiresAt: UnixTime?) {
    try offer.registration(in: try? JSONReader.read(Array(text.utf8)), redirect: redirect)
  }

  @Test func `The request is for a native application without client authentication`() {
    let request = Self.offer.request(
      name: "Editor", redirect: Self.redirect, grantTypes: ["authorization_code"])
    #expect(request.method == .post && request.address.text == "https://as.example/register")
    #expect(
      String(decoding: request.body, as: UTF8.self)
        == #"{"client_name":"Editor","redirect_uris":["http://127.0.0.1:8400/callback"],"grant_types":["authorization_code"],"response_types":["code"],"token_endpoint_auth_method":"none","application_type":"native"}"#
    )
  }

  /// Answers, and the resulting registration with its expiry.
  static let answers: [(String, ClientRegistration, UnixTime?)] = [
    (
      #"{"client_id":"x"}"#,
      ClientRegistration(clientID: "x", redirect: redirect, authentication: "none"), nil
    ),
    (
      #"{"client_id":"x","client_secret":"unused","redirect_uris":["http://127.0.0.1:8400/callback"],"registration_access_token":"t","client_name":7}"#,
      ClientRegistration(clientID: "x", redirect: redirect, authentication: "none"), nil
    ),
    (
      #"{"client_id":"x","client_secret":"s","client_secret_expires_at":0,"token_endpoint_auth_method":"client_secret_basic"}"#,
      ClientRegistration(
        clientID: "x", clientSecret: Secret("s"), redirect: redirect,
        authentication: "client_secret_basic"), nil
    ),
    (
      #"{"client_id":"x","client_secret":"s","client_secret_expires_at":1600000000,"token_endpoint_auth_method":"client_secret_post"}"#,
      ClientRegistration(
        clientID: "x", clientSecret: Secret("s"), redirect: redirect,
        authentication: "client_secret_post"), 1_600_000_000
    ),
  ]

  @Test(arguments: answers)
  func `An answer becomes a registration with the authentication method that it names`(
    _ text: String, _ registration: ClientRegistration, _ expiresAt: UnixTime?
  ) throws {
    let read = try Self.read(text)
    #expect(read.0 == registration && read.expiresAt == expiresAt)
  }

  static let faults: [(String, DynamicRegistration.Fault)] = [
    ("[]", .member("document")), ("nonsense", .member("document")), ("{}", .member("client_id")),
    (#"{"client_id":""}"#, .member("client_id")),
    (#"{"client_id":"a\nb"}"#, .member("client_id")),
    (#"{"client_id":"\#(String(repeating: "x", count: 1025))"}"#, .member("client_id")),
    (
      #"{"client_id":"x","token_endpoint_auth_method":"private_key_jwt"}"#, .foreignAuthentication
    ),
    (#"{"client_id":"x","token_endpoint_auth_method":7}"#, .foreignAuthentication),
    (
      #"{"client_id":"x","token_endpoint_auth_method":"client_secret_basic"}"#,
      .member("client_secret")
    ),
    (
      #"{"client_id":"x","token_endpoint_auth_method":"client_secret_post","client_secret":"s","client_secret_expires_at":"soon"}"#,
      .member("client_secret_expires_at")
    ),
    (#"{"client_id":"x","redirect_uris":["https://evil.example/"]}"#, .foreignRedirect),
    (#"{"client_id":"x","redirect_uris":"none"}"#, .foreignRedirect),
  ]

  @Test(arguments: faults)
  func `An answer that is no registration for this application is refused`(
    _ text: String, _ fault: DynamicRegistration.Fault
  ) {
    #expect(throws: fault) { try Self.read(text) }
  }

  // MARK: When

  @Test(arguments: [true, false])
  func `A registration for another server is wrong only if the next sign-in does not replace it`(
    _ isIssued: Bool
  ) async throws {
    let provider = try await Self.engine(Script([])).catalog.provider("as.example")
    let stored = StoredRegistration(
      provider: "as.example", registration: ClientRegistration(clientID: "x"),
      origins: ["https://former.example"], isIssued: isIssued)
    let problem = provider.problem(with: nil, or: [stored.known])
    #expect(problem?.reason == (isIssued ? nil : .bindingMismatch))
  }

  private static let answer = #"{"client_id":"issued"}"#
  /// The token endpoint's answer to a test request with an invalid code, from a server that knows
  /// the client.
  private static let known = Script.Reply.json(#"{"error":"invalid_grant"}"#, status: 400)
  private static let token = #"{"access_token":"AT","token_type":"Bearer"}"#
  /// The query of the redirect. A sign-in that registers draws random bytes for the port first.
  private static func query(registering: Bool) -> String {
    "code=CODE&state=\(Base64URL.encode([UInt8](repeating: registering ? 3 : 2, count: 32)))"
  }

  private static func engine(_ script: Script) async throws -> Einlass {
    try await ResourceTests.engine(script)
  }

  private static func signIn(_ script: Script) async throws -> Account {
    let request = SignInRequest(
      application: "editor", registration: nil, provider: "as.example")
    return try await engine(script).signIn(request, asking: script.asker([.openURL])).account
  }

  @Test func `The first sign-in registers, and the next one uses the stored registration`()
    async throws
  {
    let script = Script(
      [.json(Self.answer, status: 201), .json(Self.token)], answers: [.accept()],
      brought: [Self.query(registering: true)])
    _ = try await Self.signIn(script)
    #expect(
      script.requests.map(\.address.text) == [
        "https://as.example/register", "https://as.example/token",
      ])
    let kept = try #require(
      try script.store.accountStore.registrations.get("as.example", nil, .usual))
    #expect(kept.isIssued && kept.origins == ["https://as.example"])
    #expect(kept.registration.redirect == "http://127.0.0.1:8400/callback")
    let next = Script(
      [Self.known, .json(Self.token)], answers: [.accept()],
      brought: [Self.query(registering: true)])
    _ = try next.store.accountStore.registrations.set("as.example", nil, kept, .usual)
    _ = try await Self.signIn(next)
    // The first request checks that the server still knows the client. The second one has the code.
    #expect(
      next.requests.map(\.address.text) == [
        "https://as.example/token", "https://as.example/token",
      ])
    // Negative control: a registration is renewed only after it has expired, a minute early.
    for (seconds, isOver) in [(61 as Int64, false), (60, true)] {
      var ending = kept
      ending.expiresAt = Script.now + seconds
      let again = Script(
        [isOver ? .json(Self.answer) : Self.known, .json(Self.token)], answers: [.accept()],
        brought: [Self.query(registering: true)])
      _ = try again.store.accountStore.registrations.set("as.example", nil, ending, .usual)
      _ = try await Self.signIn(again)
      #expect(again.unusedReplyCount == 0)
    }
  }

  @Test(arguments: [true, false])
  func `If a server refuses the device grant, the application registers without it`(
    _ isDeviceRefused: Bool
  ) async throws {
    let refusal = Script.Reply.json(#"{"error":"invalid_client_metadata"}"#, status: 400)
    let script = Script(
      (isDeviceRefused ? [refusal] : []) + [.json(Self.answer, status: 201), .json(Self.token)],
      answers: [.accept()], brought: [Self.query(registering: true)])
    let engine = try await ResourceTests.engine(
      script, more: #""device_authorization_endpoint":"https://as.example/device","#)
    _ = try await engine.signIn(
      SignInRequest(application: "editor", registration: nil, provider: "as.example"),
      asking: script.asker([.openURL]))
    let grants = script.requests.filter { $0.address.path == "/register" }.map { request in
      (try? JSONReader.read(request.body))?["grant_types"]?.array?.compactMap(\.string) ?? []
    }
    let device = "urn:ietf:params:oauth:grant-type:device_code"
    #expect(
      grants == [["authorization_code", device, "refresh_token"]]
        + (isDeviceRefused ? [["authorization_code", "refresh_token"]] : []))
    #expect(script.store.accounts.count == 1)
  }

  @Test func `The port of a registration is drawn from the whole range 20480 to 28671`()
    async throws
  {
    let script = Script()
    let place = Lock<RedirectPlace?>(nil)
    let effects = script.effects.with(
      randomBytes: { _ in [0, 31, 32, 255, 7, 16, 1, 30] + [0, 255, 0, 255, 1, 2, 3, 4] },
      openRedirect: { asked throws(Problem) in
        place.withLock { $0 = asked }
        throw Problem(.flowNotSupported, "There is no port.")
      })
    let engine = Einlass(
      catalog: try await Self.engine(script).catalog, store: script.store.accountStore,
      effects: effects)
    await #expect(throws: Problem.self) {
      try await engine.signIn(
        SignInRequest(application: "editor", registration: nil, provider: "as.example"),
        asking: script.asker([.openURL]))
    }
    #expect(
      place.withLock { $0?.ports }
        == [20480, 28671, 20480, 28671, 22273, 24578, 20739, 28164])
  }

  @Test func `A registration from the person has precedence, and is only used at its own server`()
    async throws
  {
    let own = StoredRegistration(
      provider: "as.example", registration: ClientRegistration(clientID: "own"),
      origins: ["https://as.example"])
    let script = Script(
      [.json(Self.token)], answers: [.accept()], brought: [Self.query(registering: false)])
    _ = try script.store.accountStore.registrations.set("as.example", nil, own, .usual)
    let account = try await Self.signIn(script)
    #expect(script.store.credentials(of: account.id)[0].registration.clientID == "own")
    var foreign = own
    foreign.origins = ["https://other.example"]
    let refused = Script()
    _ = try refused.store.accountStore.registrations.set("as.example", nil, foreign, .usual)
    let problem = await #expect(throws: Problem.self) { try await Self.signIn(refused) }
    #expect(problem?.reason == .bindingMismatch && problem?.hint?.method == "providers.configure")
    #expect(refused.requests.isEmpty)
  }

  @Test(
    "A refused or invalid registration is reported with an alternative",
    arguments: [
      (
        Script.Reply.json(
          #"{"error":"invalid_client_metadata","error_description":"no"}"#, status: 400),
        Problem.Reason.providerFailure, false
      ),
      (.text("", status: 403), .providerFailure, false),
      (.text("", status: 503), .providerFailure, true),
      (.json("{}"), .providerFailure, false),
      (.networkFailure(-1004), .networkFailure, false),
    ])
  func refused(_ reply: Script.Reply, _ reason: Problem.Reason, _ isRetryable: Bool) async throws {
    let script = Script([reply])
    let problem = await #expect(throws: Problem.self) { try await Self.signIn(script) }
    #expect(problem?.reason == reason && problem?.isRetryable == isRetryable)
    if reason == .providerFailure { #expect(problem?.hint?.method == "providers.configure") }
    #expect(try script.store.accountStore.registrations.get("as.example", nil, .usual) == nil)
  }

  @Test func `A request for a credential does not register, and its hint is accounts.signIn`()
    async throws
  {
    let script = Script()
    let problem = await #expect(throws: Problem.self) {
      try await Self.engine(script).perform(
        PerformRequest(application: "editor", registration: nil, provider: "as.example"),
        asking: script.asker())
    }
    #expect(problem?.reason == .noSystemAccount && problem?.hint?.method == "accounts.signIn")
    #expect(script.requests.isEmpty)
  }

  private static let document = ClientMetadata.registration(at: "https://example.org/einlass.json")

  private static func stored(isIssued: Bool) -> StoredRegistration {
    StoredRegistration(
      provider: "as.example", registration: ClientRegistration(clientID: "stored"),
      origins: ["https://as.example"], isIssued: isIssued)
  }

  @Test(arguments: [true, false])
  func `A metadata document comes before an automatic registration, and after a configured one`(
    _ isIssued: Bool
  ) async throws {
    // This machine cannot read the document.
    let script = Script(
      (isIssued ? [.networkFailure(-1004)] : []) + [.json(Self.token)], answers: [.accept()],
      brought: [Self.query(registering: false)])
    let stored = Self.stored(isIssued: isIssued)
    let registrations = script.store.accountStore.registrations
    _ = try registrations.set("as.example", nil, stored, .usual)
    let account = try await Self.engine(script).signIn(
      SignInRequest(application: "editor", registration: Self.document, provider: "as.example"),
      asking: script.asker([.openURL])
    ).account
    let used = script.store.credentials(of: account.id)[0].registration.clientID
    #expect(used == (isIssued ? Self.document.clientID : "stored"))
    #expect(try registrations.get("as.example", nil, .usual) == stored)
  }

  @Test(arguments: [["stored"], ["stored", document.clientID], [document.clientID], []])
  func `An account stays with the automatic registration that it was signed in to by`(
    _ clients: [String]
  ) async throws {
    let account = Sample.account("ada", "as.example")
    let script = Script(
      store: ScriptedStore(
        accounts: [account],
        credentials: [
          account.id: clients.map { client in
            StoredCredential(
              role: .application, registration: ClientRegistration(clientID: client),
              credential: .oauth2(OAuth2Credential(accessToken: Secret("AT"))),
              binding: ProviderBinding(
                origins: ["https://as.example"], clientID: client, flowKind: .authorizationCode))
          }
        ]))
    let store = script.store.accountStore
    _ = try store.registrations.set("as.example", nil, Self.stored(isIssued: true), .usual)
    let provider = try await Self.engine(script).catalog.provider("as.example")
    let found = try store.registration(Self.document, at: provider, for: account.id)
    #expect(found?.clientID == (clients == ["stored"] ? "stored" : Self.document.clientID))
    #expect(try store.registration(Self.document, at: provider) == Self.document)
    #expect(try store.registration(nil, at: provider)?.clientID == "stored")
  }

  @Test func `A stored registration is checked in place of a metadata document`() async throws {
    let script = Script()
    let engine = try await Self.engine(script)
    let provider = try engine.catalog.provider("as.example")
    let document = Self.document
    for (isIssued, reason) in [(false, Problem.Reason.bindingMismatch), (true, nil)] {
      let stored = StoredRegistration(
        provider: "as.example", registration: ClientRegistration(clientID: "x"),
        origins: ["https://former.example"], isIssued: isIssued)
      #expect(provider.problem(with: document, or: [stored.known])?.reason == reason)
    }
    #expect(provider.problem(with: document, or: []) == nil)
    // A document has no secret. Without a stored registration the secret is missing.
    let needs = { (_: Provider) in [Provider.RegistrationPart.clientSecret] }
    #expect(throws: Problem.self) {
      try engine.requireRegistration(document, at: "as.example", needs: needs)
    }
    let own = StoredRegistration(
      provider: "as.example",
      registration: ClientRegistration(clientID: "x", clientSecret: Secret("y")),
      origins: ["https://as.example"])
    _ = try script.store.accountStore.registrations.set("as.example", nil, own, .usual)
    #expect(throws: Never.self) {
      try engine.requireRegistration(document, at: "as.example", needs: needs)
    }
  }
}
