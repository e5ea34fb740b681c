internal import EinlassJSON

/// Where and how tokens of OAuth 2.0 are got: the words that its grants share.
///
///     "token": {"method": "POST", "url": "https://example.com/token"},
///     "refresh": {"request": {"method": "POST", "url": "https://example.com/token"},
///                 "marginSeconds": 600, "checkSeconds": 300},
///     "dpop": true, "clientAuthentication": ["client_secret_basic", "private_key_jwt"], "assertion": …,
///     "scopes": ["openid", "email"],
///     "issuer": "https://example.com", "keySet": "https://example.com/jwks", "algorithms": ["RS256"],
///     "answer": "form", "subject": "/uid", "identity": …, "revoke": …,
///     "revocation": …, "revocationAuthentication": "client_secret_post",
///     "endSession": "https://example.com/logout"
///
/// The grant's own fields and the client's proof are added to `token` and `refresh.request`; what stands in their
/// `query` and `form` is sent besides. `clientAuthentication` is one word or several, of which the registration's
/// own means decide; `revocationAuthentication` counts where `revocation` takes others (RFC 8414 section 2). With `dpop`
/// tokens are bound to a key. With `forResources` protected resources may send people here. Without `refresh` tokens are
/// not renewed; without its `request` the address of `token` does it. A `request` with the place `{token}` takes the
/// access token itself, while it is good, and none of the standard's fields.
struct TokenEndpoint: Sendable, Equatable {
  /// How a token is renewed. RFC 6749 section 6.
  struct Refresh: Sendable, Equatable {
    var request: RequestTemplate
    /// How long before its end a token is renewed.
    var marginSeconds: Int64
    /// How long after a renewal that failed the next one is tried.
    var checkSeconds: Int64

    /// By this request, at the usual times.
    init(of request: RequestTemplate, marginSeconds: Int64 = 60, checkSeconds: Int64 = 60) {
      self.request = request
      self.marginSeconds = marginSeconds
      self.checkSeconds = checkSeconds
    }

    /// Whether the access token itself is turned into a fresh one, which the provider takes only while it is good.
    var isPaidByToken: Bool { request.mentions(.token) }
  }

  static let words = [
    "token", "refresh", "clientAuthentication", "scopes", "issuer", "keySet", "algorithms",
    "answer", "subject", "identity", "revoke", "assertion",
    "dpop", "revocation", "revocationAuthentication", "forResources", "endSession",
  ]

  /// How the answers with tokens are written.
  enum AnswerFormat: String, CaseIterable {
    case json, form
  }

  var request: RequestTemplate
  var refresh: Refresh?
  /// The ways that are taken; never empty.
  var clientAuthentication: [ClientAuthentication]
  var assertion: ClientAssertion
  /// Whether tokens are bound to a key of ours. RFC 9449.
  var isBound: Bool
  /// Whether a resource may send people here: its tokens serve nobody but the resource that is named. RFC 8707.
  var isForResources: Bool
  /// What is asked for when the front end does not say.
  var scopes: [String]
  /// Who signs id_tokens, and whom answers may name (RFC 9207); compared as bytes.
  var issuer: WebAddress?
  /// Where its keys are; without them no id_token is looked at. RFC 7517.
  var keySet: WebAddress?
  var algorithms: Set<TokenAlgorithm>
  var answerFormat: AnswerFormat
  /// Where the answer names the person, for an identity request that has to.
  var subject: String?
  /// What the provider says of identity and revocation goes for its other flows.
  var identity: IdentityDescriptor?
  var revocation: RequestTemplate?
  /// The standard's, to which token and the client's proof are added. RFC 7009 section 2.1.
  var standardRevocation: RequestTemplate?
  /// The ways that are taken there; `nil`: as elsewhere.
  var revocationAuthentication: [ClientAuthentication]?
  /// Where the person's browser ends its session. OpenID Connect RP-Initiated Logout 1.0 section 2.
  var endSession: WebAddress?

