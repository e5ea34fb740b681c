import Einlass
import EinlassCrypto
import TestSupport
import Testing

/// `credentials.sign`: a header for the front end's own requests.
struct RequestSigningTests {
  /// A store with a credential issued to APP, and a system credential.
  func store(grant: AccessGrant.State? = .granted, origin: String = "https://api.twitter.com")
    -> ScriptedStore
  {
    let account = Sample.account("ada", "twitter")
    func stored(_ client: String, _ role: StoredCredential.Role) -> StoredCredential {
      StoredCredential(
        role: role, registration: ClientRegistration(clientID: client),
        credential: .oauth1(
          OAuth1Credential(
            token: Secret(SignerTests.documentedToken.key),
            tokenSecret: Secret(SignerTests.documentedToken.secret))),
        binding: ProviderBinding(origins: [origin], clientID: client, flowKind: .reverseAuth))
    }
    return ScriptedStore(
      accounts: [account], grants: Sample.grants("twitter", grant),
      credentials: [
        account.id: [stored("SYS", .system), stored(SignerTests.documented.key, .application)]
      ])
  }

  func request(_ change: (inout SignRequest) -> Void = { _ in }) -> SignRequest {
    var request = SignRequest(
      application: Sample.application,
      registration: ClientRegistration(
        clientID: SignerTests.documented.key, clientSecret: Secret(SignerTests.documented.secret)),
      account: Account.ID(rawValue: "a_ada"), method: "POST",
      url: "https://api.twitter.com/1.1/statuses/update.json?include_entities=true",
      form: [Parameter("status", "Hello Ladies + Gentlemen, a signed OAuth request!")])
    change(&request)
    return request
  }

