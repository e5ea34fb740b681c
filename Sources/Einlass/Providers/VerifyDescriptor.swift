internal import EinlassJSON

/// How a provider's credentials are checked.
enum VerifyDescriptor: Sendable, Equatable {
  /// The identity request, signed: whoever can sign it with this application holds a token of it.
  case signedIdentity
  /// The provider is asked about the token first, then for the identity.
  case tokenInfo(TokenInfo)
  /// The standard's question about a token, with the client's proof: by other ways than at the token endpoint, where
  /// some are named. RFC 7662, RFC 8414 section 2.
  ///
  ///     "verify": {"recipe": "introspection", "request": {"method": "POST", "url": "https://example.com/introspect"},
  ///                "clientAuthentication": "client_secret_post"}
  case introspection(RequestTemplate, authentication: [ClientAuthentication]?)

  /// A request about a token, and where in its answer the facts stand.
  struct TokenInfo: Sendable, Equatable {
    var request: RequestTemplate
    /// JSON pointers: a boolean, a text, seconds since 1970 with 0 for never, a text, a list of texts.
    var active: String
    var clientID: String
    var expiresAt: String?
    var subject: String?
    var scopes: String?
    /// Why the token is not active.
    var failure: String?
    /// Further query of the identity request.
    var identityQuery: [RequestTemplate.Field]
  }

  /// The recipes, by their names in a descriptor.
  enum Recipe: String, CaseIterable {
    case signedIdentity, tokenInfo, introspection
  }

  init(_ name: String, in reader: DescriptorReader) throws(DescriptorReader.Fault) {
    let words = try reader.value(name).object?.members.map(\.name) ?? []
    let recipe = try reader.object(name, words: words).word("recipe", Recipe.self)
    switch recipe {
    case .signedIdentity:
      _ = try reader.object(name, words: ["recipe"])
      self = .signedIdentity
    case .introspection:
      let reader = try reader.object(name, words: ["recipe", "request", "clientAuthentication"])
      self = .introspection(
        try RequestTemplate("request", posting: reader),
        authentication: try reader.authentications("clientAuthentication"))
    case .tokenInfo:
      let reader = try reader.object(
        name,
        words: [
          "recipe", "request", "active", "clientId", "expiresAt", "subject", "scopes", "failure",
          "identityQuery",
        ])
      self = try .tokenInfo(
        TokenInfo(
          request: RequestTemplate(
            "request", in: reader, allowing: [.clientID, .clientSecret, .token]),
          active: reader.pointer("active"), clientID: reader.pointer("clientId"),
          expiresAt: reader.optional("expiresAt", reader.pointer),
          subject: reader.optional("subject", reader.pointer),
          scopes: reader.optional("scopes", reader.pointer),
          failure: reader.optional("failure", reader.pointer),
          identityQuery: RequestTemplate.fields(
            "identityQuery", in: reader, [.token, .tokenProof])))
    }
  }

  /// The same recipe with its endpoint moved.
  func relocated(_ move: (WebAddress) -> WebAddress) -> VerifyDescriptor {
    switch self {
    case .signedIdentity: return self
    case .tokenInfo(var info):
      info.request = info.request.relocated(move)
      return .tokenInfo(info)
    case .introspection(let request, let authentication):
      return .introspection(request.relocated(move), authentication: authentication)
    }
  }

  /// The question about the token, besides that about its owner.
  var request: RequestTemplate? {
    switch self {
    case .signedIdentity: nil
    case .tokenInfo(let info): info.request
    case .introspection(let request, _): request
    }
  }

  /// Whether it cannot do without the provider's word on whose a token is.
  var asksForIdentity: Bool {
    if case .introspection = self { false } else { true }
  }
}

extension Provider {
  /// Whether somebody there says anything of a token.
  var canBeAsked: Bool { verification != nil || identity?.request != nil }

  /// What a registration must hold for the provider's recipe.
  public var verificationNeeds: [RegistrationPart] {
    switch verification {
    case .signedIdentity: signatureMethod.needs
    case .tokenInfo: [.clientID, .clientSecret]
    case .introspection, nil: [.clientID]
    }
  }
}
