internal import EinlassJSON

/// How a provider's credentials are checked.
enum VerifyDescriptor: Sendable, Equatable {
  /// The identity request, signed: whoever can sign it with this application holds a token of it.
  case signedIdentity
  /// The provider is asked about the token first, then for the identity.
  case tokenInfo(TokenInfo)

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
    case signedIdentity, tokenInfo
  }

  init(_ name: String, in reader: DescriptorReader) throws(DescriptorReader.Fault) {
    let words = try reader.value(name).object?.members.map(\.name) ?? []
    let recipe = try reader.object(name, words: words).word("recipe", Recipe.self)
    switch recipe {
    case .signedIdentity:
      _ = try reader.object(name, words: ["recipe"])
      self = .signedIdentity
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
    guard case .tokenInfo(var info) = self else { return self }
    info.request = info.request.relocated(move)
    return .tokenInfo(info)
  }
}
