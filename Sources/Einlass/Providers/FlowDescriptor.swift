internal import EinlassJSON

/// One way in that a provider offers, in its own words.
enum FlowDescriptor: Sendable, Equatable {
  case reverseAuth(ReverseAuth)
  case systemToken(SystemToken)

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

  var kind: FlowKind {
    switch self {
    case .reverseAuth: .reverseAuth
    case .systemToken: .systemToken
    }
  }

  /// All requests of the flow but the identity's.
  var requests: [RequestTemplate] {
    switch self {
    case .reverseAuth(let flow): [flow.requestToken, flow.accessToken]
    case .systemToken(let flow): [flow.applicationToken, flow.renew].compactMap(\.self)
    }
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
    }
  }

  /// The same flow with every endpoint moved.
  func relocated(_ move: (RequestTemplate) -> RequestTemplate) -> FlowDescriptor {
    switch self {
    case .reverseAuth(var flow):
      flow.requestToken = move(flow.requestToken)
      flow.accessToken = move(flow.accessToken)
      return .reverseAuth(flow)
    case .systemToken(var flow):
      flow.applicationToken = flow.applicationToken.map(move)
      flow.renew = flow.renew.map(move)
      return .systemToken(flow)
    }
  }
}
