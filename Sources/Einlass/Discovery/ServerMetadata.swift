internal import EinlassJSON

/// An authorization server's metadata. RFC 8414 section 2, OpenID Connect Discovery 1.0 section 3.
struct ServerMetadata: Equatable {
  var issuer: String
  @Indirect var authorizationEndpoint: WebAddress?
  @Indirect var tokenEndpoint: WebAddress
  @Indirect var deviceAuthorizationEndpoint: WebAddress?
  @Indirect var revocationEndpoint: WebAddress?
  @Indirect var introspectionEndpoint: WebAddress?
  @Indirect var registrationEndpoint: WebAddress?
  @Indirect var pushedAuthorizationRequestEndpoint: WebAddress?
  var requiresPushedRequests: Bool
  @Indirect var userinfoEndpoint: WebAddress?
  @Indirect var keySetAddress: WebAddress?
  @Indirect var endSessionEndpoint: WebAddress?
  /// In the server's order, without unknown names.
  var clientAuthentications: [ClientAuthentication]
  /// The same for revocation and introspection; empty if the server names none.
  var revocationAuthentications: [ClientAuthentication]
  var introspectionAuthentications: [ClientAuthentication]
  /// The algorithms for client assertions, in the server's order; empty if it names none.
  var assertionAlgorithms: [TokenAlgorithm]
  /// Whether the server takes the address of a client ID metadata document as a client id.
  var takesClientMetadata: Bool
  /// Whether the server issues id_tokens: the document names their keys and algorithms, both required
  /// by OpenID Connect Discovery 1.0 section 3.
  var isOpenID: Bool
  /// Empty if the server names none.
  var codeChallengeMethods: [String]
  var grantTypes: [String]
  /// The types of token that the server issues for other servers; `nil` if it names none. OAuth
  /// Identity and Authorization Chaining Across Domains.
  var requestedTokenTypes: [String]?
  var scopes: [String]
  /// The algorithms for id_tokens, without unknown names and without `none`.
  var signingAlgorithms: Set<TokenAlgorithm>
  /// RFC 9207: every response names its issuer.
  var promisesIssuer: Bool
  /// The addresses for clients with a certificate, and whether tokens are bound to it. RFC 8705.
  @Indirect var mutualTLS = MutualTLS()

  /// The reason to refuse a document, before a request to any address in it.
  enum Fault: Error, Equatable {
    /// The document is no JSON object, or a member has a wrong type or is missing.
    case member(String)
    /// The document describes another issuer than the requested one. RFC 8414 section 3.3.
    case foreignIssuer
    /// An address is malformed, uses plain http, or points to this machine although the issuer is
    /// elsewhere.
    case unsafeAddress(String)
    /// The server supports PKCE, but not S256.
    case lacksS256
  }

  /// Returns the addresses of an issuer's metadata in the order of the search: OAuth's and OpenID's
  /// with the suffix before the path (RFC 8414 sections 3.1 and 5), then OpenID's with the suffix
  /// after it (OpenID Connect Discovery 1.0 section 4).
  static func addresses(ofIssuer issuer: WebAddress) -> [WebAddress] {
    let path = issuer.path.hasSuffix("/") ? String(issuer.path.dropLast()) : issuer.path
    let openID = "/.well-known/openid-configuration"
    let places = ["/.well-known/oauth-authorization-server" + path, openID + path, path + openID]
    return (path.isEmpty ? places.dropLast() : places).map { place in
      var address = issuer
      address.path = place
      address.query = nil
      return address
    }
  }

  /// Reads a document fetched for this issuer. The comparison is exact, but for the slash of an empty
  /// path (RFC 3986 section 6.2.3), because some resources add it to the issuers that they name.
  init(_ document: JSONValue?, issuer expected: String) throws(Fault) {
    guard let object = document?.object else { throw .member("document") }
    guard let issuer = object["issuer"]?.string else { throw .member("issuer") }
    let home = try? WebAddress.parse(expected)
    let isRoot = home?.path == "/" || home?.path == ""
    guard
      sameBytes(issuer, expected)
        || isRoot && (sameBytes(issuer + "/", expected) || sameBytes(issuer, expected + "/"))
    else { throw .foreignIssuer }
    func address(_ name: String, in group: JSONValue? = document) throws(Fault) -> WebAddress? {
      guard let value = group?[name], !value.isNull else { return nil }
      guard let text = value.string else { throw .member(name) }
      guard let address = try? WebAddress.parse(text), home?.mayName(address) == true else {
        throw .unsafeAddress(name)
      }
      return address
    }
    func list(_ name: String) throws(Fault) -> [String]? {
      guard let value = object[name], !value.isNull else { return nil }
      guard let elements = value.array else { throw .member(name) }
      return elements.compactMap(\.string)
    }
    guard let token = try address("token_endpoint") else { throw .member("token_endpoint") }
    self.issuer = issuer
    tokenEndpoint = token
    authorizationEndpoint = try address("authorization_endpoint")
    deviceAuthorizationEndpoint = try address("device_authorization_endpoint")
    revocationEndpoint = try address("revocation_endpoint")
    introspectionEndpoint = try address("introspection_endpoint")
    registrationEndpoint = try address("registration_endpoint")
    pushedAuthorizationRequestEndpoint = try address("pushed_authorization_request_endpoint")
    requiresPushedRequests = object["require_pushed_authorization_requests"]?.bool ?? false
    userinfoEndpoint = try address("userinfo_endpoint")
    let keySet = try address("jwks_uri")
    keySetAddress = keySet
    endSessionEndpoint = try address("end_session_endpoint")
    func authentications(_ endpoint: String) throws(Fault) -> [ClientAuthentication]? {
      try list("\(endpoint)_endpoint_auth_methods_supported")?
        .compactMap(ClientAuthentication.init(rawValue:))
    }
    // Both specifications name this default.
    clientAuthentications = try authentications("token") ?? [.basic]
    revocationAuthentications = try authentications("revocation") ?? []
    introspectionAuthentications = try authentications("introspection") ?? []
    assertionAlgorithms =
      try list("token_endpoint_auth_signing_alg_values_supported")?
      .compactMap(TokenAlgorithm.init(rawValue:)).filter { $0 != .hs256 } ?? []
    takesClientMetadata = object["client_id_metadata_document_supported"]?.bool ?? false
    codeChallengeMethods = try list("code_challenge_methods_supported") ?? []
    grantTypes = try list("grant_types_supported") ?? ["authorization_code", "implicit"]
    requestedTokenTypes = try list("identity_chaining_requested_token_types_supported")
    scopes = try list("scopes_supported") ?? []
    let algorithms = try list("id_token_signing_alg_values_supported")
    isOpenID = keySet != nil && algorithms != nil
    signingAlgorithms = Set(
      algorithms?.compactMap(TokenAlgorithm.init(rawValue:)) ?? [.rs256])
    promisesIssuer = object["authorization_response_iss_parameter_supported"]?.bool ?? false
    guard !requiresPushedRequests || pushedAuthorizationRequestEndpoint != nil else {
      throw .member("pushed_authorization_request_endpoint")
    }
    guard codeChallengeMethods.isEmpty || codeChallengeMethods.contains("S256") else {
      throw .lacksS256
    }
    for endpoint in MutualTLS.Endpoint.allCases {
      let alias = try address(endpoint.metadataName, in: object["mtls_endpoint_aliases"])
      guard alias?.query == nil else { throw .member("mtls_endpoint_aliases") }
      mutualTLS.addresses[endpoint] = alias
    }
    mutualTLS.bindsTokens = object["tls_client_certificate_bound_access_tokens"]?.bool ?? false
  }
}
