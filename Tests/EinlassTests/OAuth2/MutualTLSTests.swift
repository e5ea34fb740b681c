import EinlassCrypto
import EinlassJSON
import TestSupport
import Testing

@testable import Einlass

/// RFC 8705: client authentication by a certificate, and tokens bound to it.
@Suite struct MutualTLSTests {
  private static let identity = ClientIdentity(
    certificate: SampleCertificates.valid, privateKey: Secret(SampleCertificates.key))

  private static func registration(
    _ certificate: String? = SampleCertificates.valid, key: String? = SampleCertificates.key,
    authentication: String? = nil
  ) -> ClientRegistration {
    var registration = ClientRegistration(
      clientID: "APP", privateKey: key.map { Secret($0) }, authentication: authentication)
    registration.certificate = certificate
    return registration
  }

  private static func descriptor(_ more: String) -> String {
    """
    {"id":"op","name":"OP","setup":{"documentation":"https://op.example/"},"accounts":"many",\
    "registration":["clientId"],"flows":[{"kind":"clientCredentials",\
    "token":{"method":"POST","url":"https://op.example/token"},\
    "revocation":{"method":"POST","url":"https://op.example/revoke"}\(more)},\
    {"kind":"deviceCode","deviceAuthorization":{"method":"POST","url":"https://op.example/device"},\
    "token":{"method":"POST","url":"https://op.example/token"},"refresh":{},\
    "revocation":{"method":"POST","url":"https://op.example/revoke"}\(more)}],\
    "identity":{"request":{"method":"GET","url":"https://op.example/me","bearer":"{token}"},\
    "id":"/sub","required":["id"]},\
    "verify":{"recipe":"introspection",\
    "request":{"method":"POST","url":"https://op.example/introspect"}}}
    """
  }
  private static let byCertificate = #","clientAuthentication":"tls_client_auth""#
  private static let aliases = """
    ,"mutualTLS":{"token":"https://mtls.example/token","revocation":"https://mtls.example/revoke",\
    "introspection":"https://mtls.example/introspect",\
    "deviceAuthorization":"https://mtls.example/device","identity":"https://mtls.example/me"
    """
  private static let token = Script.Reply.json(#"{"access_token":"AT","token_type":"Bearer"}"#)

  private func engine(_ script: Script, _ more: String) throws -> Einlass {
    Einlass(
      catalog: try ProviderCatalogTests.catalog(Self.descriptor(more)),
      store: script.store.accountStore, effects: script.effects)
  }

  private func signIn(
    _ script: Script, _ more: String, _ registration: ClientRegistration,
    kind: FlowKind = .clientCredentials
  ) async throws -> Account {
    var request = SignInRequest(
      application: Sample.application, registration: registration, provider: "op")
    request.flowKind = kind
    return try await engine(script, more).signIn(request, asking: script.asker([.deviceCode]))
      .account
  }

  // MARK: The choice of the method

  private static let ways: [([ClientAuthentication], String?, Bool, ClientAuthentication)] = [
    ([.tls], nil, true, .tls), ([.selfSignedTLS], nil, true, .selfSignedTLS),
    ([.basic, .tls], nil, true, .tls),
    ([.privateKeyJWT, .selfSignedTLS], nil, true, .selfSignedTLS),
    ([.basic, .privateKeyJWT, .tls], nil, false, .privateKeyJWT),
    ([.tls, .basic], nil, false, .none),
    ([.basic], nil, true, .none), ([.privateKeyJWT], nil, true, .privateKeyJWT),
    ([.tls, .privateKeyJWT], "private_key_jwt", true, .privateKeyJWT),
    ([.basic], "tls_client_auth", true, .tls),
    ([.basic], "self_signed_tls_client_auth", false, .selfSignedTLS),
    ([.tls, .selfSignedTLS], nil, false, .tls), ([], nil, false, .none),
  ]

  @Test("A certificate decides the authentication method", arguments: ways)
  func chosen(
    accepted: [ClientAuthentication], named: String?, hasCertificate: Bool,
    way: ClientAuthentication
  ) {
    let registration = Self.registration(
      hasCertificate ? SampleCertificates.valid : nil, authentication: named)
    #expect(accepted.fitting(registration) == way)
  }

  // MARK: Requests

  @Test(
    "A client with a certificate sends its id alone, with the certificate",
    arguments: ["tls_client_auth", "self_signed_tls_client_auth"])
  func authentication(way: String) async throws {
    let script = Script([Self.token])
    _ = try await signIn(
      script, #","clientAuthentication":"\#(way)""#, Self.registration())
    let request = try #require(script.requests.first)
    #expect(request.identity == Self.identity)
    #expect(
      FormEncoding.decode(request.body, plus: .space)
        == [Parameter("grant_type", "client_credentials"), Parameter("client_id", "APP")])
    #expect(!request.headers.contains { $0.name == "Authorization" })
  }

  @Test func `A certificate that the provider does not use is not presented`() async throws {
    let script = Script([Self.token])
    _ = try await signIn(
      script, #","clientAuthentication":"private_key_jwt""# + Self.aliases + "}",
      Self.registration())
    #expect(script.requests.map(\.address.text) == ["https://op.example/token"])
    #expect(script.requests[0].identity == nil)
  }

  @Test(
    "Requests with the certificate go to the addresses for it",
    arguments: [
      byCertificate + aliases + "}",
      #","clientAuthentication":"private_key_jwt""# + aliases + #","bindsTokens":true}"#,
    ])
  func redirected(words: String) async throws {
    let device = Script.Reply.json(
      #"{"device_code":"D","user_code":"U","verification_uri":"https://op.example/","expires_in":9}"#
    )
    let bound = Script.Reply.json(
      #"{"access_token":"AT","token_type":"Bearer","expires_in":3600,"refresh_token":"RT"}"#)
    let person = Script.Reply.json(#"{"sub":"1"}"#)
    let script = Script([device, bound, person], answers: [.accept()])
    let engine = try engine(script, words)
    let account = try await signIn(script, words, Self.registration(), kind: .deviceCode)
    _ = try engine.store.setGrant(Sample.grants("op", .granted)[0], .usual)
    var wish = CredentialRequest(
      application: Sample.application, registration: { _ in Self.registration() },
      account: account.id)
    wish.forcesRefresh = true
    script.reply(bound)
    _ = try await engine.credential(wish)
    script.reply(.json(#"{"active":true,"client_id":"APP","sub":"1"}"#))
    script.reply(person)
    _ = try await engine.verify(
      VerifyRequest(
        application: Sample.application, registration: Self.registration(), provider: "op",
        subject: .account(account.id)))
    script.reply(.json("{}"))
    script.reply(.json("{}"))
    _ = try await engine.signOut(account.id, registration: { _ in Self.registration() })
    #expect(
      script.requests.map(\.address.text) == [
        "https://mtls.example/device", "https://mtls.example/token", "https://mtls.example/me",
        "https://mtls.example/token", "https://mtls.example/introspect",
        "https://mtls.example/revoke", "https://mtls.example/revoke",
      ])
    #expect(script.requests.allSatisfy { $0.identity == Self.identity })
  }

  @Test func `An assertion for a token names the address for certificates, another the issuer`()
    async throws
  {
    let device = Script.Reply.json(
      #"{"device_code":"D","user_code":"U","verification_uri":"https://op.example/","expires_in":9}"#
    )
    let script = Script(
      [device, Self.token, .json(#"{"sub":"1"}"#)], answers: [.accept()])
    let words =
      #","clientAuthentication":"private_key_jwt","issuer":"https://op.example""# + Self.aliases
      + #","bindsTokens":true}"#
    _ = try await signIn(script, words, Self.registration(), kind: .deviceCode)
    let audiences = try script.requests.prefix(2).map { request in
      let form = try #require(FormEncoding.decode(request.body, plus: .space))
      let assertion = try #require(form.first { $0.name == "client_assertion" }?.value)
      return try JSONReader.read(JSONWebSignature.parse(assertion).payload)["aud"]
    }
    #expect(audiences == ["https://op.example", "https://mtls.example/token"])
  }

  @Test func `The addresses for certificates belong to the binding of the account`() throws {
    let provider = try ProviderCatalogTests.catalog(
      Self.descriptor(Self.byCertificate + Self.aliases + "}")
    ).provider("op")
    #expect(
      provider.origins(of: provider.flows[0]) == ["https://mtls.example", "https://op.example"])
    let moved = provider.relocated { address in
      var address = address
      address.host = "moved.example"
      return address
    }
    #expect(moved.origins == ["https://moved.example"])
    let plain = try ProviderCatalogTests.catalog(Self.descriptor("")).provider("op")
    #expect(plain.origins == ["https://op.example"])
  }

  @Test(
    "A malformed word is refused",
    arguments: [
      (#","mutualTLS":{"token":"http://mtls.example/token"}"#, "/mutualTLS/token"),
      (#","mutualTLS":{"token":"https://mtls.example/token?a=b"}"#, "/mutualTLS/token"),
      (#","mutualTLS":{"userinfo":"https://mtls.example/"}"#, "/mutualTLS/userinfo"),
      (#","mutualTLS":{"bindsTokens":1}"#, "/mutualTLS/bindsTokens"),
    ])
  func malformed(words: String, pointer: String) throws {
    let fault = try #require(throws: ProviderCatalog.Fault.self) {
      try ProviderCatalogTests.catalog(Self.descriptor(words))
    }
    #expect(fault.pointer.hasSuffix("/flows/0" + pointer))
  }

  // MARK: Registrations

  /// The texts of the arguments, because a test shows its arguments.
  private static let texts = [
    "valid": SampleCertificates.valid, "expired": SampleCertificates.expired,
    "key": SampleCertificates.key, "otherKey": SampleCertificates.otherKey, "other": "other text",
    "both": SampleCertificates.valid + SampleCertificates.key,
  ]

  private static let unusable: [(String?, String?, String, String)] = [
    (nil, "key", "certificate", "lacks certificate"),
    ("valid", nil, "privateKey", "lacks privateKey"),
    (nil, nil, "certificate, privateKey", "lacks certificate, privateKey"),
    ("other", "key", "certificate", "is not PEM text"),
    ("valid", "otherKey", "certificate", "another key"),
    ("expired", "key", "certificate", "has expired"),
    ("both", "key", "certificate", "of certificates alone"),
  ]

  @Test(
    "A registration without a usable certificate is refused before a request", arguments: unusable)
  func refusedRegistration(
    certificate: String?, key: String?, detail: String, sentence: String
  ) async throws {
    for (words, authentication) in [(Self.byCertificate, nil), ("", "tls_client_auth")] {
      let script = Script([Self.token])
      let registration = Self.registration(
        certificate.flatMap { Self.texts[$0] }, key: key.flatMap { Self.texts[$0] },
        authentication: authentication)
      let problem = await #expect(throws: Problem.self) {
        try await signIn(script, words, registration)
      }
      #expect(problem?.reason == .authenticatorUnconfigured && problem?.detail == detail)
      #expect(problem?.message.contains(sentence) == true)
      #expect(script.requests.isEmpty)
      let engine = try engine(script, words)
      let refusal = #expect(throws: Problem.self) { try engine.configure("op", registration) }
      #expect(refusal?.reason == .authenticatorUnconfigured && refusal?.detail == detail)
      #expect(try engine.store.knownRegistrations(at: engine.catalog.provider("op")).isEmpty)
    }
  }

  @Test func `A certificate that has expired since is refused before a renewal`() async throws {
    let script = Script([Self.token])
    let engine = try engine(script, Self.byCertificate)
    let account = try await signIn(script, Self.byCertificate, Self.registration())
    _ = try engine.store.setGrant(Sample.grants("op", .granted)[0], .usual)
    func wish(_ certificate: String) -> CredentialRequest {
      var wish = CredentialRequest(
        application: Sample.application, registration: { _ in Self.registration(certificate) },
        account: account.id)
      wish.forcesRefresh = true
      return wish
    }
    let problem = await #expect(throws: Problem.self) {
      try await engine.credential(wish(SampleCertificates.expired))
    }
    #expect(problem?.detail == "certificate" && script.requests.count == 1)
    script.reply(Self.token)
    _ = try await engine.credential(wish(SampleCertificates.valid))
    #expect(script.requests.count == 2)
  }

  @Test func `A certificate without a use is refused as a parameter, and shown as a problem`()
    throws
  {
    let engine = try engine(Script(), #","clientAuthentication":"private_key_jwt""#)
    let provider = try engine.catalog.provider("op")
    for problem in [
      #expect(throws: Problem.self) { try engine.configure("op", Self.registration()) },
      provider.problem(with: Self.registration(), or: []),
    ] {
      #expect(problem?.reason == .invalidParameter && problem?.path == "/certificate")
    }
    #expect(provider.problem(with: Self.registration(nil), or: []) == nil)
    _ = try engine.configure("op", Self.registration(nil))
    _ = try engine.configure("op", Self.registration(authentication: "tls_client_auth"))
    #expect(try engine.store.knownRegistrations(at: provider).first?.hasCertificate == true)
  }
}