  /// Reads the words of a flow.
  init(in reader: DescriptorReader) throws(DescriptorReader.Fault) {
    request = try RequestTemplate("token", posting: reader)
    clientAuthentication = try reader.authentications("clientAuthentication") ?? [.basic]
    assertion = try ClientAssertion("assertion", in: reader)
    isBound = try reader.bool("dpop", default: false)
    isForResources = try reader.bool("forResources", default: false)
    scopes = try reader.optional("scopes", reader.strings) ?? []
    issuer = try reader.optional("issuer", reader.address)
    guard issuer.map({ sameBytes($0.text, (try? reader.string("issuer")) ?? "") }) ?? true else {
      throw reader.fault("issuer", "An address as its owner writes it should stand here.")
    }
    keySet = try reader.optional("keySet", reader.address)
    guard keySet == nil || issuer != nil else {
      throw reader.fault("issuer", "This word is missing, because keySet is there.")
    }
    algorithms =
      try reader.optional("algorithms") { name throws(DescriptorReader.Fault) in
        Set(try reader.words(name, TokenAlgorithm.self))
      } ?? TokenAlgorithm.usual
    answerFormat =
      try reader.optional("answer") { name throws(DescriptorReader.Fault) in
        try reader.word(name, AnswerFormat.self)
      } ?? .json
    subject = try reader.optional("subject", reader.pointer)
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
    guard reader.has("refresh") else { return }
    let words = try reader.object(
      "refresh", words: ["request", "marginSeconds", "checkSeconds"])
    refresh = Refresh(
      of: words.has("request")
        ? try RequestTemplate("request", posting: words, allowing: [.clientID, .token]) : request,
      marginSeconds: try words.seconds("marginSeconds", default: 60),
      checkSeconds: try words.seconds("checkSeconds", default: 60))
  }

  /// Whether id_tokens are signed with the client's secret: keys of the issuer's own and a secret don't go together.
  var isSignedBySecret: Bool { algorithms == [.hs256] }

  /// Whether it can be known who has signed an id_token.
  var vouches: Bool { issuer != nil && (keySet != nil || isSignedBySecret) }

  /// The requests that carry secrets.
  var requests: [RequestTemplate] {
    [request] + [refresh?.request, standardRevocation].compactMap(\.self)
  }

  /// All addresses.
  var addresses: [WebAddress] {
    requests.map(\.address) + [issuer, keySet, endSession].compactMap(\.self)
  }

  /// The same with every address moved, the issuer's too: who plays a provider signs in its own name.
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
    return moved
  }
}

extension TokenEndpoint {
  /// An answer with a token, or one that should hold one; `nil` unless it is an object.
  func object(_ answer: Exchange.Answer) -> JSONValue? {
    switch answerFormat {
    case .json: answer.object
    case .form:
      FormEncoding.decode(answer.body, plus: .space).flatMap { fields in
        // Putting an object together takes longer the more there are.
        fields.count > 256 ? nil : .object(JSONObject(fields.map { ($0.name, .string($0.value)) }))
      }
    }
  }
}

extension RequestTemplate {
  /// A POST to a token endpoint.
  init(
    _ name: String, posting reader: DescriptorReader,
    allowing allowed: Set<Template.Placeholder> = [.clientID]
  ) throws(DescriptorReader.Fault) {
    try self.init(name, in: reader, allowing: allowed)
    guard method == .post else {
      throw reader.fault(name, "A POST should stand here. RFC 6749 section 3.2.")
    }
  }
}

extension DescriptorReader {
  /// One way by which clients prove themselves, or several; `nil` where the word is missing.
  func authentications(_ name: String) throws(Fault) -> [ClientAuthentication]? {
    try optional(name) { name throws(Fault) in
      try value(name).array == nil
        ? [try word(name, ClientAuthentication.self)] : try words(name, ClientAuthentication.self)
    }
  }

  /// A number of seconds up to a day.
  fileprivate func seconds(_ name: String, default fallback: Int64) throws(Fault) -> Int64 {
    guard has(name) else { return fallback }
    guard let seconds = try value(name).int64, (1...86_400).contains(seconds) else {
      throw fault(name, "A number of seconds from 1 to 86400 should stand here.")
    }
    return seconds
  }
}
