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
  /// Whether the document has a member of OpenID Connect Discovery 1.0 alone.
  var hasOpenIDMember: Bool
  /// Empty if the server names none.
  var codeChallengeMethods: [String]
  var grantTypes: [String]
  /// The types of token that the server issues for other servers; `nil` if it names none. OAuth
  /// Identity and Authorization Chaining Across Domains.
  var requestedTokenTypes: [String]?
  var scopes: [String]
  /// The algorithms for id_tokens, without unknown names and without `none`; RS256 if the server
  /// names none.
  var signingAlgorithms: Set<TokenAlgorithm>
  /// RFC 9207: every response names its issuer.
  var promisesIssuer: Bool
  /// The addresses for clients with a certificate, and whether tokens are bound to it. RFC 8705.
  @Indirect var mutualTLS = MutualTLS()
  /// The members that cannot be read and count as absent.
  var ignored: [String] = []

  /// Whether the server names the person of a token, in an id_token or in an answer.
  var isOpenID: Bool {
    (scopes.isEmpty ? hasOpenIDMember : scopes.contains("openid"))
      && (keySetAddress != nil || userinfoEndpoint != nil)
  }

  /// The reason to refuse a document, before a request to any address in it.
  enum Fault: Error, Equatable {
    /// The document is no JSON object, or a member has a wrong type or is missing.
    case member(String)
    /// The document describes this issuer, which is not the requested one. RFC 8414 section 3.3.
    case foreignIssuer(String)
    /// An address is malformed, uses plain http, or points to this machine although the issuer is
    /// elsewhere.
    case unsafeAddress(String)
    /// The server supports PKCE, but not S256.
    case lacksS256
    /// The member names nothing that einlass accepts.
    case unsupported(String)
    /// The member demands something that einlass does not do.
    case demand(String)
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
  ///
  /// - Parameter allowsTemplate: Whether the document may name a template of this issuer, for one of
  ///   many tenants.
  init(
    _ document: JSONValue?, issuer expected: String, allowsTemplate: Bool = false
  ) throws(Fault) {
    guard let object = document?.object else { throw .member("document") }
    guard let issuer = object["issuer"]?.string else { throw .member("issuer") }
    let home = try? WebAddress.parse(expected)
    let isRoot = home?.path == "/" || home?.path == ""
    guard
      sameBytes(issuer, expected)
        || allowsTemplate && IssuerName(issuer).isTemplate(of: expected)
        || isRoot && (sameBytes(issuer + "/", expected) || sameBytes(issuer, expected + "/"))
    else { throw .foreignIssuer(issuer) }
    var reader = MetadataReader(object, from: home)
    try reader.requireProtectionReadable()
    guard let token = try reader.needed("token_endpoint") else { throw .member("token_endpoint") }
    self.issuer = issuer
    tokenEndpoint = token
    authorizationEndpoint = try reader.needed("authorization_endpoint")
    deviceAuthorizationEndpoint = reader.address("device_authorization_endpoint")
    revocationEndpoint = reader.address("revocation_endpoint")
    introspectionEndpoint = reader.address("introspection_endpoint")
    registrationEndpoint = reader.address("registration_endpoint")
    pushedAuthorizationRequestEndpoint = reader.address("pushed_authorization_request_endpoint")
    requiresPushedRequests = reader.flag("require_pushed_authorization_requests")
    let userinfo = reader.address("userinfo_endpoint")
    userinfoEndpoint = userinfo
    endSessionEndpoint = reader.address("end_session_endpoint")
    func authentications(_ endpoint: String) -> [ClientAuthentication] {
      reader.list(
        "\(endpoint)_endpoint_auth_methods_supported", of: ClientAuthentication.init(rawValue:))
    }
    let ways = authentications("token")
    // Both specifications name this default.
    clientAuthentications = ways.isEmpty ? [.basic] : ways
    revocationAuthentications = authentications("revocation")
    introspectionAuthentications = authentications("introspection")
    assertionAlgorithms =
      reader.list("token_endpoint_auth_signing_alg_values_supported")?
      .compactMap(TokenAlgorithm.init(rawValue:)).filter { $0 != .hs256 } ?? []
    takesClientMetadata = reader.flag("client_id_metadata_document_supported")
    codeChallengeMethods = reader.list("code_challenge_methods_supported") ?? []
    grantTypes = reader.list("grant_types_supported") ?? ["authorization_code", "implicit"]
    requestedTokenTypes = reader.list("identity_chaining_requested_token_types_supported")
    let named = reader.scopes("scopes_supported")
    scopes = named
    let algorithms = reader.list("id_token_signing_alg_values_supported") ?? []
    let isOpenID =
      !algorithms.isEmpty || userinfo != nil || object["subject_types_supported"]?.present != nil
    hasOpenIDMember = isOpenID
    // Only id_tokens need the keys.
    let needsKeys = named.isEmpty ? isOpenID : named.contains("openid")
    keySetAddress = try needsKeys ? reader.needed("jwks_uri") : reader.address("jwks_uri")
    signingAlgorithms =
      algorithms.isEmpty ? [.rs256] : Set(algorithms.compactMap(TokenAlgorithm.init(rawValue:)))
    promisesIssuer = reader.flag("authorization_response_iss_parameter_supported")
    for endpoint in MutualTLS.Endpoint.allCases {
      mutualTLS.addresses[endpoint] = reader.address(
        endpoint.metadataName, in: "mtls_endpoint_aliases")
    }
    mutualTLS.bindsTokens = reader.flag("tls_client_certificate_bound_access_tokens")
    ignored = reader.ignored
    try requireUsable(object)
  }

  /// Throws for a demand that cannot be met, before a page is opened.
  private func requireUsable(_ object: JSONObject) throws(Fault) {
    guard !requiresPushedRequests || pushedAuthorizationRequestEndpoint != nil else {
      throw .member("pushed_authorization_request_endpoint")
    }
    guard codeChallengeMethods.isEmpty || codeChallengeMethods.contains("S256") else {
      throw .lacksS256
    }
    guard !isOpenID || keySetAddress == nil || !signingAlgorithms.isEmpty else {
      throw .unsupported("id_token_signing_alg_values_supported")
    }
    // Only an authorization request can be a signed object. RFC 9101 section 10.5.
    let demand = "require_signed_request_object"
    guard object[demand]?.bool != true || authorizationEndpoint == nil else {
      throw .demand(demand)
    }
  }
}

extension ServerMetadata.Fault {
  var sentence: String {
    switch self {
    case .member(let name): "its \(name) is missing or malformed"
    case .foreignIssuer(let name): "it names another issuer\(isIssuer(name) ? ", \(name)" : "")"
    case .unsafeAddress(let name):
      "its \(name) is not an https address, or is an address of this machine"
    case .unsupported(let name): "its \(name) has nothing that einlass accepts"
    case .demand(let name): "it demands \(name), which einlass does not do"
    case .lacksS256:
      "it does not announce PKCE with S256 (code_challenge_methods_supported), which protects the code from theft"
    }
  }
}

/// Whether a text is the address of an issuer, or a template of one, and so cannot be a sentence of
/// the server's.
private func isIssuer(_ text: String) -> Bool {
  let plain = String(text.filter { $0 != "{" && $0 != "}" })
  guard text.utf8.count <= 256, let address = try? WebAddress.parse(plain) else { return false }
  return address.isSafe && address.query == nil
}
