import EinlassJSON
import Testing

@testable import Einlass

/// Each member of an issuer's metadata with each wrong value: only those that are needed, and those that
/// protect, refuse the document.
@Suite struct MetadataMemberTests {
  private static let issuer = "https://issuer.example"

  /// The members and values that are read, as a server writes them.
  private static let members: [(String, JSONValue)] = [
    ("issuer", .string(issuer)), ("token_endpoint", "https://issuer.example/token"),
    ("authorization_endpoint", "https://issuer.example/authorize"),
    ("jwks_uri", "https://issuer.example/keys"),
    ("userinfo_endpoint", "https://issuer.example/me"),
    ("device_authorization_endpoint", "https://issuer.example/device"),
    ("revocation_endpoint", "https://issuer.example/revoke"),
    ("introspection_endpoint", "https://issuer.example/introspect"),
    ("registration_endpoint", "https://issuer.example/register"),
    ("pushed_authorization_request_endpoint", "https://issuer.example/par"),
    ("end_session_endpoint", "https://issuer.example/end"),
    ("mtls_endpoint_aliases", ["token_endpoint": "https://mtls.issuer.example/token"]),
    ("token_endpoint_auth_methods_supported", ["client_secret_post"]),
    ("revocation_endpoint_auth_methods_supported", ["client_secret_post"]),
    ("introspection_endpoint_auth_methods_supported", ["client_secret_post"]),
    ("client_id_metadata_document_supported", true),
    ("grant_types_supported", ["authorization_code", "client_credentials"]),
    ("identity_chaining_requested_token_types_supported", ["a"]),
    ("scopes_supported", ["openid", "email"]), ("subject_types_supported", ["public"]),
    ("code_challenge_methods_supported", ["S256"]),
    ("id_token_signing_alg_values_supported", ["ES256"]),
    ("token_endpoint_auth_signing_alg_values_supported", ["ES256"]),
    ("authorization_response_iss_parameter_supported", true),
    ("tls_client_certificate_bound_access_tokens", true),
    ("require_pushed_authorization_requests", true),
  ]
  /// Members that einlass does not use, of which the last ones protect.
  private static let unused = [
    "op_policy_uri", "service_documentation", "response_types_supported", "ui_locales_supported",
    "check_session_iframe", "claims_supported",
  ]
  private static let unusedProtection = [
    "dpop_signing_alg_values_supported", "userinfo_signing_alg_values_supported",
    "require_signed_request_object", "require_request_uri_registration", "dpop_required",
  ]
  private static let needed = ["issuer", "token_endpoint", "authorization_endpoint", "jwks_uri"]
  private static let wrong: [JSONValue] = [
    "", 0, [], [:], "x", "/relative", "http://issuer.example/plain", "https://127.0.0.1/here", true,
    [7],
  ]

  private static func read(_ name: String, _ value: JSONValue?) throws(ServerMetadata.Fault)
    -> ServerMetadata
  {
    var document = JSONObject(members)
    document[name] = value
    return try ServerMetadata(.object(document), issuer: issuer)
  }

  private static func protects(_ name: String) -> Bool {
    name.hasSuffix("_signing_alg_values_supported") || name.hasPrefix("require_")
      || name.hasPrefix("dpop_")
      || [
        "code_challenge_methods_supported", "authorization_response_iss_parameter_supported",
        "tls_client_certificate_bound_access_tokens",
      ].contains(name)
  }

  @Test func `A null is the same as a missing member, of each name`() throws {
    for name in Self.members.map(\.0) + Self.unused + Self.unusedProtection {
      let (without, null) = (
        Result { () throws(ServerMetadata.Fault) in try Self.read(name, nil) },
        Result { () throws(ServerMetadata.Fault) in try Self.read(name, .null) }
      )
      #expect(without == null, "\(name)")
      let isRequired = name == "issuer" || name == "token_endpoint"
      #expect((try? null.get()) == nil || !isRequired, "\(name)")
    }
    // The control: without the member the description is another one.
    let whole = try Self.read("x", nil)
    for (name, _) in Self.members where name != "subject_types_supported" {
      #expect((try? Self.read(name, nil)) != whole, "\(name)")
    }
  }

  @Test func `An unneeded member never refuses a description, and an unread one is absent`() throws
  {
    let names = (Self.members.map(\.0) + Self.unused).filter {
      !Self.needed.contains($0) && !Self.protects($0)
        // Another member demands this endpoint.
        && $0 != "pushed_authorization_request_endpoint"
    }
    #expect(names.count > 15)
    for name in names {
      let absent = try Self.read(name, nil)
      for value in Self.wrong {
        var found = try Self.read(name, value)
        guard !found.ignored.isEmpty else { continue }
        #expect(found.ignored == [name])
        found.ignored = []
        #expect(found == absent, "\(name) \(value)")
        let text = JSONValue.object(found.descriptor(id: "x", name: "X")).bytes()
        #expect(!String(decoding: text, as: UTF8.self).contains("plain"))
      }
      guard name.contains("endpoint"), !name.contains("methods") else { continue }
      for value in Self.wrong where !(name == "mtls_endpoint_aliases" && value == [:]) {
        #expect(try Self.read(name, value).ignored == [name], "\(name) \(value)")
      }
    }
  }

