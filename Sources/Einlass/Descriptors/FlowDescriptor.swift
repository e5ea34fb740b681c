internal import EinlassJSON

/// A flow of a provider, described by its endpoints and their peculiarities.
indirect enum FlowDescriptor: Sendable, Equatable {
  case reverseAuth(ReverseAuth)
  case systemToken(SystemToken)
  case authorizationCode(AuthorizationCode)
  case deviceCode(DeviceCode)
  case oauth1(ThreeLegged)
  /// The application requests a token for itself. RFC 6749 section 4.4.
  ///
  ///     {"kind": "clientCredentials", "token": …}
  case clientCredentials(TokenEndpoint)
  /// An assertion is traded for a token. RFC 7523 section 2.1.
  ///
  ///     {"kind": "jwtBearer", "token": …}
  case jwtBearer(TokenEndpoint)
  case tokenExchange(TokenExchange)
  case passwordSession(PasswordSession)

  /// Exchanges the account's own OAuth 1.0a token for one of the application.
  struct ReverseAuth: Sendable, Equatable {
    var signature: SignatureMethod
    /// Signed by the application alone; its whole answer is `{requestToken}`.
    @Indirect var requestToken: RequestTemplate
    /// Signed with the account's own consumer and token.
    @Indirect var accessToken: RequestTemplate
  }

  /// A token for the application, minted with the account's own or already stored.
  struct SystemToken: Sendable, Equatable {
    /// Mints a token; `nil` if only a stored one can be used.
    @Indirect var applicationToken: RequestTemplate?
    /// Gets a fresh token in place of the stored one.
    @Indirect var renew: RequestTemplate?
  }

  /// The person's browser returns a code, which the token endpoint exchanges for a token. RFC 6749
  /// section 4.1.
  ///
  ///     {"kind": "authorizationCode",
  ///      "authorize": {"method": "GET", "url": "https://example.com/authorize",
  ///                    "query": {"mobile": "1"}},
  ///      "redirect": {"ports": [8400]}, "proofKey": "plain", "promisesIssuer": true,
  ///      "responseMode": "form_post", "handedOn": ["realmId"], "pasted": "code#state",
  ///      "pushed": {"method": "POST", "url": "https://example.com/par"}, "requiresPushed": false,
  ///      "token": …}
  ///
  /// `authorize.query` is added to the standard's parameters, and `responseMode` as `response_mode`:
  /// how the browser brings the response. Without it the provider decides. Only with `fragment` does a
  /// page of ours fetch the response from there, and `form_post` needs a redirect address at which
  /// einlass listens. With `pushed` the parameters are sent there first, and the browser carries only
  /// a reference to them (RFC 9126). `proofKey` is the method of PKCE (RFC 7636), `S256` without the
  /// word. `false` sends no proof key, to a provider that refuses one; then `registration` must have
  /// `clientSecret`, `privateKey` or `certificate`, because only that keeps others from redeeming a
  /// code. `handedOn` names at most 8 parameters of the response that the token request gets too, of
  /// at most 512 bytes each. With `pasted` the page at the `address` of `redirect` shows code and
  /// state, separated by `#`, and the person pastes this text. The words from `token` on are those of
  /// `TokenEndpoint`.
  struct AuthorizationCode: Sendable, Equatable {
    @Indirect var authorize: RequestTemplate
    var redirect: RedirectDescriptor
    /// `nil` at a provider that refuses PKCE.
    var proofKey: ProofKey.Method?
    /// Every response names its issuer. RFC 9207.
    var promisesIssuer: Bool
    var responseMode: ResponseMode?
    @Indirect var pushed: RequestTemplate?
    /// Whether the browser may not carry the parameters if they cannot be pushed.
    var requiresPushed: Bool
    /// The parameters of the response that the token request gets too.
    var handedOn: [String]
    /// Whether the person pastes the code and the state from the page.
    var isPasted: Bool
    var tokens: TokenEndpoint

    fileprivate enum Pasted: String, CaseIterable {
      case codeAndState = "code#state"
    }

    /// OAuth 2.0 Multiple Response Types, OAuth 2.0 Form Post Response Mode.
    enum ResponseMode: String, CaseIterable {
      case query, fragment
      case formPost = "form_post"
    }
  }

  /// The person enters a code on another device. RFC 8628.
  ///
  ///     {"kind": "deviceCode",
  ///      "deviceAuthorization": {"method": "POST", "url": "https://example.com/device"},
  ///      "device": {"code": "/code", "userCode": "/word", "page": "/activate_link",
  ///                 "wholePage": "/authorize_link", "expiresIn": "/life", "interval": "/pause"},
  ///      "question": {"method": "POST", "url": "https://example.com/status",
  ///                   "form": {"code": "{deviceCode}"}},
  ///      "token": …}
  ///
  /// `{permissions}` in the form of `deviceAuthorization` is the list of scopes, for a provider with
  /// another name for the parameter. `device`: the members of the answer, if they differ from the RFC.
  /// `question`: the request to poll with, if it is not `token` with the RFC's grant. A request with
  /// its own client authentication (`bearer`, `basic`, `{clientSecret}`) gets no other.
  struct DeviceCode: Sendable, Equatable {
    @Indirect var deviceAuthorization: RequestTemplate
    @Indirect var answer: Answer
    @Indirect var question: RequestTemplate?
    var tokens: TokenEndpoint
  }

  /// The three steps of OAuth 1.0a. RFC 5849 section 2.
  ///
  ///     {"kind": "oauth1", "signature": "HMAC-SHA1",
  ///      "requestToken": {"method": "POST", "url": "https://example.com/request_token"},
  ///      "authorize": {"method": "GET", "url": "https://example.com/authorize"},
  ///      "accessToken": {"method": "POST", "url": "https://example.com/access_token"},
  ///      "verifier": "pin"}
  ///
  /// `verifier`: with `callback`, the default, the browser brings it to `redirect`; with `pin`, the
  /// person reads it off the provider's page.
  struct ThreeLegged: Sendable, Equatable {
    enum Verifier: String, CaseIterable { case callback, pin }

    var signature: SignatureMethod
    @Indirect var requestToken: RequestTemplate
    @Indirect var authorize: RequestTemplate
    @Indirect var accessToken: RequestTemplate
    var redirect: RedirectDescriptor
    var isPIN: Bool
  }

  /// A token of another kind is exchanged for a token. RFC 8693 section 2.
  ///
  ///     {"kind": "tokenExchange", "token": …,
  ///      "requestedTokenTypes": ["urn:ietf:params:oauth:token-type:id-jag"]}
  ///
  /// `requestedTokenTypes`: the types that the provider issues for other servers. Without the word
  /// every type is tried.
  struct TokenExchange: Sendable, Equatable {
    var requestedTokenTypes: [String]?
    var tokens: TokenEndpoint

    /// Whether the provider issues tokens of this type, as far as its descriptor tells.
    func issues(_ type: String) -> Bool {
      requestedTokenTypes?.contains { sameBytes($0, type) } ?? true
    }
  }

  /// Whether the flow works at a provider that does not identify a token's owner.
  var goesWithoutIdentity: Bool {
    switch self {
    case .oauth1, .passwordSession: true
    default: tokens != nil
    }
  }

  var kind: FlowKind {
    switch self {
    case .reverseAuth: .reverseAuth
    case .systemToken: .systemToken
    case .authorizationCode: .authorizationCode
    case .deviceCode: .deviceCode
    case .oauth1: .oauth1
    case .clientCredentials: .clientCredentials
    case .jwtBearer: .jwtBearer
    case .tokenExchange: .tokenExchange
    case .passwordSession: .passwordSession
    }
  }

  /// All requests of the flow that carry secrets, without those of the identity.
  var requests: [RequestTemplate] {
    switch self {
    case .reverseAuth(let flow): [flow.requestToken, flow.accessToken]
    case .systemToken(let flow): [flow.applicationToken, flow.renew].compactMap(\.self)
    case .authorizationCode(let flow):
      [flow.pushed].compactMap(\.self) + flow.tokens.requests
    case .deviceCode(let flow):
      [flow.deviceAuthorization] + [flow.question].compactMap(\.self) + flow.tokens.requests
    case .oauth1(let flow): [flow.requestToken, flow.accessToken]
    case .clientCredentials(let tokens), .jwtBearer(let tokens): tokens.requests
    case .tokenExchange(let flow): flow.tokens.requests
    case .passwordSession(let flow): flow.requests
    }
  }

  /// All addresses that the flow uses, including the browser's.
  var addresses: [WebAddress] {
    switch self {
    case .authorizationCode(let flow):
      [flow.authorize, flow.pushed].compactMap(\.?.address) + flow.tokens.addresses
    case .deviceCode(let flow):
      [flow.deviceAuthorization, flow.question].compactMap(\.?.address) + flow.tokens.addresses
    case .oauth1(let flow): [flow.authorize.address] + requests.map(\.address)
    case .clientCredentials(let tokens), .jwtBearer(let tokens): tokens.addresses
    case .tokenExchange(let flow): flow.tokens.addresses
    case .reverseAuth, .systemToken, .passwordSession: requests.map(\.address)
    }
  }

  /// The token endpoint of an OAuth 2.0 grant; `nil` for the other flows.
  var tokens: TokenEndpoint? {
    switch self {
    case .authorizationCode(let flow): flow.tokens
    case .deviceCode(let flow): flow.tokens
    case .clientCredentials(let tokens), .jwtBearer(let tokens): tokens
    case .tokenExchange(let flow): flow.tokens
    case .reverseAuth, .systemToken, .oauth1, .passwordSession: nil
    }
  }

  /// Returns the flow as the registration changes its token endpoint.
  func registered(as registration: ClientRegistration) -> FlowDescriptor {
    switch self {
    case .authorizationCode(var flow):
      flow.tokens = flow.tokens.registered(as: registration)
      return .authorizationCode(flow)
    case .deviceCode(var flow):
      flow.tokens = flow.tokens.registered(as: registration)
      return .deviceCode(flow)
    case .clientCredentials(let tokens):
      return .clientCredentials(tokens.registered(as: registration))
    case .jwtBearer(let tokens): return .jwtBearer(tokens.registered(as: registration))
    case .tokenExchange(var flow):
      flow.tokens = flow.tokens.registered(as: registration)
      return .tokenExchange(flow)
    case .reverseAuth, .systemToken, .oauth1, .passwordSession: return self
    }
  }

  init(_ value: JSONValue, at pointer: String, provider: String) throws(DescriptorReader.Fault) {
    let kind = try DescriptorReader(
      value, at: pointer, provider: provider, members: value.object?.members.map(\.name) ?? []
    ).word("kind", FlowKind.self)
    switch kind {
    case .reverseAuth:
      let reader = try DescriptorReader(
        value, at: pointer, provider: provider,
        members: ["kind", "signature", "requestToken", "accessToken"])
      self = try .reverseAuth(
        ReverseAuth(
          signature: reader.word("signature", SignatureMethod.self),
          requestToken: RequestTemplate("requestToken", in: reader, allowing: [.clientID]),
          accessToken: RequestTemplate(
            "accessToken", in: reader, allowing: [.clientID, .requestToken])))
    case .systemToken:
      let reader = try DescriptorReader(
        value, at: pointer, provider: provider, members: ["kind", "applicationToken", "renew"])
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
      self = .authorizationCode(
        try AuthorizationCode(value, at: pointer, provider: provider))
    case .deviceCode: self = .deviceCode(try DeviceCode(value, at: pointer, provider: provider))
    case .oauth1: self = .oauth1(try ThreeLegged(value, at: pointer, provider: provider))
    case .passwordSession:
      self = .passwordSession(try PasswordSession(value, at: pointer, provider: provider))
    case .clientCredentials, .jwtBearer, .tokenExchange:
      let isExchange = kind == .tokenExchange
      let reader = try DescriptorReader(
        value, at: pointer, provider: provider,
        members: ["kind"] + (isExchange ? ["requestedTokenTypes"] : []) + TokenEndpoint.members)
      var tokens = try TokenEndpoint(in: reader)
      // Another request of the same kind renews these tokens, and only such a request renews one
      // without a refresh token.
      tokens.refresh = tokens.refresh ?? .init(of: tokens.request)
      self =
        switch kind {
        case .jwtBearer: .jwtBearer(tokens)
        case .tokenExchange:
          .tokenExchange(
            TokenExchange(
              requestedTokenTypes: try reader.optional("requestedTokenTypes", reader.strings),
              tokens: tokens))
        default: .clientCredentials(tokens)
        }
    }
  }

  /// Returns the same flow with every endpoint moved.
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
      flow.pushed = flow.pushed?.relocated(move)
      flow.tokens = flow.tokens.relocated(move)
      return .authorizationCode(flow)
    case .deviceCode(var flow):
      flow.deviceAuthorization = flow.deviceAuthorization.relocated(move)
      flow.question = flow.question?.relocated(move)
      flow.tokens = flow.tokens.relocated(move)
      return .deviceCode(flow)
    case .oauth1(var flow):
      flow.requestToken = flow.requestToken.relocated(move)
      flow.authorize = flow.authorize.relocated(move)
      flow.accessToken = flow.accessToken.relocated(move)
      return .oauth1(flow)
    case .clientCredentials(let tokens): return .clientCredentials(tokens.relocated(move))
    case .jwtBearer(let tokens): return .jwtBearer(tokens.relocated(move))
    case .tokenExchange(var flow):
      flow.tokens = flow.tokens.relocated(move)
      return .tokenExchange(flow)
    case .passwordSession(let flow): return .passwordSession(flow.relocated(move))
    }
  }
}

