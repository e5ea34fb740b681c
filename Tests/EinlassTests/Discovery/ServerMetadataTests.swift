import EinlassJSON
import Testing

@testable import Einlass

/// RFC 8414 and OpenID Connect Discovery: the checks of a server's metadata.
@Suite struct ServerMetadataTests {
  private static let issuer = "https://issuer.example/tenant"

  private static func metadata(_ change: (inout JSONObject) -> Void = { _ in })
    throws(ServerMetadata.Fault)
    -> ServerMetadata
  {
    var document: JSONObject = [
      "issuer": .string(issuer), "token_endpoint": "https://issuer.example/token",
      "authorization_endpoint": "https://issuer.example/authorize",
    ]
    change(&document)
    return try ServerMetadata(.object(document), issuer: issuer)
  }

  @Test(
    "The addresses of an issuer's documents follow both standards",
    arguments: [
      (
        "https://a.example",
        ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"]
      ),
      (
        "https://a.example/",
        ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"]
      ),
      (
        "https://a.example/x",
        [
          "/.well-known/oauth-authorization-server/x", "/.well-known/openid-configuration/x",
          "/x/.well-known/openid-configuration",
        ]
      ),
      (
        "https://a.example:8443/x/",
        [
          "/.well-known/oauth-authorization-server/x", "/.well-known/openid-configuration/x",
          "/x/.well-known/openid-configuration",
        ]
      ),
    ] as [(String, [String])])
  func places(issuer: String, expected: [String]) throws {
    let issuer = try WebAddress.parse(issuer)
    let found = ServerMetadata.addresses(ofIssuer: issuer)
    #expect(found.map(\.path) == expected)
    #expect(found.allSatisfy { $0.origin == issuer.origin })
  }

  @Test func `Missing members have the defaults of the standards`() throws {
    let metadata = try Self.metadata()
    #expect(metadata.clientAuthentications == [.basic])
    #expect(metadata.signingAlgorithms == [.rs256])
    #expect(metadata.grantTypes == ["authorization_code", "implicit"])
    #expect(!metadata.promisesIssuer && !metadata.requiresPushedRequests)
    #expect(metadata.keySetAddress == nil && metadata.codeChallengeMethods.isEmpty)
  }

  @Test(
    arguments: [
      (["client_secret_post"], nil, Secret("S"), "client_secret_post"),
      (["client_secret_post", "client_secret_basic"], nil, Secret("S"), "client_secret_basic"),
      (["private_key_jwt"], nil, Secret("S"), "client_secret_basic"),
      (nil, nil, Secret("S"), "client_secret_basic"),
      (["client_secret_post"], "client_secret_basic", Secret("S"), "client_secret_post"),
      (["client_secret_post"], nil, nil, "none"), (["none"], nil, Secret("S"), "none"),
      (
        ["client_secret_post", "client_secret_basic"], "client_secret_basic_plain", Secret("S"),
        "client_secret_basic_plain"
      ),
      (["client_secret_basic"], "client_secret_basic_empty", nil, "client_secret_basic_empty"),
    ] as [([String]?, String?, Secret?, String)])
  func `An endpoint's own authentication methods apply, unless the client supports none of them`(
    ways: [String]?, own: String?, secret: Secret?, expected: String
  ) {
    let registration = ClientRegistration(
      clientID: "APP", clientSecret: secret, authentication: own)
    let usual: [ClientAuthentication] = [.basic]
    let others = ways?.compactMap(ClientAuthentication.init(rawValue:))
    #expect(usual.fitting(registration, at: others).rawValue == expected)
  }

