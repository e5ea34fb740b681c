internal import EinlassJSON

/// A provider's way to verify credentials.
enum VerifyDescriptor: Sendable, Equatable {
  /// The identity request, signed. Only a holder of a token of this application can sign it.
  ///
  ///     "verify": {"recipe": "signedIdentity"}
  case signedIdentity
  /// A request about the token, then the identity request.
  case tokenInfo(TokenInfo)
  /// The standard request about a token, with the client authentication. It may name methods other
  /// than those of the token endpoint. RFC 7662, RFC 8414 section 2.
  ///
  ///     "verify": {"recipe": "introspection",
  ///                "request": {"method": "POST", "url": "https://example.com/introspect"},
  ///                "clientAuthentication": "client_secret_post"}
  case introspection(RequestTemplate, authentication: [ClientAuthentication]?)

  /// A request about a token, and JSON pointers to the facts in its answer.
  ///
  ///     "verify": {"recipe": "tokenInfo",
  ///                "request": {"method": "GET", "url": "https://example.com/validate",
  ///                            "bearer": "{token}"},
  ///                "clientId": "/client_id", "subject": "/user_id", "scopes": "/scopes",
  ///                "expiresIn": "/expires_in", "everySeconds": 3600}
  ///
  /// Only `clientId` is required beside the request. `active` is a boolean, `expiresAt` a time, and
  /// `failure` the reason of a refusal. Without `active` a refusal says that the token is not valid,
  /// also one by a rule of `errors` with the step `tokenInfo` and the outcome `relogin`. With `everySeconds`, a stored token is checked before it is
  /// handed out if its last check in this process is older. `identityQuery` is added to the query of
  /// the identity's request, where `{tokenProof}` is the digest of the token keyed with the client
  /// secret.
  struct TokenInfo: Sendable, Equatable {
    /// The facts, by their names in a descriptor. Only `clientId` is required.
    enum Fact: String, Sendable, CaseIterable {
      /// A boolean. Without this word, an answer says that the token is active, and a refusal that
      /// it is not.
      case active
      /// A text or a whole number, as `subject`.
      case clientID = "clientId"
      case subject
      /// A list of texts, or a text with spaces or commas between them.
      case scopes
      /// Seconds since 1970, with 0 for never.
      case expiresAt
      /// Seconds from now, with 0 for never.
      case expiresIn
      /// The reason a token is not active.
      case failure
    }

    var request: RequestTemplate
    var pointers: [Fact: String]
    /// The age from which a stored token is checked by this request before it is handed out.
    var everySeconds: Int64?
    /// Further query parameters of the identity request.
    var identityQuery: [RequestTemplate.Field]
  }

  /// The recipes, by their names in a descriptor.
  enum Recipe: String, CaseIterable {
    case signedIdentity, tokenInfo, introspection
  }

  init(_ name: String, in reader: DescriptorReader) throws(DescriptorReader.Fault) {
    let members = try reader.value(name).object?.members.map(\.name) ?? []
    let recipe = try reader.object(name, members: members).word("recipe", Recipe.self)
    switch recipe {
    case .signedIdentity:
      _ = try reader.object(name, members: ["recipe"])
      self = .signedIdentity
    case .introspection:
      let reader = try reader.object(name, members: ["recipe", "request", "clientAuthentication"])
      self = .introspection(
        try RequestTemplate("request", posting: reader),
        authentication: try reader.authentications("clientAuthentication"))
    case .tokenInfo:
      let facts = TokenInfo.Fact.allCases
      let reader = try reader.object(
        name,
        members: ["recipe", "request", "identityQuery", "everySeconds"] + facts.map(\.rawValue))
      var pointers: [TokenInfo.Fact: String] = [.clientID: try reader.pointer("clientId")]
      for fact in facts where reader.has(fact.rawValue) {
        pointers[fact] = try reader.pointer(fact.rawValue)
      }
      var info = TokenInfo(
        request: try RequestTemplate(
          "request", in: reader, allowing: [.clientID, .clientSecret, .token]),
        pointers: pointers,
        identityQuery: try RequestTemplate.fields(
          "identityQuery", in: reader, [.token, .tokenProof]))
      if reader.has("everySeconds") {
        let seconds = try reader.seconds("everySeconds", default: 0)
        guard seconds >= 60, !reader.has("active"), !info.request.mentions(.clientSecret) else {
          throw reader.fault(
            "everySeconds", "Expected at least 60, without active and {clientSecret} beside it.")
        }
        info.everySeconds = seconds
      }
      self = .tokenInfo(info)
    }
  }

  /// Returns the same recipe with its endpoint moved.
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

  /// The request about the token, in addition to the identity request.
  var request: RequestTemplate? {
    switch self {
    case .signedIdentity: nil
    case .tokenInfo(let info): info.request
    case .introspection(let request, _): request
    }
  }

  /// Whether the recipe needs the identity request.
  var asksForIdentity: Bool {
    if case .introspection = self { false } else { true }
  }
}

extension Provider {
  /// Whether the provider has any request about a token.
  var canBeAsked: Bool { verification != nil || identity?.request != nil }

  /// The parts of a registration that the recipe needs; `nil` without one.
  public var verificationNeeds: [RegistrationPart]? {
    switch verification {
    case .signedIdentity: signatureMethod.needs
    case .tokenInfo(let info):
      info.request.mentions(.clientSecret) ? [.clientID, .clientSecret] : [.clientID]
    case .introspection: [.clientID, .clientSecret]
    case nil: nil
    }
  }

  /// The parts of a registration that a check cannot do without. The store vouches for the
  /// tokens that einlass got itself also if the provider cannot be asked about them.
  public var checkNeeds: [RegistrationPart] {
    verification == .signedIdentity ? signatureMethod.needs : [.clientID]
  }
}
