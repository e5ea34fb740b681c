import EinlassJSON

/// Server metadata. OpenID Connect Discovery 1.0 section 3, RFC 8414 section 2.
extension OAuth2Provider {
  /// Returns the metadata for the endpoints that exist.
  func metadata(for request: Request, in world: World) -> JSONValue {
    let behaviour = behaviour(in: world)
    let origin = origin(of: request)
    func address(_ endpoint: Endpoint) -> JSONValue? {
      path(of: endpoint, in: world).map { .string(origin + $0) }
    }
    let ways = JSONValue(["none"] + behaviour.authentication)
    let hasDevice = path(of: .device, in: world) != nil
    var grants = ["authorization_code", "client_credentials"]
    if behaviour.refresh != "never" { grants.append("refresh_token") }
    if hasDevice { grants.append("urn:ietf:params:oauth:grant-type:device_code") }
    if behaviour.takesAssertions { grants += [Self.jwtBearer, Self.tokenExchange] }
    return .object(
      JSONObject(present: [
        "issuer": .string(issuer(for: request, in: world)),
        "authorization_endpoint": address(.authorization),
        "token_endpoint": address(.token),
        "device_authorization_endpoint": address(.device),
        "revocation_endpoint": address(.revocation),
        "introspection_endpoint": address(.introspection),
        "pushed_authorization_request_endpoint": address(.pushed),
        "require_pushed_authorization_requests": behaviour.requiresPush ? true : nil,
        "userinfo_endpoint": address(.userinfo),
        "registration_endpoint": address(.registration),
        "jwks_uri": address(.keys),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query", "fragment", "form_post"],
        "grant_types_supported": JSONValue(grants),
        "identity_chaining_requested_token_types_supported": behaviour.takesAssertions
          ? [.string(Self.identityAssertion)] : nil,
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": JSONValue(
          SigningKey.Algorithm.allCases.map(\.rawValue)),
        "token_endpoint_auth_methods_supported": ways,
        "revocation_endpoint_auth_methods_supported": ways,
        "introspection_endpoint_auth_methods_supported": JSONValue(behaviour.authentication),
        "code_challenge_methods_supported": behaviour.pkce == "unknown" ? nil : ["S256"],
        "scopes_supported": behaviour.scopes.map { JSONValue($0) },
        "authorization_response_iss_parameter_supported": .bool(behaviour.namesIssuer),
      ]))
  }
}