extension FlowDescriptor.AuthorizationCode {
  fileprivate init(
    _ value: JSONValue, at pointer: String, provider: String
  ) throws(DescriptorReader.Fault) {
    let reader = try DescriptorReader(
      value, at: pointer, provider: provider,
      members: [
        "kind", "authorize", "redirect", "proofKey", "promisesIssuer", "responseMode", "pushed",
        "requiresPushed", "handedOn", "pasted",
      ] + TokenEndpoint.members)
    authorize = try RequestTemplate(
      "authorize", in: reader, allowing: [.clientID], renaming: RequestTemplate.pageNames)
    redirect = try RedirectDescriptor("redirect", in: reader)
    proofKey = try reader.proofKey("proofKey")
    promisesIssuer = try reader.bool("promisesIssuer", default: false)
    responseMode = try reader.optional("responseMode") { name throws(DescriptorReader.Fault) in
      try reader.word(name, ResponseMode.self)
    }
    pushed = try reader.optional("pushed") { name throws(DescriptorReader.Fault) in
      try RequestTemplate(name, posting: reader)
    }
    requiresPushed = try reader.bool("requiresPushed", default: true)
    isPasted =
      try reader.optional("pasted") { name throws(DescriptorReader.Fault) in
        try reader.word(name, Pasted.self)
      } != nil
    if isPasted, case .loopback = redirect {
      throw reader.fault("pasted", "It needs the address of the page in redirect.")
    }
    tokens = try TokenEndpoint(in: reader)
    handedOn = try reader.handedOn("handedOn", to: tokens.request)
    guard proofKey == .s256 || !tokens.isForResources else {
      throw reader.fault("proofKey", "A flow with forResources needs S256.")
    }
  }
}

