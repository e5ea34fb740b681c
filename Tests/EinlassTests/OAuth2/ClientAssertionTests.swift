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
