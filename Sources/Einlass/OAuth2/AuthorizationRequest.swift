/// The request that a browser carries to the authorization endpoint. RFC 6749 section 4.1.1, OpenID
/// Connect Core 1.0 section 3.1.2.1, RFC 8707 section 2.
struct AuthorizationRequest {
  /// May have a query of its own, which stays. RFC 6749 section 3.1.
  var endpoint: WebAddress
  var clientID: String
  var redirectURI: String
  var scope: String
  var stateParameter: String
  var codeChallenge: String?
  var codeChallengeMethod = ProofKey.Method.s256
  var responseMode: String?
  var nonce: String?
  /// The protected resource to request the token for.
  var resource: String?
  /// The front end's parameters, checked by `customParameter(_:_:)`.
  var customParameters: [Parameter] = []
  /// The `request_uri` of a pushed request. It replaces every parameter except the client id. RFC
  /// 9126 section 4.
  var reference: String?
  /// The provider's page, for its names of parameters.
  @Indirect var page: RequestTemplate? = nil

  /// The parameters in a fixed order, without those that have no value.
  var parameters: [Parameter] {
    let parameters: [(String, String?)] = [
      ("redirect_uri", redirectURI), ("response_type", "code"), ("state", stateParameter),
      ("client_id", clientID), ("scope", scope.isEmpty ? nil : scope),
      ("code_challenge", codeChallenge),
      ("code_challenge_method", codeChallenge.map { _ in codeChallengeMethod.rawValue }),
      ("response_mode", responseMode), ("nonce", nonce), ("resource", resource),
    ]
    return parameters.compactMap { name, value in value.map { Parameter(name, $0) } }
      + customParameters
  }

  /// The address for the browser.
  var address: WebAddress {
    let parameters =
      reference.map { [Parameter("client_id", clientID), Parameter("request_uri", $0)] }
      ?? parameters
    return endpoint.asking(page?.named(parameters) ?? parameters)
  }

  /// Names that belong to the flow, of OAuth 1.0a and 2.0: a front end must not set them.
  static let reservedNames: Set<String> = [
    "client_id", "redirect_uri", "response_type", "response_mode", "scope", "state", "nonce",
    "code_challenge", "code_challenge_method", "resource", "request", "request_uri",
    "client_secret", "client_assertion", "client_assertion_type", "oauth_callback",
    "oauth_consumer_key", "oauth_nonce", "oauth_signature",
    "oauth_signature_method", "oauth_timestamp", "oauth_token", "oauth_verifier", "oauth_version",
  ]

  /// Returns a front end's parameter. Throws `reservedParameter` for a name that belongs to the
  /// flow, in any letter case, and `invalidParameter` for an empty name, for a name outside visible
  /// ASCII, and for a value with control characters.
  static func customParameter(_ name: String, _ value: String) throws(Problem) -> Parameter {
    guard !reservedNames.contains(name.lowercased()) else {
      throw .reservedParameter(name)
    }
    guard !name.isEmpty, name.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
      value.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
    else {
      throw .invalidParameter(
        "/customParameters", "A name must be visible ASCII, and a value must hold no controls.")
    }
    return Parameter(name, value)
  }
}
