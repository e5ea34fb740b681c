internal import EinlassJSON

/// One way in that a provider offers, in its own words.
enum FlowDescriptor: Sendable, Equatable {
  case reverseAuth(ReverseAuth)
  case systemToken(SystemToken)
  case authorizationCode(AuthorizationCode)

  /// The account's own OAuth 1.0a token is turned into one for the application. Seeds 1.3.
  struct ReverseAuth: Sendable, Equatable {
    var signature: SignatureMethod
    /// Signed by the application alone; its whole answer is `{requestToken}`.
    var requestToken: RequestTemplate
    /// Signed by the account's own consumer and token.
    var accessToken: RequestTemplate
  }

  /// A token of the application's, minted from the account's own or stored for it. Seeds 1.4.
  struct SystemToken: Sendable, Equatable {
    /// Mints one; `nil` where only a stored one serves.
    var applicationToken: RequestTemplate?
    /// Gets a fresh one for one that was refused.
    var renew: RequestTemplate?
  }

  /// The person's browser brings a code, which a token endpoint takes. RFC 6749 section 4.1.
  ///
  ///     {"kind": "authorizationCode",
  ///      "authorize": {"method": "GET", "url": "https://example.com/authorize", "query": {"mobile": "1"}},
  ///      "redirect": {"ports": [8400]}, "promisesIssuer": true,
  ///      "token": …}
  ///
  /// `authorize.query` is sent besides the standard's parameters. The words from `token` on are `TokenEndpoint`'s.
  struct AuthorizationCode: Sendable, Equatable {
    var authorize: RequestTemplate
    var redirect: RedirectDescriptor
    /// Every answer names its issuer. RFC 9207.
    var promisesIssuer: Bool
    var tokens: TokenEndpoint
  }

  var kind: FlowKind {
    switch self {
    case .reverseAuth: .reverseAuth
    case .systemToken: .systemToken
    case .authorizationCode: .authorizationCode
    }
  }

  /// All requests of the flow that carry secrets, but the identity's.
  var requests: [RequestTemplate] {
    switch self {
    case .reverseAuth(let flow): [flow.requestToken, flow.accessToken]
    case .systemToken(let flow): [flow.applicationToken, flow.renew].compactMap(\.self)
    case .authorizationCode(let flow): flow.tokens.requests
    }
  }

  /// Everywhere that the flow goes, the browser included.
  var addresses: [WebAddress] {
    switch self {
    case .authorizationCode(let flow): [flow.authorize.address] + flow.tokens.addresses
    case .reverseAuth, .systemToken: requests.map(\.address)
    }
  }

  /// Where it gets tokens by a grant of OAuth 2.0; `nil` for the other flows.
  var tokens: TokenEndpoint? {
    if case .authorizationCode(let flow) = self { flow.tokens } else { nil }
  }

  init(_ value: JSONValue, at pointer: String, provider: String) throws(DescriptorReader.Fault) {
    let kind = try DescriptorReader(
      value, at: pointer, provider: provider, words: value.object?.members.map(\.name) ?? []
    ).word("kind", FlowKind.self)
    switch kind {
    case .reverseAuth:
      let reader = try DescriptorReader(
        value, at: pointer, provider: provider,
        words: ["kind", "signature", "requestToken", "accessToken"])
      self = try .reverseAuth(
        ReverseAuth(
          signature: reader.word("signature", SignatureMethod.self),
          requestToken: RequestTemplate("requestToken", in: reader, allowing: [.clientID]),
          accessToken: RequestTemplate(
            "accessToken", in: reader, allowing: [.clientID, .requestToken])))
    case .systemToken:
      let reader = try DescriptorReader(
        value, at: pointer, provider: provider, words: ["kind", "applicationToken", "renew"])
      func recipe(_ name: String) throws(DescriptorReader.Fault) -> RequestTemplate? {
        guard reader.has(name) else { return nil }
        return try RequestTemplate(
          name, in: reader,
          allowing: [
            .clientID, .clientSecret, .systemToken, .refreshToken, .permissions, .audience,
          ])
      }
      self = try .systemToken(
        SystemToken(applicationToken: recipe("applicationToken"), renew: recipe("renew")))
    case .authorizationCode:
      let reader = try DescriptorReader(
        value, at: pointer, provider: provider,
        words: ["kind", "authorize", "redirect", "promisesIssuer"] + TokenEndpoint.words)
      self = try .authorizationCode(
        AuthorizationCode(
          authorize: RequestTemplate("authorize", in: reader, allowing: [.clientID]),
          redirect: RedirectDescriptor("redirect", in: reader),
          promisesIssuer: reader.bool("promisesIssuer", default: false),
          tokens: TokenEndpoint(in: reader)))
    }
  }

  /// The same flow with every endpoint moved.
  func relocated(_ move: (WebAddress) -> WebAddress) -> FlowDescriptor {
    switch self {
    case .reverseAuth(var flow):
      flow.requestToken = flow.requestToken.relocated(move)
      flow.accessToken = flow.accessToken.relocated(move)
      return .reverseAuth(flow)
    case .systemToken(var flow):
      flow.applicationToken = flow.applicationToken?.relocated(move)
      flow.renew = flow.renew?.relocated(move)
      return .systemToken(flow)
    case .authorizationCode(var flow):
      flow.authorize = flow.authorize.relocated(move)
      flow.tokens = flow.tokens.relocated(move)
      return .authorizationCode(flow)
    }
  }
}
