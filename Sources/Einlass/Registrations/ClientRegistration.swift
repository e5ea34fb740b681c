public import EinlassJSON

/// A client's registration at a provider: a consumer key and secret, or a client id and secret.
public struct ClientRegistration: Sendable, Equatable {
  public var clientID: String
  public var clientSecret: Secret?
  /// The redirect address, if the registration has one of its own.
  public var redirect: String?
  /// The client's private key as PEM text, used instead of a secret or in addition to it. RFC 7523,
  /// RFC 5849 section 3.4.3.
  public var privateKey: Secret?
  /// The provider's id of that key (`kid`), for providers that need it.
  public var keyID: String?
  /// The provider's id of the team in whose name the key signs a client secret.
  public var teamID: String?
  /// The client authentication method, by its name in RFC 7591 section 2; `nil` for the method of
  /// the provider's descriptor.
  public var authentication: String?
  /// The client's certificate as PEM text, with which it authenticates by mutual TLS. `privateKey`
  /// is its key. RFC 8705.
  public var certificate: String?
  /// Whether the tokens are to be bound to a key. RFC 9449.
  public var bindsTokens = false
  /// The algorithm of id_tokens that the client registered for (`id_token_signed_response_alg` of
  /// OpenID Connect Dynamic Client Registration 1.0 section 2); `nil` for that of the descriptor.
  public var idTokenAlgorithm: String?
  /// The audience of the client's assertions, `endpoint` or `issuer`; `nil` to try the possible ones.
  public var assertionAudience: String?
  /// Whether requests for a protected resource leave out the parameter `resource`, because the
  /// provider refuses it. RFC 8707.
  public var omitsResource = false
  /// The path of a file with an assertion for the flows `jwtBearer` and `tokenExchange`. Only the
  /// configuration file may name it.
  public var assertionFile: String?
  /// The scopes that the provider registered on request; `nil` for all.
  public var scopes: [String]?
  /// Whether the client id is the address of a client ID metadata document, used only without
  /// another registration.
  public var isDocument = false
  /// The registrations of single flows, used there in place of this one.
  public var flows: [FlowKind: ClientRegistration] = [:]

  public init(
    clientID: String, clientSecret: Secret? = nil, redirect: String? = nil,
    privateKey: Secret? = nil, authentication: String? = nil, keyID: String? = nil
  ) {
    self.clientID = clientID
    self.clientSecret = clientSecret
    self.redirect = redirect
    self.privateKey = privateKey
    self.keyID = keyID
    self.authentication = authentication
  }
}

extension ClientRegistration {
  /// The names of the members that `readProperties(of:)` reads.
  public static let propertyNames = [
    "certificate", "dpop", "idTokenAlgorithm", "assertionAudience", "resourceParameter", "teamId",
  ]

  /// The valid values of `assertionAudience`.
  public static let assertionAudiences = ClientAssertion.audiences

  /// The algorithms of id_tokens that a client may have registered for.
  public static let idTokenAlgorithms = TokenAlgorithm.allCases.map(\.rawValue)

  /// The properties beside ids and secrets, in the form of the protocol. Holds no secret.
  public var properties: JSONObject {
    JSONObject(present: [
      "certificate": certificate.map(JSONValue.string), "dpop": bindsTokens ? true : nil,
      "idTokenAlgorithm": idTokenAlgorithm.map(JSONValue.string),
      "assertionAudience": assertionAudience.map(JSONValue.string),
      "resourceParameter": omitsResource ? "omit" : nil,
      "teamId": teamID.map(JSONValue.string), "scopes": scopes.map { JSONValue($0) },
    ])
  }

  /// The properties as JSON text, for the store; `nil` for none.
  public var propertiesText: String? {
    get {
      let properties = properties
      return properties.members.isEmpty ? nil : JSONValue.object(properties).text
    }
    set { readProperties(of: newValue.flatMap { try? JSONReader.read(Array($0.utf8)) }) }
  }

  /// Sets the properties from the members of an object in the form of the protocol.
  public mutating func readProperties(of object: JSONValue?) {
    certificate = object?["certificate"]?.string
    bindsTokens = object?["dpop"]?.bool ?? false
    idTokenAlgorithm = object?["idTokenAlgorithm"]?.string
    assertionAudience = object?["assertionAudience"]?.string
    omitsResource = object?["resourceParameter"]?.string == "omit"
    teamID = object?["teamId"]?.string
    scopes = object?["scopes"]?.array?.compactMap(\.string)
  }
}
