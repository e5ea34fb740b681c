import EinlassCrypto
import EinlassJSON
import TestSupport
import Testing

@testable import Einlass

/// A provider that wants another client for one of its flows.
@Suite struct FlowRegistrationTests {
  private static let descriptor = """
    {"id":"op","name":"OP","setup":{"documentation":"https://op.example/"},"accounts":"many",\
    "registration":["clientId","clientSecret"],\
    "identity":{"request":{"method":"GET","url":"https://op.example/me","bearer":"{token}"},"id":"/id",\
    "required":["id"]},\
    "flows":[{"kind":"authorizationCode",\
    "authorize":{"method":"GET","url":"https://op.example/authorize"},\
    "token":{"method":"POST","url":"https://op.example/token"},"refresh":{},\
    "clientAuthentication":"client_secret_post"},{"kind":"deviceCode",\
    "deviceAuthorization":{"method":"POST","url":"https://op.example/device"},\
    "token":{"method":"POST","url":"https://op.example/token"},"refresh":{},\
    "clientAuthentication":"client_secret_post"}],\
    "revoke":{"method":"POST","url":"https://op.example/revoke",\
    "form":{"token":"{token}","id":"{clientId}","secret":"{clientSecret}"}}}
    """
  private static let fresh = Script.Reply.json(
    #"{"access_token":"NEW","token_type":"Bearer","expires_in":3600,"refresh_token":"RT2"}"#)
  private static let device = Script.Reply.json(
    #"{"device_code":"DC","user_code":"WD","verification_uri":"https://op.example/go","expires_in":900}"#
  )
  private static let ada = Account.ID(rawValue: "a_ada")

  private static func client(_ id: String) -> ClientRegistration {
    ClientRegistration(clientID: id, clientSecret: Secret("\(id)-secret"))
  }

  private static func engine(_ script: Script) throws -> Einlass {
    Einlass(
      catalog: try ProviderCatalogTests.catalog(descriptor), store: script.store.accountStore,
      effects: script.effects)
  }

  /// A script with stored registrations, and an account with an expired token of this client and
  /// flow.
  private static func script(
    _ replies: [Script.Reply] = [], _ clients: [(FlowKind?, ClientRegistration)],
    token: (client: String, flow: FlowKind)? = nil, answers: [Answer] = []
  ) throws -> Script {
    let stored = token.map { token in
      StoredCredential(
        role: .application, registration: ClientRegistration(clientID: token.client),
        credential: .oauth2(
          OAuth2Credential(
            accessToken: Secret("OLD"), expiresAt: Script.now, refreshToken: Secret("RT"))),
        binding: ProviderBinding(
          origins: ["https://op.example"], clientID: token.client, flowKind: token.flow))
    }
    let store = ScriptedStore(
      accounts: stored == nil ? [] : [Sample.account("ada", "op")],
      grants: Sample.grants("op", .granted), credentials: stored.map { [ada: [$0]] } ?? [:])
    let script = Script(replies, answers: answers, store: store)
    for (flow, client) in clients { _ = try engine(script).configure("op", client, for: flow) }
    return script
  }

  /// The client ids and secrets that were sent, in order.
  private static func proofs(_ script: Script) -> [String] {
    script.requests.compactMap { request in
      let form = FormEncoding.decode(request.body, plus: .space) ?? []
      func value(_ names: String...) -> String? {
        form.first { names.contains($0.name) }?.value
      }
      return value("client_id", "id").map { id in
        "\(id):\(value("client_secret", "secret") ?? "")"
      }
    }
  }

  private static func get(
    _ script: Script, own: ClientRegistration? = nil
  ) async throws -> PerformResult {
    try await engine(script).credential(
      CredentialRequest(
        application: Sample.application, registration: { _ in own }, account: ada))
  }

  @Test func `A flow uses its own registration, otherwise the general one, otherwise none`() throws
  {
    let general = Self.client("G")
    var own = Self.client("OWN")
    own.flows = [.deviceCode: Self.client("OWN-D")]
    let stored: [(FlowKind?, ClientRegistration)] = [
      (nil, general), (.deviceCode, Self.client("D")),
    ]
    let rows: [([(FlowKind?, ClientRegistration)], ClientRegistration?, FlowKind?, String?)] = [
      ([], nil, .deviceCode, nil), ([], nil, nil, nil),
      ([stored[0]], nil, .deviceCode, "G"), ([stored[0]], nil, nil, "G"),
      (stored, nil, .deviceCode, "D"), (stored, nil, .authorizationCode, "G"),
      (stored, nil, nil, "G"),
      ([stored[1]], nil, .deviceCode, "D"), ([stored[1]], nil, .authorizationCode, nil),
      ([stored[1]], nil, nil, "D"),
      (stored, own, .deviceCode, "OWN-D"), (stored, own, .authorizationCode, "OWN"),
      (stored, Self.client("OTHER"), .deviceCode, "OTHER"),
      (stored, ClientMetadata.registration(at: "https://a.example/c"), .deviceCode, "D"),
    ]
    for (clients, own, flow, expected) in rows {
      let script = try Self.script([], clients)
      let provider = try Self.engine(script).catalog.provider("op")
      let found = try script.store.accountStore.registration(own, at: provider, by: flow)
      #expect(found?.clientID == expected, "\(clients) \(String(describing: flow))")
    }
  }

  /// The registrations, the client and the flow of the token, and the sent client with its secret;
  /// `nil` for no request.
  static let refreshes: [([(FlowKind?, String)], String, FlowKind, String?)] = [
    ([(nil, "G"), (.deviceCode, "D")], "D", .deviceCode, "D:D-secret"),
    ([(nil, "G"), (.deviceCode, "D")], "G", .authorizationCode, "G:G-secret"),
    // The token came before the registration of its flow.
    ([(nil, "G"), (.deviceCode, "D")], "G", .deviceCode, "G:G-secret"),
    // Without one of its own, and with a foreign one.
    ([(nil, "G")], "D", .deviceCode, nil),
    ([(nil, "G"), (.authorizationCode, "D")], "D", .deviceCode, nil),
    ([(.authorizationCode, "D")], "D", .deviceCode, nil),
    ([(.deviceCode, "D")], "D", .deviceCode, "D:D-secret"),
  ]

  @Test(arguments: refreshes)
  func `A refresh uses the client of the token, and never that of another flow`(
    _ clients: [(FlowKind?, String)], _ client: String, _ flow: FlowKind, _ sent: String?
  ) async throws {
    let script = try Self.script(
      [Self.fresh], clients.map { ($0, Self.client($1)) }, token: (client, flow))
    let result = try? await Self.get(script)
    #expect(Self.proofs(script) == (sent.map { [$0] } ?? []))
    #expect((result?.clientID == client) == (sent != nil))
    #expect(script.requests.isEmpty == (sent == nil))
  }

  @Test(arguments: [FlowKind.deviceCode, .authorizationCode])
  func `Two flows with one client id and two secrets each send their own`(_ flow: FlowKind)
    async throws
  {
    let clients: [(FlowKind?, ClientRegistration)] = [
      (nil, ClientRegistration(clientID: "A", clientSecret: Secret("general"))),
      (.deviceCode, ClientRegistration(clientID: "A", clientSecret: Secret("token"))),
    ]
    let expected = flow == .deviceCode ? "A:token" : "A:general"
    let script = try Self.script(
      [Self.fresh, .json("{}")], clients, token: ("A", flow))
    _ = try await Self.get(script)
    let revoked = try await Self.engine(script).signOut(Self.ada, requiringRevocation: true)
    #expect(Self.proofs(script) == [expected, expected])
    #expect(revoked.notRevoked.isEmpty)
  }

  @Test func `An application's own registration of a flow refreshes its tokens`() async throws {
    var own = Self.client("OWN")
    own.flows = [.deviceCode: Self.client("OWN-D")]
    let script = try Self.script(
      [Self.fresh], [(nil, Self.client("G"))], token: ("OWN-D", .deviceCode))
    #expect(try await Self.get(script, own: own).clientID == "OWN-D")
    #expect(Self.proofs(script) == ["OWN-D:OWN-D-secret"])
  }

  @Test func `auth.perform renews a token with the registration of its flow`() async throws {
    let script = try Self.script(
      [Self.fresh, .json(#"{"id":"7"}"#)],
      [(nil, Self.client("G")), (.deviceCode, Self.client("D"))], token: ("D", .deviceCode))
    let request = PerformRequest(
      application: Sample.application, registration: nil, provider: "op", account: Self.ada)
    let result = try await Self.engine(script).perform(request, asking: script.asker([]))
    #expect(result.clientID == "D")
    #expect(Self.proofs(script) == ["D:D-secret"])
  }

  @Test(arguments: [true, false])
  func
    `A sign-in by a flow uses its registration, and the others are skipped without a general one`(
      hasGeneral: Bool
    ) async throws
  {
    let clients = [(FlowKind.deviceCode, Self.client("D"))]
    let script = try Self.script(
      [Self.device, Self.fresh, .json(#"{"id":"7"}"#)],
      (hasGeneral ? [(nil, Self.client("G"))] : []) + clients.map { (Optional($0), $1) },
      answers: [.accept()])
    var request = SignInRequest(application: Sample.application, registration: nil, provider: "op")
    if hasGeneral { request.flowKind = .deviceCode }
    let added = try await Self.engine(script).signIn(request, asking: script.asker())
    #expect(Self.proofs(script).map { $0.prefix(1) } == ["D", "D"])
    #expect(Self.proofs(script).last == "D:D-secret")
    let stored = try #require(script.store.credentials(of: added.account.id).first)
    #expect(stored.registration.clientID == "D" && stored.binding.clientID == "D")
    // The other flow asks with the general one, and without it nobody.
    request.flowKind = .authorizationCode
    let problem = await #expect(throws: Problem.self) {
      _ = try await Self.engine(script).signIn(request, asking: script.asker([]))
    }
    #expect(problem?.reason == (hasGeneral ? .interactionRequired : .authenticatorUnconfigured))
  }

  @Test func `A registration of a flow that the provider lacks is refused with its flows`() throws {
    let engine = try Self.engine(Script())
    let problem = #expect(throws: Problem.self) {
      _ = try engine.configure("op", Self.client("D"), for: .oauth1)
    }
    #expect(problem?.path == "/flowKind")
    #expect(problem?.message.hasSuffix("OP: authorizationCode, deviceCode.") == true)
  }

  @Test func `A request for one flow takes no token of another flow with the same client id`()
    throws
  {
    let rows: [([FlowKind?], FlowKind, FlowKind, String?)] = [
      ([nil, .deviceCode], .authorizationCode, .deviceCode, "general"),
      ([nil, .deviceCode], .deviceCode, .authorizationCode, "deviceCode"),
      ([.deviceCode], .authorizationCode, .deviceCode, nil),
    ]
    for (flows, issued, asked, secret) in rows {
      let clients = flows.map { flow in
        (flow, ClientRegistration(clientID: "A", clientSecret: Secret(flow?.rawValue ?? "general")))
      }
      let script = try Self.script([], clients, token: ("A", issued))
      let found = try script.store.accountStore.registration(
        nil, at: Self.engine(script).catalog.provider("op"), for: Self.ada, by: asked)
      #expect(found?.clientSecret.map { revealedText($0) } == secret)
    }
  }
}