  @Test(arguments: ["token", "revocation", "introspection"])
  func `A list of unknown methods alone is named as ignored`(endpoint: String) throws {
    let name = "\(endpoint)_endpoint_auth_methods_supported"
    #expect(try Self.read(name, ["foo"]).ignored == [name])
    #expect(try Self.read(name, ["foo", "client_secret_post"]).ignored.isEmpty)
    #expect(try Self.read(name, []).ignored.isEmpty)
  }

  @Test func `A needed member is refused by name, and one for id_tokens only where they are used`()
    throws
  {
    for name in Self.needed {
      for value in Self.wrong where name != "issuer" {
        let fault = #expect(throws: ServerMetadata.Fault.self) { try Self.read(name, value) }
        #expect([.member(name), .unsafeAddress(name)].contains(fault), "\(name) \(value)")
      }
    }
    var plain = JSONObject(Self.members)
    (plain["scopes_supported"], plain["jwks_uri"]) = (["read"], "/keys")
    let metadata = try ServerMetadata(.object(plain), issuer: Self.issuer)
    #expect(metadata.ignored == ["jwks_uri"] && metadata.keySetAddress == nil)
  }

  @Test func `A member that protects is never absent because it cannot be read`() throws {
    let names = (Self.members.map(\.0) + Self.unusedProtection).filter(Self.protects)
    #expect(names.count == 11)
    for name in names {
      let isList = name.hasSuffix("supported") && !name.hasSuffix("parameter_supported")
      for value in Self.wrong where isList ? value.string == nil || value == "" : value.bool == nil
      {
        // An empty list says nothing.
        guard value != [] || !isList else { continue }
        #expect(throws: ServerMetadata.Fault.member(name), "\(name) \(value)") {
          try Self.read(name, value)
        }
      }
    }
    // A text is a list of one, and one without S256 is stricter than none.
    #expect(throws: ServerMetadata.Fault.lacksS256) {
      try Self.read("code_challenge_methods_supported", "x")
    }
    let algorithms = "id_token_signing_alg_values_supported"
    for value in ["x", ["none"]] as [JSONValue] {
      #expect(throws: ServerMetadata.Fault.unsupported(algorithms)) {
        try Self.read(algorithms, value)
      }
    }
    // The controls: the same members as they should be.
    #expect(try Self.read("code_challenge_methods_supported", "S256").ignored.isEmpty)
    #expect(try Self.read(algorithms, "RS256").signingAlgorithms == [.rs256])
    #expect(try Self.read(algorithms, []).signingAlgorithms == [.rs256])
    #expect(try Self.read("require_request_uri_registration", true).ignored.isEmpty)
  }

  @Test func `A demand that cannot be met is refused only where there is a page`() throws {
    let name = "require_signed_request_object"
    #expect(throws: ServerMetadata.Fault.demand(name)) { try Self.read(name, true) }
    #expect(try Self.read(name, false).ignored.isEmpty)
    var device = JSONObject(Self.members)
    (device[name], device["authorization_endpoint"]) = (true, nil)
    #expect(throws: Never.self) {
      try ServerMetadata(.object(device), issuer: Self.issuer)
    }
  }

  @Test(
    "A server is asked for the person by the members of OpenID Connect",
    arguments: [
      // scopes, algorithms, keys, userinfo; the requested scopes, the keys, the request
      (["openid", "email"], true, true, true, ["openid", "email"], true, true),
      (["openid", "email"], false, true, true, ["openid", "email"], true, true),
      (["openid", "email"], true, false, true, ["openid", "email"], false, true),
      (["openid", "email"], true, true, false, ["openid", "email"], true, false),
      (["openid", "offline_access"], true, false, false, ["offline_access"], false, false),
      (["read", "offline_access"], true, true, true, ["offline_access"], false, false),
      (nil, true, true, true, ["openid", "profile", "email"], true, true),
      (nil, false, true, true, ["openid", "profile", "email"], true, true),
      (nil, true, true, false, ["openid", "profile", "email"], true, false),
      (nil, false, true, false, [], false, false),
    ] as [([String]?, Bool, Bool, Bool, [String], Bool, Bool)])
  func person(
    scopes: [String]?, namesAlgorithms: Bool, keys: Bool, userinfo: Bool, wanted: [String],
    verifies: Bool, asks: Bool
  ) throws {
    var document: JSONObject = [
      "issuer": .string(Self.issuer), "token_endpoint": "https://issuer.example/token",
      "authorization_endpoint": "https://issuer.example/authorize",
    ]
    document["scopes_supported"] = scopes.map { JSONValue($0) }
    if namesAlgorithms { document["id_token_signing_alg_values_supported"] = ["RS256"] }
    if keys { document["jwks_uri"] = "https://issuer.example/keys" }
    if userinfo { document["userinfo_endpoint"] = "https://issuer.example/me" }
    let metadata = try ServerMetadata(.object(document), issuer: Self.issuer)
    let descriptor = JSONValue.object(metadata.descriptor(id: "x", name: "X"))
    _ = try Provider(descriptor, at: "")
    #expect(descriptor.at(pointer: "/flows/0/scopes") == JSONValue(wanted))
    #expect((descriptor.at(pointer: "/flows/0/keySet") != nil) == verifies)
    let algorithms = verifies ? JSONValue(["RS256"]) : nil
    #expect(descriptor.at(pointer: "/flows/0/algorithms") == algorithms)
    #expect((descriptor.at(pointer: "/identity/request") != nil) == asks)
    #expect((descriptor["identity"] != nil) == (verifies || asks))
  }
}
