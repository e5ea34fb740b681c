internal import EinlassJSON

/// The words that all OAuth 2.0 grants share.
///
///     "token": {"method": "POST", "url": "https://example.com/token"},
///     "refresh": {"request": {"method": "POST", "url": "https://example.com/token"},
///                 "tokenAnswer": …, "marginSeconds": 600, "checkSeconds": 300},
///     "dpop": true, "clientAuthentication": ["client_secret_basic", "private_key_jwt"],
///     "assertion": …, "scopes": ["openid", "email"],
///     "issuer": "https://example.com", "keySet": "https://example.com/jwks",
///     "algorithms": ["RS256"], "audiences": ["https://api.example.com"],
///     "answer": "form", "tokenAnswer": …, "subject": "/uid", "identity": …, "revoke": …,
///     "revocation": …, "revocationAuthentication": "client_secret_post",
///     "resourceParameter": "omit", "announcesS256": false, "mutualTLS": …,
///     "endSession": "https://example.com/logout"
///
/// The grant's fields and the client authentication are added to the `query` and `form` of `token`
/// and `refresh.request`. `clientAuthentication` is one method or several; the registration decides
/// between them. `revocationAuthentication` is for a `revocation` endpoint with its own methods
/// (RFC 8414 section 2). `issuer` may have the place `{tenantid}` for the `tid` of an id_token, which
/// must be a GUID. The person is then tenant and `sub`: `6f1c…-…/AAAA`. `audiences` are those that an
/// id_token may have beside the client. Without the word, a token for others must name the client as
/// its `azp`. With `dpop` tokens are bound to a key. With `forResources` a protected
/// resource may send people here, unless `announcesS256` is false and it would show a page. With
/// `resourceParameter` requests for a resource do not name it, because the provider refuses the
/// parameter. Without `refresh` tokens are not renewed. Without
/// `refresh.request`, `token` is used. A `refresh.request` with the placeholder `{token}` sends the
/// access token itself, while it is valid, and none of the standard's fields. A token is renewed
/// `marginSeconds` before its end (60; a day if it renews itself), and not again for `checkSeconds`
/// (60).
struct TokenEndpoint: Sendable, Equatable {
  /// The renewal of a token. RFC 6749 section 6.
  struct Refresh: Sendable, Equatable {
    @Indirect var request: RequestTemplate
    /// The time before a token's end at which it is renewed: one day for a token that renews
    /// itself, because it must still be valid then.
    var marginSeconds: Int64
    /// The pause after a renewal before the next attempt.
    var checkSeconds: Int64
    /// The places in its answer; `nil` for those of every answer.
    @Indirect var answer: TokenAnswer?

    /// Uses this request at the usual times.
    init(of request: RequestTemplate, marginSeconds: Int64 = 60, checkSeconds: Int64 = 60) {
      self.request = request
      self.marginSeconds = marginSeconds
      self.checkSeconds = checkSeconds
    }

    /// Whether the access token itself is exchanged for a fresh one. The provider accepts it only
    /// while it is valid.
    var usesAccessToken: Bool { request.mentions(.token) }
  }

  static let members = [
    "token", "refresh", "clientAuthentication", "scopes", "issuer", "keySet", "algorithms",
    "answer", "tokenAnswer", "subject", "identity", "revoke", "assertion",
    "dpop", "revocation", "revocationAuthentication", "forResources", "endSession",
    "resourceParameter", "announcesS256", "mutualTLS", "audiences",
  ]

  private enum ResourceParameter: String, CaseIterable {
    case omit
  }