  /// RFC 8705 sections 3.3 and 5.
  @Test func `The addresses for certificates and bound tokens are in the descriptor`() throws {
    let metadata = try Self.metadata {
      $0["token_endpoint_auth_methods_supported"] = ["tls_client_auth"]
      $0["tls_client_certificate_bound_access_tokens"] = true
      $0["mtls_endpoint_aliases"] = [
        "token_endpoint": "https://mtls.issuer.example/token",
        "pushed_authorization_request_endpoint": "https://mtls.issuer.example/par",
        "registration_endpoint": 1,
      ]
    }
    let descriptor = JSONValue.object(metadata.descriptor(id: "x", name: "X"))
    #expect(
      descriptor.at(pointer: "/flows/0/mutualTLS") == [
        "token": "https://mtls.issuer.example/token", "pushed": "https://mtls.issuer.example/par",
        "bindsTokens": true,
      ])
    #expect(descriptor["registration"] == ["clientId", "certificate", "privateKey"])
    #expect(
      try Provider(descriptor, at: "").origins
        == ["https://issuer.example", "https://mtls.issuer.example"])
    let plain = JSONValue.object(try Self.metadata().descriptor(id: "x", name: "X"))
    #expect(plain.at(pointer: "/flows/0/mutualTLS") == nil)
    #expect(plain["registration"] == ["clientId"])
  }

  @Test(
    "An unsafe address for certificates is not used",
    arguments: [
      "http://mtls.issuer.example/token", "https://127.0.0.1/token",
      "https://mtls.issuer.example/token?a=b",
    ])
  func unsafeAlias(address: String) throws {
    let metadata = try Self.metadata {
      $0["mtls_endpoint_aliases"] = ["token_endpoint": .string(address)]
    }
    #expect(metadata.mutualTLS.addresses.isEmpty && metadata.ignored == ["mtls_endpoint_aliases"])
  }

  @Test func `Unknown values are left out`() throws {
    let metadata = try Self.metadata {
      $0["token_endpoint_auth_methods_supported"] = [
        "unknown_client_auth", "client_secret_post", "none",
      ]
      $0["id_token_signing_alg_values_supported"] = ["none", "ES256", "HS512", "RS256"]
      $0["code_challenge_methods_supported"] = ["plain", "S256"]
      $0["authorization_response_iss_parameter_supported"] = true
    }
    #expect(metadata.clientAuthentications == [.post, .none])
    #expect(metadata.signingAlgorithms == [.es256, .rs256])
    #expect(metadata.promisesIssuer)
  }

  @Test(
    "A document of another issuer, or with an unsafe address, is refused",
    arguments: [
      (
        "issuer", "https://issuer.example/tenant/",
        ServerMetadata.Fault.foreignIssuer("https://issuer.example/tenant/")
      ),
      ("issuer", "https://evil.example", .foreignIssuer("https://evil.example")),
      ("issuer", nil, .member("issuer")),
      ("token_endpoint", nil, .member("token_endpoint")),
      ("token_endpoint", 7, .member("token_endpoint")),
      ("token_endpoint", "http://issuer.example/token", .unsafeAddress("token_endpoint")),
      ("token_endpoint", "https://user@issuer.example/token", .unsafeAddress("token_endpoint")),
      ("jwks_uri", "ftp://issuer.example/keys", .unsafeAddress("jwks_uri")),
      ("jwks_uri", "http://127.0.0.1:8080/keys", .unsafeAddress("jwks_uri")),
      ("jwks_uri", "https://[::1]/keys", .unsafeAddress("jwks_uri")),
      ("code_challenge_methods_supported", ["plain"], .lacksS256),
      (
        "require_pushed_authorization_requests", true,
        .member("pushed_authorization_request_endpoint")
      ),
    ] as [(String, JSONValue?, ServerMetadata.Fault)])
  func refused(member: String, value: JSONValue?, fault: ServerMetadata.Fault) {
    #expect(throws: fault) {
      try Self.metadata {
        $0["scopes_supported"] = ["openid"]
        $0[member] = value
      }
    }
  }

  @Test(
    "The slash of an empty path makes no other issuer, and a second one does",
    arguments: [
      ("https://a.example", "https://a.example/", true),
      ("https://a.example/", "https://a.example", true),
      ("https://a.example", "https://a.example//", false),
      ("https://a.example", "https://a.example.evil", false),
      ("https://a.example/t", "https://a.example/t/", false),
    ])
  func rootSlash(expected: String, named: String, isSame: Bool) throws {
    let document: JSONValue = [
      "issuer": .string(named), "token_endpoint": "https://a.example/token",
    ]
    let metadata = try? ServerMetadata(document, issuer: expected)
    #expect(metadata?.issuer == (isSame ? named : nil))
  }

  @Test(
    "An address that must not be opened is refused, or not used", arguments: WebAddressTests.hostile
  )
  func hostile(text: String) throws {
    #expect(throws: ServerMetadata.Fault.unsafeAddress("authorization_endpoint")) {
      try Self.metadata { $0["authorization_endpoint"] = .string(text) }
    }
    for member in ["device_authorization_endpoint", "end_session_endpoint"] {
      let metadata = try Self.metadata { $0[member] = .string(text) }
      #expect(metadata.ignored == [member])
      #expect(metadata.deviceAuthorizationEndpoint == nil && metadata.endSessionEndpoint == nil)
    }
  }

  @Test func `Only metadata from this machine may contain addresses on this machine`() throws {
    let here = "http://127.0.0.1:8080"
    for (issuer, isTaken) in [(here, true), ("https://issuer.example", false)] {
      let document: JSONValue = [
        "issuer": .string(issuer), "token_endpoint": .string(issuer + "/token"),
        "jwks_uri": .string(here + "/keys"), "scopes_supported": ["openid"],
      ]
      let metadata = try? ServerMetadata(document, issuer: issuer)
      #expect((metadata != nil) == isTaken)
    }
  }

  @Test func `The descriptor contains the methods for clients, pushed requests and tokens`() throws
  {
    let metadata = try Self.metadata {
      $0["token_endpoint_auth_methods_supported"] = ["private_key_jwt", "client_secret_jwt"]
      $0["token_endpoint_auth_signing_alg_values_supported"] = ["HS256", "PS256", "none", "ES256"]
      $0["pushed_authorization_request_endpoint"] = "https://issuer.example/par"
      $0["introspection_endpoint"] = "https://issuer.example/introspect"
      $0["revocation_endpoint"] = "https://issuer.example/revoke"
    }
    func words(_ metadata: ServerMetadata) throws -> (provider: JSONValue, flow: JSONValue) {
      let descriptor = JSONValue.object(metadata.descriptor(id: "x", name: "X"))
      // The settings must be ones that the catalogue knows.
      _ = try Provider(descriptor, at: "")
      return (descriptor, try #require(descriptor["flows"]?.array?.first))
    }
    let (provider, flow) = try words(metadata)
    #expect(flow["clientAuthentication"] == ["private_key_jwt", "client_secret_jwt"])
    #expect(flow["assertion"]?["algorithms"] == ["PS256", "ES256"])
    #expect(flow["revocation"]?["url"] == "https://issuer.example/revoke")
    #expect(provider["verify"]?["recipe"] == "introspection")
    // Parameters are pushed wherever the server takes them, so that the browser does not carry them.
    #expect(flow["pushed"]?["url"] == "https://issuer.example/par")
    #expect(flow["requiresPushed"] == false)
    var strict = metadata
    strict.requiresPushedRequests = true
    #expect(try words(strict).flow["requiresPushed"] == true)
    var plain = metadata
    plain.pushedAuthorizationRequestEndpoint = nil
    #expect(try words(plain).flow["pushed"] == nil)
  }

  @Test func `An issuer's metadata does not make its word about addresses count`() throws {
    let metadata = try Self.metadata {
      $0["jwks_uri"] = "https://issuer.example/keys"
      $0["userinfo_endpoint"] = "https://issuer.example/me"
      $0["subject_types_supported"] = ["public"]
      $0["id_token_signing_alg_values_supported"] = ["RS256"]
      $0["scopes_supported"] = ["openid", "email"]
      $0["claims_supported"] = ["sub", "email", "email_verified"]
    }
    let provider = try Provider(.object(metadata.descriptor(id: "x", name: "X")), at: "")
    let words = try #require(provider.identity)
    #expect(words.pointers[.email] == "/email" && words.emailVerified == nil)
    let answer: JSONValue = ["sub": "7", "email": "ada@example.org", "email_verified": true]
    #expect(words.identity(in: answer)?.isEmailVerified == false)
  }

  @Test func `The grants with assertions become flows without scopes`() throws {
    func flows(_ change: (inout JSONObject) -> Void) throws -> [JSONValue] {
      let descriptor = JSONValue.object(
        try Self.metadata(change).descriptor(id: "x", name: "X"))
      _ = try Provider(descriptor, at: "")
      return descriptor["flows"]?.array ?? []
    }
    #expect(try flows { _ in }.map { $0["kind"] } == ["authorizationCode"])
    let prefix = "urn:ietf:params:oauth:grant-type:"
    let grants: JSONValue = [
      "authorization_code", .string(prefix + "token-exchange"), .string(prefix + "jwt-bearer"),
    ]
    let both = try flows { $0["grant_types_supported"] = grants }
    #expect(both.map { $0["kind"] } == ["authorizationCode", "jwtBearer", "tokenExchange"])
    for flow in both.dropFirst() {
      #expect(flow["scopes"] == nil && flow["refresh"] == [:])
      #expect(flow["issuer"]?.string == Self.issuer && flow["requestedTokenTypes"] == nil)
    }
    let named = try flows {
      $0["grant_types_supported"] = [.string(prefix + "token-exchange")]
      $0["identity_chaining_requested_token_types_supported"] = ["a", "b"]
    }
    #expect(named.last?["requestedTokenTypes"] == ["a", "b"])
  }

  @Test func `A null is the same as a missing member, and an array is no document`() throws {
    #expect(try Self.metadata { $0["jwks_uri"] = .null }.keySetAddress == nil)
    #expect(throws: ServerMetadata.Fault.member("document")) {
      try ServerMetadata([], issuer: Self.issuer)
    }
  }
}