  @Test("The header has the documented values and a valid signature")
  func documented() async throws {
    let script = Script(store: store())
    let effects = script.effects.with(now: { 1_318_622_958 })
    let engine = Einlass(
      catalog: ProviderCatalog.builtIn, store: script.store.accountStore, effects: effects)
    let header = try #require(await engine.sign(request()).authorization)
    let fields = try #require(AuthorizationHeader.parse(header))
    let sent = Dictionary(uniqueKeysWithValues: fields.map { ($0.name, $0.value) })
    #expect(sent["oauth_consumer_key"] == SignerTests.documented.key)
    #expect(sent["oauth_token"] == SignerTests.documentedToken.key)
    // The engine draws the nonce, so the expected header is computed with the nonce of the actual
    // one.
    let signer = Signer(
      method: .hmacSHA1, registration: try #require(request().registration),
      token: OAuth1Credential(
        token: Secret(SignerTests.documentedToken.key),
        tokenSecret: Secret(SignerTests.documentedToken.secret)))
    #expect(
      header
        == signer.authorization(
          method: "POST", address: try .parse(request().url), form: request().form,
          nonce: try #require(sent["oauth_nonce"]), timestamp: 1_318_622_958))
    #expect(script.log.isEmpty)
  }

  @Test func `A request to an address without a provider is not signed`() async throws {
    let engine = Einlass(
      catalog: ProviderCatalog.builtIn, store: store().accountStore,
      effects: Script(store: store()).effects)
    let services = try [
      Service(ServiceAddress("https://a.example/twitter"), provider: "twitter"),
      Service(ServiceAddress("https://b.example"), provider: "github"),
    ]
    for (url, isSigned) in [
      ("https://upload.twitter.com/1.1/media", true), ("https://api.twitter.com:444/1.1", false),
      ("https://api.twitter.com.example/1.1", false), ("https://a.example/twitter/1?q=%2F", true),
      ("https://a.example/twitter2", false), ("https://a.example/twitter/../x", false),
      ("https://a.example/twitter/%2e%2e/x", false), ("https://b.example/", false),
      ("https://api.twitter.com/1.1/a%2Fb", true),
      // The folder of the endpoints of OAuth 1.0a, at each host.
      ("https://api.twitter.com/oauth/request_token", false),
      ("https://api.x.com/oauth/access_token", false),
      ("https://api.twitter.com/1.1/oauth/invalidate_token", false),
    ] {
      let asked = request {
        $0.url = url
        $0.services = services
      }
      if isSigned {
        _ = try await engine.sign(asked)
      } else {
        let problem = await #expect(throws: Problem.self) { try await engine.sign(asked) }
        #expect(problem?.reason == .unsafeURL && problem?.detail == "notServed")
      }
    }
  }

  @Test("A bearer token is put into the header unchanged")
  func bearer() async throws {
    let script = Script(store: Sample.graphStore(issuedTo: ["APP"]))
    let signed = try await Sample.engine(script).sign(
      request {
        $0.account = Account.ID(rawValue: "a_ada@example.org")
        $0.registration = ClientRegistration(clientID: "APP")
        $0.url = "https://graph.facebook.com/me"
      })
    let field = Parameter("Authorization", "Bearer TOKEN-APP")
    #expect(signed == RequestAuthorization(fields: [field], clientID: "APP"))
  }

  @Test(
    "The system's client id gives an application no use of the system's token"
  )
  func systemsOwn() async throws {
    let script = Script([.json(Sample.chirpIdentity)], store: Sample.chirpStore())
    let registration = ClientRegistration(clientID: "SYS", clientSecret: Secret("guessed"))
    let signing = await #expect(throws: Problem.self) {
      try await Sample.engine(script).sign(request { $0.registration = registration })
    }
    #expect(signing?.reason == .bindingMismatch)
    let verifying = await #expect(throws: Problem.self) {
      try await Sample.engine(script).verify(
        VerifyRequest(
          application: Sample.application, registration: registration, provider: "twitter",
          subject: .account(Account.ID(rawValue: "a_ada"))))
    }
    #expect(verifying?.reason == .bindingMismatch)
    #expect(script.requests.isEmpty)
  }

  /// A change that makes the request invalid, and the reason of the resulting problem.
  struct Case: Sendable {
    var change: @Sendable (inout SignRequest) -> Void
    var reason: Problem.Reason

    init(_ change: @escaping @Sendable (inout SignRequest) -> Void, _ result: Problem.Reason) {
      self.change = change
      reason = result
    }
  }

  static let cases: [Case] = [
    Case({ $0.account = Account.ID(rawValue: "a_eve") }, Problem.Reason.unknownAccount),
    Case({ $0.registration = nil }, .authenticatorUnconfigured),
    Case({ $0.registration?.clientSecret = nil }, .authenticatorUnconfigured),
    Case({ $0.registration?.clientID = "OTHER" }, .notIssuedToThisClient),
    Case({ $0.application = "stranger" }, .accessNotGranted),
    Case({ $0.url = "/1.1/x.json" }, .unsafeURL),
    Case({ $0.url = "http://api.twitter.com/" }, .unsafeURL),
    Case({ $0.url = "https://user@api.twitter.com/" }, .unsafeURL),
    Case({ $0.url = "https://api.twitter.com/#x" }, .unsafeURL),
    Case({ $0.method = "get" }, .invalidParameter), Case({ $0.method = "" }, .invalidParameter),
    Case({ $0.method = "GET&" }, .invalidParameter),
  ]

  @Test("An invalid request is not signed", arguments: cases)
  func refused(example: Case) async throws {
    let script = Script(store: store())
    let problem = await #expect(throws: Problem.self) {
      try await Sample.engine(script).sign(request(example.change))
    }
    #expect(problem?.reason == example.reason)
  }

  @Test(
    "Without access, or for another server, no request is signed",
    arguments: [AccessGrant.State.denied, nil])
  func noAccess(grant: AccessGrant.State?) async throws {
    let denied = await #expect(throws: Problem.self) {
      try await Sample.engine(Script(store: store(grant: grant))).sign(request())
    }
    #expect(denied?.reason == .accessNotGranted)
    let moved = await #expect(throws: Problem.self) {
      try await Sample.engine(Script(store: store(origin: "http://127.0.0.1:1"))).sign(request())
    }
    #expect(moved?.reason == .bindingMismatch)
  }

  /// A store with a token of GitHub that lasts for this time.
  private func forge(seconds: Int64 = 3600) -> ScriptedStore {
    let account = Sample.account("ada", "github")
    let token = OAuth2Credential(
      accessToken: Secret("OLD"), expiresAt: Script.now + seconds, refreshToken: Secret("RT"))
    let stored = StoredCredential(
      role: .application, registration: ClientRegistration(clientID: "APP"),
      credential: .oauth2(token),
      binding: ProviderBinding(
        origins: ["https://api.github.com", "https://github.com"], clientID: "APP",
        flowKind: .authorizationCode))
    return ScriptedStore(
      accounts: [account], grants: Sample.grants("github", .granted),
      credentials: [account.id: [stored]])
  }

  private func forgeRequest(_ url: String, _ method: String = "GET") -> SignRequest {
    var request = SignRequest(
      application: Sample.application, registration: Sample.registration,
      account: Account.ID(rawValue: "a_ada"), method: method, url: url)
    request.renewal = CredentialRequest(
      application: Sample.application, registration: { _ in Sample.registration },
      account: request.account)
    return request
  }

  @Test(arguments: [
    ("https://api.github.com/user", "Bearer OLD"),
    ("https://github.com/ada/app.git/info/refs", "Basic eC1hY2Nlc3MtdG9rZW46T0xE"),
    ("https://any.example/app", "Basic YWRhOk9MRA=="), ("https://own.example/x", "Bearer OLD"),
  ])
  func `A header has the scheme and the user name of the service, or else of the host`(
    url: String, header: String
  ) async throws {
    var asked = forgeRequest(url, "HEAD")
    asked.services = [
      Service(
        try ServiceAddress("https://any.example"), provider: "github", username: "*",
        scheme: .basic),
      Service(try ServiceAddress("https://own.example"), provider: "github"),
    ]
    let script = Script(store: forge())
    #expect(try await Sample.engine(script).sign(asked).authorization == header)
    #expect(script.requests.isEmpty)
  }

  @Test(arguments: [(61, "Bearer OLD"), (60, "Bearer NEW")] as [(Int64, String)])
  func `A token that ends within the margin is renewed before a request is signed`(
    seconds: Int64, header: String
  ) async throws {
    let fresh = #"{"access_token":"NEW","refresh_token":"RT2","token_type":"bearer"}"#
    let script = Script([.json(fresh)], store: forge(seconds: seconds))
    let asked = forgeRequest("https://api.github.com/user")
    #expect(try await Sample.engine(script).sign(asked).authorization == header)
    #expect(script.requests.count == (header == "Bearer NEW" ? 1 : 0))
  }

  @Test(arguments: [
    ("https://github.com/login/oauth/access_token", "POST", false),
    ("https://github.com/LOGIN//oauth/./access_token/", "GET", false),
    ("https://github.com/login/oauth/access%5Ftoken?a=b", "POST", false),
    ("https://github.com/login/oauth/access%255Ftoken", "POST", false),
    ("https://github.com/login%2Foauth%2Faccess_token", "POST", false),
    ("https://github.com/a/..;x/login/oauth/access_token;x", "POST", false),
    ("https://github.com/login/oauth/authorize", "GET", false),
    ("https://github.com/login/device/code", "POST", false),
    ("https://api.github.com/applications/APP/token", "DELETE", false),
    ("https://api.github.com/applications/APP/token", "GET", true),
    ("https://api.github.com/login/oauth/access_token", "POST", true),
    ("https://github.com/login/oauth", "GET", true),
    ("https://github.com/access_token/login/oauth", "POST", true),
  ])
  func `A request that gets or ends a credential is not signed`(
    url: String, method: String, isSigned: Bool
  ) async throws {
    let engine = try Sample.engine(Script(store: forge()))
    do throws(Problem) {
      _ = try await engine.sign(forgeRequest(url, method))
      #expect(isSigned)
    } catch {
      #expect(!isSigned && error.reason == .unsafeURL)
    }
  }
}

extension RequestAuthorization {
  /// The value of the field `Authorization`.
  var authorization: String? { fields.first { $0.name == "Authorization" }?.value }
}
