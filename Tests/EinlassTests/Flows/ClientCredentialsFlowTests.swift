import EinlassCrypto
import EinlassJSON
import TestSupport
import Testing

@testable import Einlass

/// RFC 6749 section 4.4: the application signs in as itself.
@Suite struct ClientCredentialsFlowTests {
  private static let own =
    #"{"kind":"clientCredentials","token":{"method":"POST","url":"https://op.example/token"},"scopes":["a","b"]}"#
  private static let device = """
    {"kind":"deviceCode","deviceAuthorization":{"method":"POST","url":"https://op.example/device"},\
    "token":{"method":"POST","url":"https://op.example/token"}}
    """
  private static let registration = ClientRegistration(
    clientID: "s6BhdRkqt3", clientSecret: Secret("gX1fBat3bV"))
  private static let token = Script.Reply.json(
    #"{"access_token":"AT","token_type":"bearer","expires_in":3600,"refresh_token":"RT","id_token":"ID"}"#
  )
  private static let fresh = Script.Reply.json(
    #"{"access_token":"AT2","token_type":"bearer","expires_in":3600}"#)

  private func engine(
    _ script: Script, _ flows: String = own, more: String = ""
  ) throws -> Einlass {
    let descriptor = """
      {"id":"op","name":"OP","setup":{"documentation":"https://op.example/"},"accounts":"many",\
      "registration":["clientId"],\(more)"flows":[\(flows)],\
      "identity":{"request":{"method":"GET","url":"https://op.example/me","bearer":"{token}"},\
      "id":"/id","required":["id"]}}
      """
    return Einlass(
      catalog: try ProviderCatalogTests.catalog(descriptor), store: script.store.accountStore,
      effects: script.effects)
  }

  private func request(
    _ kind: FlowKind? = nil, by registration: ClientRegistration = registration
  ) -> SignInRequest {
    var request = SignInRequest(
      application: Sample.application, registration: registration, provider: "op")
    request.flowKind = kind
    return request
  }

  @Test func `A parameter for a page is refused by its name, without a request`()
    async throws
  {
    let changes: [(String, (inout SignInRequest) -> Void)] = [
      ("/page/loginHint", { $0.openID.loginHint = "ada" }),
      ("/page/prompt", { $0.openID.prompt = "login" }),
      ("/page/maxAgeSeconds", { $0.openID.maxAgeSeconds = 1 }),
      ("/page/acrValues", { $0.openID.acrValues = "a" }),
      ("/page/claims", { $0.openID.claims = "{}" }),
      ("/customParameters", { $0.customParameters = [Parameter("audience", "a")] }),
    ]
    for (path, change) in changes {
      let script = Script([Self.token])
      let engine = try engine(script)
      var request = request()
      change(&request)
      do throws(Problem) {
        _ = try await engine.signIn(request, asking: script.asker([]))
        Issue.record("\(path) was taken")
      } catch {
        #expect(error.reason == .invalidParameter && error.path == path)
        #expect(error.message.contains(path))
      }
      #expect(script.requests.isEmpty)
    }
  }

  private func form(_ request: HTTPRequest) -> [Parameter]? {
    FormEncoding.decode(request.body, plus: .space)
  }

  @Test func `The application authenticates itself and gets a token without a prompt`()
    async throws
  {
    let script = Script([Self.token])
    let account = try await engine(script).signIn(request(), asking: script.asker([])).account
    #expect(account.subject == "s6BhdRkqt3" && account.username == "s6BhdRkqt3")
    #expect(script.requests.map(\.address.text) == ["https://op.example/token"])
    #expect(
      form(script.requests[0])
        == [Parameter("grant_type", "client_credentials"), Parameter("scope", "a b")])
    // The example of RFC 6749 section 2.3.1.
    #expect(
      script.requests[0].headers.contains(
        .init("Authorization", "Basic czZCaGRSa3F0MzpnWDFmQmF0M2JW")))
    guard case .oauth2(let token)? = script.store.credentials(of: account.id).first?.credential
    else {
      Issue.record("Nothing is stored.")
      return
    }
    #expect(token.refreshToken == nil && token.idToken == nil && token.scopes == ["a", "b"])
  }

  @Test func `A new token is requested like the first one, and stored before it is used`()
    async throws
  {
    let script = Script([Self.token, Self.fresh])
    let engine = try engine(script)
    let account = try await engine.signIn(request(), asking: script.asker([])).account
    _ = try engine.store.setGrant(Sample.grants("op", .granted)[0], .usual)
    var wish = CredentialRequest(
      application: Sample.application, registration: { _ in Self.registration },
      account: account.id)
    #expect(try await engine.credential(wish).credential?.text == "AT")
    #expect(try engine.nextRefresh(wish, since: Script.now) == Script.now + 3540)
    script.advance(seconds: 3540)
    // The clock has advanced, but the due time counts from `since` and stays the same.
    #expect(try engine.nextRefresh(wish, since: Script.now) == Script.now + 3540)
    #expect(try await engine.credential(wish).credential?.text == "AT2")
    #expect(script.requests.count == 2)
    #expect(form(script.requests[1]) == form(script.requests[0]))
    // A token that a resource refuses is replaced without an identity request.
    try await engine.reject(wish)
    #expect(script.requests.count == 2)
    script.reply(.json(#"{"access_token":"AT3","token_type":"bearer","expires_in":3600}"#))
    #expect(try await engine.credential(wish).credential?.text == "AT3")
    #expect(script.requests.count == 3)
    script.reply(.json(#"{"error":"invalid_client"}"#, status: 401))
    wish.forcesRefresh = true
    let problem = await #expect(throws: Problem.self) { try await engine.credential(wish) }
    #expect(problem?.reason == .authenticatorUnconfigured)
    #expect(try engine.store.snapshot(.usual).accounts[0].health == .ok)
  }

  @Test func `A sign-in without a flow kind is a person's, except for the application's account`()
    async throws
  {
    let flows = "\(Self.device),\(Self.own)"
    let nobody = Script()
    let problem = await #expect(throws: Problem.self) {
      try await engine(nobody, flows).signIn(request(), asking: nobody.asker([]))
    }
    #expect(problem?.reason == .interactionRequired && nobody.requests.isEmpty)
    #expect(try engine(nobody, flows).catalog.provider("op").signInKind(asking: []) == nil)
    let script = Script([Self.token, Self.fresh])
    let known = try engine(script, flows)
    let account = try await known.signIn(request(.clientCredentials), asking: script.asker([]))
      .account
    _ = try await known.signOut(account.id, revokes: false)
    var again = request()
    again.account = account.id
    #expect(try await known.signIn(again, asking: script.asker([])).account.id == account.id)
    #expect(script.requests.count == 2)
  }

  /// A store with ada, signed in by a device code. Her token expires in this many seconds.
  private static func person(
    _ subject: String?, named name: String = "ada", seconds: Int64
  ) -> ScriptedStore {
    var ada = Sample.account(name, "op")
    ada.subject = subject
    let stored = StoredCredential(
      role: .application, registration: ClientRegistration(clientID: registration.clientID),
      credential: .oauth2(
        OAuth2Credential(
          accessToken: Secret("ADA"), expiresAt: Script.now + seconds, refreshToken: Secret("RT"))),
      binding: ProviderBinding(
        origins: ["https://op.example"], clientID: registration.clientID, flowKind: .deviceCode))
    return ScriptedStore(
      accounts: [ada], grants: Sample.grants("op", .granted), credentials: [ada.id: [stored]])
  }

  @Test(arguments: [30, 3600])
  func `A person's token is neither refreshed nor handed out as the application's`(
    _ seconds: Int64
  ) async throws {
    let script = Script([Self.token], store: Self.person("ada", seconds: seconds))
    let before = try script.store.accountStore.snapshot(.usual).accounts
    var wish = PerformRequest(
      application: Sample.application, registration: Self.registration, provider: "op",
      account: before[0].id, flowKind: .clientCredentials)
    wish.signIn = request(.clientCredentials)
    wish.signsInIfNeeded = true
    let problem = await #expect(throws: Problem.self) {
      try await engine(script, "\(Self.device),\(Self.own)")
        .perform(wish, asking: script.asker())
    }
    #expect(problem?.reason == .invalidChoice && problem?.account == before[0].id)
    #expect(script.requests.isEmpty)
    #expect(script.store.credentials(of: before[0].id).first?.credential.text == "ADA")
    #expect(try script.store.accountStore.snapshot(.usual).accounts == before)
  }

  @Test(arguments: ["ada", nil])
  func `A person's account does not become the application's`(_ subject: String?) async throws {
    let script = Script([Self.token], store: Self.person(subject, seconds: 30))
    let before = try script.store.accountStore.snapshot(.usual).accounts
    var wish = request(.clientCredentials)
    wish.account = before[0].id
    let problem = await #expect(throws: Problem.self) {
      try await engine(script, "\(Self.device),\(Self.own)").signIn(wish, asking: script.asker())
    }
    #expect(problem?.reason == .invalidChoice && problem?.account == before[0].id)
    #expect(script.requests.isEmpty)
    #expect(script.store.credentials(of: before[0].id).first?.credential.text == "ADA")
    #expect(try script.store.accountStore.snapshot(.usual).accounts == before)
  }

  @Test func `A person's account with the application's name stays the person's`() async throws {
    let script = Script(
      [Self.token], store: Self.person(nil, named: Self.registration.clientID, seconds: 30))
    let problem = await #expect(throws: Problem.self) {
      try await engine(script, "\(Self.device),\(Self.own)")
        .signIn(request(.clientCredentials), asking: script.asker())
    }
    #expect(problem?.reason == .invalidChoice)
    let ada = try script.store.accountStore.snapshot(.usual).accounts[0]
    #expect(ada.subject == nil)
    #expect(script.store.credentials(of: ada.id).first?.credential.text == "ADA")
  }

  @Test func `At a provider without this flow the application's account is an ordinary one`()
    async throws
  {
    let script = Script(store: Self.person(Self.registration.clientID, seconds: 30))
    var wish = request()
    wish.account = Account.ID(rawValue: "a_ada")
    let problem = await #expect(throws: Problem.self) {
      try await engine(script, Self.device).signIn(wish, asking: script.asker([]))
    }
    #expect(problem?.reason == .interactionRequired && problem?.neededKinds == [.deviceCode])
  }

  @Test(arguments: [true, false])
  func `A missing registration is reported, even if sign-ins of people register dynamically`(
    _ registersItself: Bool
  ) async throws {
    let offer =
      #""dynamicRegistration":{"url":"https://op.example/register","clientAuthentication":"none"},"#
    for (flows, reason) in [
      ("\(Self.device),\(Self.own)", Problem.Reason.authenticatorUnconfigured),
      (Self.device, .flowNotSupported),
    ] {
      let script = Script()
      var wish = request(.clientCredentials)
      wish.registration = nil
      let problem = await #expect(throws: Problem.self) {
        try await engine(script, flows, more: registersItself ? offer : "")
          .signIn(wish, asking: script.asker())
      }
      #expect(problem?.reason == reason && script.requests.isEmpty)
      guard reason == .authenticatorUnconfigured else { continue }
      #expect(problem?.detail == "clientId, clientSecret")
      #expect(problem?.hint?.method == "providers.configure")
    }
  }

  @Test func `A missing secret sends no request, and the error for a wrong secret is reported`()
    async throws
  {
    let silent = Script()
    let missing = await #expect(throws: Problem.self) {
      try await engine(silent).signIn(
        request(by: ClientRegistration(clientID: "public")), asking: silent.asker([]))
    }
    #expect(missing?.reason == .authenticatorUnconfigured && missing?.detail == "clientSecret")
    #expect(silent.requests.isEmpty)
    let refused = Script([.json(#"{"error":"invalid_client"}"#, status: 401)])
    let problem = await #expect(throws: Problem.self) {
      try await engine(refused).signIn(request(), asking: refused.asker([]))
    }
    #expect(problem?.reason == .authenticatorUnconfigured)
    #expect(try refused.store.accountStore.snapshot(.usual).accounts.isEmpty)
  }
}

extension Credential {
  fileprivate var text: String? {
    if case .oauth2(let token) = self {
      String(decoding: token.accessToken.reveal(), as: UTF8.self)
    } else {
      nil
    }
  }
}
