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
  func documented() throws {
    let script = Script(store: store())
    let effects = script.effects.with(now: { 1_318_622_958 })
    let engine = Einlass(
      catalog: ProviderCatalog.builtIn, store: script.store.accountStore, effects: effects)
    let header = try #require(try engine.sign(request()).authorization)
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

  @Test func `A request to an address without a provider is not signed`() throws {
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
    ] {
      let asked = request {
        $0.url = url
        $0.services = services
      }
      if isSigned {
        _ = try engine.sign(asked)
      } else {
        let problem = try #require(throws: Problem.self) { try engine.sign(asked) }
        #expect(problem.reason == .unsafeURL && problem.detail == "notServed")
      }
    }
  }

  @Test("A bearer token is put into the header unchanged")
  func bearer() throws {
    let script = Script(store: Sample.graphStore(issuedTo: ["APP"]))
    let header = try Sample.engine(script).sign(
      request {
        $0.account = Account.ID(rawValue: "a_ada@example.org")
        $0.registration = ClientRegistration(clientID: "APP")
        $0.url = "https://graph.facebook.com/me"
      })
    #expect(header == RequestAuthorization(authorization: "Bearer TOKEN-APP", clientID: "APP"))
  }

  @Test(
    "The system's client id gives an application no use of the system's token"
  )
  func systemsOwn() async throws {
    let script = Script([.json(Sample.chirpIdentity)], store: Sample.chirpStore())
    let registration = ClientRegistration(clientID: "SYS", clientSecret: Secret("guessed"))
    let signing = #expect(throws: Problem.self) {
      try Sample.engine(script).sign(request { $0.registration = registration })
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
  func refused(example: Case) throws {
    let script = Script(store: store())
    let problem = #expect(throws: Problem.self) {
      try Sample.engine(script).sign(request(example.change))
    }
    #expect(problem?.reason == example.reason)
  }

  @Test(
    "Without access, or for another server, no request is signed",
    arguments: [AccessGrant.State.denied, nil])
  func noAccess(grant: AccessGrant.State?) throws {
    let denied = #expect(throws: Problem.self) {
      try Sample.engine(Script(store: store(grant: grant))).sign(request())
    }
    #expect(denied?.reason == .accessNotGranted)
    let moved = #expect(throws: Problem.self) {
      try Sample.engine(Script(store: store(origin: "http://127.0.0.1:1"))).sign(request())
    }
    #expect(moved?.reason == .bindingMismatch)
  }
}