  @Indirect var request: RequestTemplate
  var refresh: Refresh?
  /// The accepted methods; never empty.
  var clientAuthentication: [ClientAuthentication]
  var assertion: ClientAssertion
  /// Whether tokens are bound to a key. RFC 9449. Only the descriptor says so, because metadata
  /// says that a server could bind them, and not that clients have to.
  var isBound: Bool
  /// Whether a protected resource may send people here, because a token is valid only for the named
  /// resource. RFC 8707.
  var isForResources: Bool
  /// Whether the server announces PKCE with S256. Without it a protected resource may not show its
  /// page. Descriptors of former versions do not say.
  var announcesS256: Bool
  /// Whether requests for a resource leave out the parameter `resource`, although RFC 8707 section 2
  /// demands it.
  var omitsResource: Bool
  /// The default scopes, if the front end names none.
  var scopes: [String]
  /// The signer of id_tokens, and the only issuer that responses may name (RFC 9207); compared as
  /// bytes.
  @Indirect var issuer: WebAddress?
  /// The address of the issuer's keys. Without it, id_tokens are not read unless the client secret
  /// signs them. RFC 7517.
  @Indirect var keySet: WebAddress?
  var algorithms: Set<TokenAlgorithm>
  /// The further audiences of id_tokens; `nil` for those of a token with the client as `azp`.
  var audiences: [String]?
  @Indirect var answer: TokenAnswer
  /// The flow's own identity and revocation; `nil` for the provider's.
  @Indirect var identity: IdentityDescriptor?
  @Indirect var revocation: RequestTemplate?
  /// The standard revocation. The token and the client authentication are added to it. RFC 7009
  /// section 2.1.
  @Indirect var standardRevocation: RequestTemplate?
  /// The methods of the revocation endpoint; `nil` for those of the token endpoint.
  var revocationAuthentication: [ClientAuthentication]?
  /// The page that ends the person's session in the browser. OpenID Connect RP-Initiated Logout 1.0
  /// section 2.
  @Indirect var endSession: WebAddress?
  /// The addresses for clients with a certificate, and whether tokens are bound to it. RFC 8705.
  var mutualTLS: MutualTLS

  /// Reads the words of a flow.
  init(in reader: DescriptorReader) throws(DescriptorReader.Fault) {
    request = try RequestTemplate("token", posting: reader, orGetting: true)
    clientAuthentication = try reader.authentications("clientAuthentication") ?? [.basic]
    assertion = try ClientAssertion("assertion", in: reader)
    isBound = try reader.bool("dpop", default: false)
    isForResources = try reader.bool("forResources", default: false)
    announcesS256 = try reader.bool("announcesS256", default: true)
    omitsResource =
      try reader.optional("resourceParameter") { name throws(DescriptorReader.Fault) in
        try reader.word(name, ResourceParameter.self)
      } == .omit
    scopes = try reader.optional("scopes", reader.strings) ?? []
    issuer = try reader.issuer("issuer")
    keySet = try reader.optional("keySet", reader.address)
    algorithms =
      try reader.optional("algorithms") { name throws(DescriptorReader.Fault) in
        Set(try reader.words(name, TokenAlgorithm.self))
      } ?? TokenAlgorithm.usual
    answer = try TokenAnswer("tokenAnswer", in: reader)
    identity = try reader.optional("identity") { name throws(DescriptorReader.Fault) in
      try IdentityDescriptor(name, in: reader)
    }
    revocation = try reader.revocation("revoke")
    standardRevocation = try reader.optional("revocation") {
      name throws(DescriptorReader.Fault) in
      try RequestTemplate(name, posting: reader)
    }
    revocationAuthentication = try reader.authentications("revocationAuthentication")
    endSession = try reader.optional("endSession", reader.address)
    mutualTLS = try MutualTLS("mutualTLS", in: reader)
    audiences = try reader.optional("audiences", reader.strings)
    guard audiences == nil || reader.has("keySet") || reader.has("algorithms") else {
      throw reader.fault("audiences", "This member needs keySet, because it is about id_tokens.")
    }
    // The signed secret is for the issuer, so that only its own servers may get it.
    guard
      !clientAuthentication.contains(.signedSecret)
        || issuer?.origin == request.address.origin && assertion.audience == .issuer
    else {
      throw reader.fault(
        "clientAuthentication",
        "client_secret_signed needs the assertion's audience issuer, at the origin of token.")
    }
    guard keySet == nil || issuer != nil else {
      throw reader.fault("issuer", "This member is missing. keySet needs it.")
    }
    guard reader.has("refresh") else { return }
    let reader = try reader.object(
      "refresh", members: ["request", "tokenAnswer", "marginSeconds", "checkSeconds"])
    var refresh = Refresh(
      of: reader.has("request")
        ? try RequestTemplate(
          "request", posting: reader, orGetting: true, allowing: [.clientID, .token]) : request,
      marginSeconds: try reader.seconds("marginSeconds", default: 60),
      checkSeconds: try reader.seconds("checkSeconds", default: 60))
    if reader.has("tokenAnswer") {
      refresh.answer = try TokenAnswer("tokenAnswer", in: reader, like: answer)
    }
    self.refresh = refresh
  }

