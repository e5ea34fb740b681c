import EinlassCrypto
import EinlassJSON
import TestSupport
import Testing

@testable import Einlass

/// RFC 7523 sections 2.2 and 3, OpenID Connect Core 1.0 section 9: client authentication by a
/// signed assertion.
@Suite struct ClientAssertionTests {
  private static func provider(_ more: String) -> String {
    """
    {"id":"example","name":"Example","setup":{"documentation":"https://op.example/docs"},\
    "accounts":"many","registration":["clientId"],"flows":[{"kind":"deviceCode",\
    "deviceAuthorization":{"method":"POST","url":"https://op.example/device"},\
    "token":{"method":"POST","url":"https://op.example/token"},"issuer":"https://op.example",\
    \(more)}]}
    """
  }
  private static let replies: [Script.Reply] = [
    .json(
      #"{"device_code":"D","user_code":"U","verification_uri":"https://op.example/","expires_in":9}"#
    ),
    .json(#"{"access_token":"AT","token_type":"Bearer"}"#),
  ]

  static func pem(_ key: PrivateKey) -> Secret {
    Secret(
      "-----BEGIN PRIVATE KEY-----\n\(Base64.encode(key.pkcs8.reveal()))\n-----END PRIVATE KEY-----\n"
    )
  }

  static func keySet(_ key: PrivateKey) -> JSONWebKeySet {
    let members: JSONValue =
      switch key.publicParts {
      case .rsa(let n, let e):
        ["kty": "RSA", "n": .string(Base64URL.encode(n)), "e": .string(Base64URL.encode(e))]
      case .ed25519(let x): ["kty": "OKP", "crv": "Ed25519", "x": .string(Base64URL.encode(x))]
      case .point(let x, let y):
        [
          "kty": "EC", "crv": .string(x.count == 32 ? "P-256" : x.count == 48 ? "P-384" : "P-521"),
          "x": .string(Base64URL.encode(x)), "y": .string(Base64URL.encode(y)),
        ]
      }
    return JSONWebKeySet(["keys": [members]]) ?? JSONWebKeySet([])
  }

  /// Returns the forms of the requests of a sign-in.
  private func forms(
    _ registration: ClientRegistration, _ more: String
  ) async throws -> [[Parameter]] {
    let script = Script(Self.replies, answers: [.accept()])
    let engine = Einlass(
      catalog: try ProviderCatalogTests.catalog(Self.provider(more)),
      store: script.store.accountStore, effects: script.effects)
    _ = try await engine.signIn(
      SignInRequest(
        application: Sample.application, registration: registration, provider: "example"),
      asking: script.asker([.deviceCode]))
    return try script.requests.map {
      try #require(FormEncoding.decode($0.body, plus: .space))
    }
  }

  private func value(_ name: String, _ form: [Parameter]) throws -> String {
    let values = form.filter { $0.name == name }
    try #require(values.count == 1)
    return values[0].value
  }

  @Test(
    "Each kind of key signs with its own algorithm, for the requested endpoint",
    arguments: [
      (PublicKey.Kind.rsa, "", TokenAlgorithm.rs256),
      (.rsa, #","algorithms":["ES256","PS256","RS256"]"#, .ps256),
      (.ellipticCurve(.p256), "", .es256), (.ellipticCurve(.p384), "", .es384),
      (.ellipticCurve(.p521), "", .es512), (.ed25519, "", .edDSA),
    ])
  func privateKeys(kind: PublicKey.Kind, words: String, algorithm: TokenAlgorithm) async throws {
    let key = PrivateKey.generate(kind)
    let registration = ClientRegistration(
      clientID: "APP", privateKey: Self.pem(key), keyID: "my key")
    let forms = try await forms(
      registration,
      #""clientAuthentication":["client_secret_basic","private_key_jwt"],"assertion":{"audience":"endpoint"\#(words)}"#
    )
    #expect(forms.count == 2)
    var identifiers: Set<String> = []
    for (form, endpoint) in zip(forms, ["device", "token"]) {
      #expect(try value("client_id", form) == "APP")
      #expect(
        try value("client_assertion_type", form)
          == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
      let token = try JSONWebSignature.parse(value("client_assertion", form))
      #expect(token.algorithm == algorithm && token.keyID == "my key")
      var keys = Self.keySet(key)
      keys.keys[0].id = "my key"
      try token.verify(keys, allowed: [algorithm])
      let claims = try JSONReader.read(token.payload)
      #expect(claims["iss"] == "APP" && claims["sub"] == "APP")
      #expect(claims["aud"] == .string("https://op.example/\(endpoint)"))
      #expect(claims["iat"] == JSONValue(Script.now))
      #expect(claims["exp"] == JSONValue(Script.now + 60))
      identifiers.insert(try #require(claims["jti"]?.string))
    }
    #expect(identifiers.count == 2 && identifiers.allSatisfy { $0.utf8.count >= 22 })
  }

  @Test func `The signature verifies only with the client's key`() async throws {
    let (key, other) = (PrivateKey.generate(.ed25519), PrivateKey.generate(.ed25519))
    let registration = ClientRegistration(clientID: "APP", privateKey: Self.pem(key))
    let forms = try await forms(registration, #""clientAuthentication":"private_key_jwt""#)
    let token = try JSONWebSignature.parse(value("client_assertion", forms[1]))
    try token.verify(Self.keySet(key), allowed: [.edDSA])
    #expect(throws: JSONWebSignature.Fault.signature) {
      try token.verify(Self.keySet(other), allowed: [.edDSA])
    }
    #expect(token.keyID == nil)
  }

  @Test func `A client secret signs too, and the audience can be the issuer`() async throws {
    let secret = Secret("a client secret of more than 32 bytes")
    let forms = try await forms(
      ClientRegistration(clientID: "APP", clientSecret: secret),
      #""clientAuthentication":"client_secret_jwt","assertion":{"audience":"issuer"}"#)
    let token = try JSONWebSignature.parse(value("client_assertion", forms[1]))
    let keys = JSONWebKeySet([try #require(JSONWebKey(clientSecret: secret))])
    try token.verify(keys, allowed: [.hs256])
    #expect(try JSONReader.read(token.payload)["aud"] == "https://op.example")
    #expect(!forms[1].contains { $0.name == "client_secret" })
  }

  private static let key = PrivateKey.generate(.ed25519)
  private static let byKey = #""clientAuthentication":"private_key_jwt""#
  private static let refusal = Script.Reply.json(#"{"error":"invalid_client"}"#, status: 401)

  /// Returns the paths of the requests of device sign-ins, each with the audience of its assertion.
  private func audiences(
    _ replies: [Script.Reply], _ more: String = byKey, signIns: Int = 1,
    token: String = "https://op.example/token", fixed: String? = nil
  ) async throws -> [String] {
    let script = Script(replies, answers: Array(repeating: .accept(), count: signIns))
    var registration = ClientRegistration(clientID: "APP", privateKey: Self.pem(Self.key))
    registration.assertionAudience = fixed
    let provider = Self.provider(more).replacing("https://op.example/token", with: token)
    let engine = Einlass(
      catalog: try ProviderCatalogTests.catalog(provider), store: script.store.accountStore,
      effects: script.effects)
    for _ in 0..<signIns {
      _ = try? await engine.signIn(
        SignInRequest(
          application: Sample.application, registration: registration, provider: "example"),
        asking: script.asker([.deviceCode]))
    }
    var ids: Set<String> = []
    let found = try script.requests.map { request in
      let form = try #require(FormEncoding.decode(request.body, plus: .space))
      let text = try JSONWebSignature.parse(value("client_assertion", form))
      let claims = try JSONReader.read(text.payload)
      ids.insert(try #require(claims["jti"]?.string))
      return "\(request.address.path) \(try #require(claims["aud"]?.string))"
    }
    #expect(ids.count == found.count)
    return found
  }

  @Test func `After a refusal the next audience is tried, and the one that worked is kept`()
    async throws
  {
    let (device, token) = (Self.replies[0], Self.replies[1])
    let op = "https://op.example"
    #expect(
      try await audiences(Self.replies) == ["/device \(op)", "/token \(op)/token"])
    #expect(
      try await audiences([Self.refusal, device, .text("", status: 401), token])
        == ["/device \(op)", "/device \(op)/device", "/token \(op)/token", "/token \(op)"])
    #expect(
      try await audiences(
        [Self.refusal, .text("", status: 403), device, token] + Self.replies, signIns: 2)
        == [
          "/device \(op)", "/device \(op)/device", "/device \(op)/token", "/token \(op)/token",
          "/device \(op)/token", "/token \(op)/token",
        ])
    // idpyoidc calls an assertion for another audience so.
    let invalid = Script.Reply.json(#"{"error":"invalid_request"}"#, status: 400)
    #expect(
      try await audiences([invalid, device, token])
        == ["/device \(op)", "/device \(op)/device", "/token \(op)/token"])
    // A device code that waits for the person says nothing about the client either.
    let pending = Script.Reply.json(#"{"error":"authorization_pending"}"#, status: 403)
    let long = Script.Reply.json(
      #"{"device_code":"D","user_code":"U","verification_uri":"https://op.example/","expires_in":60}"#
    )
    #expect(
      try await audiences([long, pending, token])
        == ["/device \(op)", "/token \(op)/token", "/token \(op)/token"])
    // The control: another refusal is not about the client.
    #expect(
      try await audiences([.json(#"{"error":"invalid_scope"}"#, status: 400)]) == [
        "/device \(op)"
      ])
  }

  @Test func `The audience of a registration or of a descriptor is the only one`() async throws {
    for (fixed, words, audience) in [
      ("issuer", "", "https://op.example"), ("endpoint", "", "https://op.example/device"),
      (nil, #","assertion":{"audience":"endpoint"}"#, "https://op.example/device"),
    ] as [(String?, String, String)] {
      #expect(
        try await audiences([Self.refusal], Self.byKey + words, fixed: fixed) == [
          "/device \(audience)"
        ])
    }
  }

  /// Such an assertion would be the client's at the other server.
  @Test func `An issuer that names another server's token endpoint gets no assertion for it`()
    async throws
  {
    let seen = try await audiences(
      Array(repeating: Self.refusal, count: 5), token: "https://honest.example/token")
    #expect(seen == ["/device https://op.example", "/device https://op.example/device"])
    // The control: the token endpoint of its own origin is one.
    #expect(
      try await audiences(Array(repeating: Self.refusal, count: 5)).last
        == "/device https://op.example/token")
  }

  @Test(
    "A code or a refresh token is sent once, for every answer",
    arguments: [
      ("authorization_code", true), ("refresh_token", true),
      ("urn:ietf:params:oauth:grant-type:jwt-bearer", true), ("client_credentials", false),
      ("urn:ietf:params:oauth:grant-type:device_code", false),
    ])
  func spent(grant: String, isSpent: Bool) {
    #expect([Parameter("grant_type", grant)].mayBeSpent == isSpent)
    #expect(![Parameter("token", grant)].mayBeSpent)
  }

  @Test(
    "A refused client is told what was sent, and of no secret that it does not have",
    arguments: [
      (
        nil, byKey, true, "an assertion for https://op.example/token (private_key_jwt)",
        .checkClientKey
      ),
      (
        "s", #""clientAuthentication":"client_secret_post""#, false, "(client_secret_post)",
        .changeSettings
      ),
      (
        nil, #""clientAuthentication":"client_secret_post""#, false, "the clientId alone",
        .checkClientID
      ),
      (
        nil, #""clientAuthentication":"client_secret_basic_empty""#, false, "an empty secret",
        .checkClientID
      ),
    ] as [(String?, String, Bool, String, Problem.Advice)])
  func named(
    secret: String?, words: String, hasKey: Bool, sent: String, advice: Problem.Advice
  ) async throws {
    let script = Script(
      [Self.replies[0]] + Array(repeating: Self.refusal, count: 2), answers: [.accept()])
    let engine = Einlass(
      catalog: try ProviderCatalogTests.catalog(Self.provider(words)),
      store: script.store.accountStore, effects: script.effects)
    var registration = ClientRegistration(
      clientID: "APP", clientSecret: secret.map { Secret($0) },
      privateKey: hasKey ? Self.pem(Self.key) : nil)
    registration.assertionAudience = hasKey ? "endpoint" : nil
    let request = SignInRequest(
      application: Sample.application, registration: registration, provider: "example")
    let problem = await #expect(throws: Problem.self) {
      try await engine.signIn(request, asking: script.asker([.deviceCode]))
    }
    #expect(problem?.reason == .authenticatorUnconfigured)
    #expect(problem?.message.contains(sent) == true && problem?.advice == advice)
    #expect(problem?.message.contains("clientSecret") == (secret != nil))
    #expect(problem?.serverError?.code == "invalid_client")
  }

  @Test(
    "The registration decides among the accepted authentication methods",
    arguments: [
      (false, false, ClientAuthentication.none), (true, false, .post),
      (false, true, .privateKeyJWT),
      (true, true, .privateKeyJWT),
    ])
  func ways(hasSecret: Bool, hasKey: Bool, way: ClientAuthentication) {
    let registration = ClientRegistration(
      clientID: "APP", clientSecret: hasSecret ? Secret("s") : nil,
      privateKey: hasKey ? Secret("k") : nil)
    #expect([.none, .privateKeyJWT, .post, .basic].fitting(registration) == way)
    #expect([ClientAuthentication.basic].fitting(registration) == (hasSecret ? .basic : .none))
    var named = registration
    named.authentication = "client_secret_jwt"
    #expect([.none, .privateKeyJWT, .post].fitting(named) == .secretJWT)
    named.authentication = "unknown_client_auth"
    #expect([.none, .privateKeyJWT, .post, .basic].fitting(named) == way)
  }

  @Test(
    "An unreadable private key is refused before a request is sent",
    arguments: ["", "no key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
  func unreadable(text: String) async throws {
    let problem = await #expect(throws: Problem.self) {
      _ = try await forms(
        ClientRegistration(clientID: "APP", privateKey: Secret(text)),
        #""clientAuthentication":"private_key_jwt""#)
    }
    #expect(problem?.reason == .authenticatorUnconfigured && problem?.detail == "privateKey")
    #expect(problem?.message.contains("is not PEM text") == true)
  }

  @Test func `A key without an accepted algorithm is reported with the accepted ones`() async throws
  {
    let problem = await #expect(throws: Problem.self) {
      _ = try await forms(
        ClientRegistration(clientID: "APP", privateKey: Self.pem(.generate(.ed25519))),
        #""clientAuthentication":"private_key_jwt","assertion":{"algorithms":["RS256","PS256"]}"#)
    }
    #expect(problem?.reason == .authenticatorUnconfigured)
    #expect(problem?.message.contains("RS256, PS256") == true)
  }
}