extension FlowDescriptor.DeviceCode {
  fileprivate init(
    _ value: JSONValue, at pointer: String, provider: String
  ) throws(DescriptorReader.Fault) {
    let reader = try DescriptorReader(
      value, at: pointer, provider: provider,
      members: ["kind", "deviceAuthorization", "device", "question"] + TokenEndpoint.members)
    deviceAuthorization = try RequestTemplate(
      "deviceAuthorization", posting: reader, allowing: [.clientID, .clientSecret, .permissions])
    question = try reader.optional("question") { name throws(DescriptorReader.Fault) in
      try RequestTemplate(
        name, posting: reader, allowing: [.clientID, .clientSecret, .deviceCode, .userCode])
    }
    tokens = try TokenEndpoint(in: reader)
    answer = try Answer("device", in: reader)
  }
}

extension FlowDescriptor.ThreeLegged {
  fileprivate init(
    _ value: JSONValue, at pointer: String, provider: String
  ) throws(DescriptorReader.Fault) {
    let reader = try DescriptorReader(
      value, at: pointer, provider: provider,
      members: [
        "kind", "signature", "requestToken", "authorize", "accessToken", "redirect", "verifier",
      ])
    signature = try reader.word("signature", SignatureMethod.self)
    requestToken = try RequestTemplate("requestToken", in: reader, allowing: [.clientID])
    authorize = try RequestTemplate("authorize", in: reader, allowing: [.clientID])
    accessToken = try RequestTemplate("accessToken", in: reader, allowing: [.clientID])
    redirect = try RedirectDescriptor("redirect", in: reader)
    let verifier = try reader.optional("verifier") { name throws(DescriptorReader.Fault) in
      try reader.word(name, Verifier.self)
    }
    isPIN = verifier == .pin
  }
}