  /// Whether id_tokens are signed with the client's secret, which excludes the issuer's own keys.
  var isSignedBySecret: Bool { algorithms == [.hs256] }

  /// Whether the signature of an id_token can be verified.
  var verifiesIDTokens: Bool { issuer != nil && (keySet != nil || isSignedBySecret) }

  /// Returns the parameter that names a protected resource; none without a resource, and where it is
  /// omitted. RFC 8707 section 2.
  func parameters(for resource: String?) -> [Parameter] {
    omitsResource ? [] : resource.map { [Parameter("resource", $0)] } ?? []
  }

  /// Returns the endpoint as the registration changes it.
  func registered(as registration: ClientRegistration) -> TokenEndpoint {
    var endpoint = self
    if registration.omitsResource { endpoint.omitsResource = true }
    if registration.bindsTokens { endpoint.isBound = true }
    if let algorithm = registration.idTokenAlgorithm.flatMap(TokenAlgorithm.init) {
      endpoint.algorithms = [algorithm]
    }
    if let audience = registration.assertionAudience.flatMap(ClientAssertion.Audience.init) {
      endpoint.assertion.audience = audience
    }
    return endpoint
  }

  /// The requests that carry secrets.
  var requests: [RequestTemplate] {
    [request] + [refresh?.request, standardRevocation].compactMap(\.self)
      + mutualTLS.addresses.values.map { address in
        var request = request
        request.address = address
        return request
      }
  }

  /// All addresses.
  var addresses: [WebAddress] {
    requests.map(\.address) + [issuer, keySet, endSession].compactMap(\.self)
  }

  /// Returns the same endpoint with every address moved. The issuer moves too, because a substitute
  /// server signs in its own name.
  func relocated(_ move: (WebAddress) -> WebAddress) -> TokenEndpoint {
    var moved = self
    moved.request = request.relocated(move)
    if let refresh { moved.refresh?.request = refresh.request.relocated(move) }
    moved.identity = identity?.relocated(move)
    moved.revocation = revocation?.relocated(move)
    moved.standardRevocation = standardRevocation?.relocated(move)
    moved.issuer = issuer.map(move)
    moved.keySet = keySet.map(move)
    moved.endSession = endSession.map(move)
    moved.mutualTLS = mutualTLS.relocated(move)
    return moved
  }
}

extension TokenEndpoint {
  /// Returns an answer as a JSON object; `nil` if it is none.
  func object(_ answer: Exchange.Answer) -> JSONValue? {
    switch self.answer.format {
    case .json: answer.object
    case .form:
      FormEncoding.decode(answer.body, plus: .space).flatMap { fields in
        // A JSON object of many members is slow to build.
        fields.count > 256 ? nil : .object(JSONObject(fields.map { ($0.name, .string($0.value)) }))
      }
    }
  }
}

extension RequestTemplate {
  /// Reads a POST to a token endpoint, or a GET for a provider that takes nothing else.
  init(
    _ name: String, posting reader: DescriptorReader, orGetting: Bool = false,
    allowing allowed: Set<Template.Placeholder> = [.clientID]
  ) throws(DescriptorReader.Fault) {
    try self.init(name, in: reader, allowing: allowed, renaming: Self.tokenNames)
    guard method == .post || (orGetting && method == .get) else {
      throw reader.fault(
        name,
        orGetting
          ? "Expected POST or GET." : "Expected POST, because of RFC 6749 section 3.2.")
    }
  }
}

extension DescriptorReader {
  /// Returns one or several client authentications; `nil` without this word.
  func authentications(_ name: String) throws(Fault) -> [ClientAuthentication]? {
    try optional(name) { name throws(Fault) in
      try value(name).array == nil
        ? [try word(name, ClientAuthentication.self)] : try words(name, ClientAuthentication.self)
    }
  }

  /// Returns a number of seconds, one day at most.
  func seconds(_ name: String, default fallback: Int64) throws(Fault) -> Int64 {
    guard has(name) else { return fallback }
    guard let seconds = try value(name).int64, (1...86_400).contains(seconds) else {
      throw fault(name, "Expected a number of seconds from 1 to 86400.")
    }
    return seconds
  }
}
