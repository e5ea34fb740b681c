internal import EinlassCrypto
internal import EinlassJSON

/// A client's signed assertion of its identity, valid for one request. RFC 7523 section 3, OpenID
/// Connect Core 1.0 section 9.
///
///     "assertion": {"audience": "issuer", "algorithms": ["PS256"]}
///
/// `algorithms` are those that the provider takes. With the authentication `client_secret_signed` the
/// assertion is sent as the client secret, in the name of the registration's `teamId`.
struct ClientAssertion: Sendable, Equatable {
  /// The `aud` claim. Servers disagree: some accept only the address of the requested endpoint, some
  /// only their issuer, and some only the address of their token endpoint.
  enum Audience: String, CaseIterable {
    case endpoint, issuer
  }

  /// `client_assertion_type`.
  static let type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
  /// Short, so that an assertion found later is useless.
  static let lifetimeSeconds: Int64 = 60

  /// The only audience; `nil` to try the possible ones.
  var audience: Audience?
  /// The signing algorithms, best first; empty for the usual ones of the key's kind.
  var algorithms: [TokenAlgorithm] = []

  /// Reads the word of a token endpoint.
  init(_ name: String, in reader: DescriptorReader) throws(DescriptorReader.Fault) {
    guard reader.has(name) else { return }
    let reader = try reader.object(name, members: ["audience", "algorithms"])
    if reader.has("audience") { audience = try reader.word("audience", Audience.self) }
    if reader.has("algorithms") {
      algorithms = try reader.words("algorithms", TokenAlgorithm.self)
    }
  }

  /// The valid values of `assertionAudience` of a registration.
  static let audiences = Audience.allCases.map(\.rawValue)

  /// Returns the audiences to try for a request to this address, in order. A request for a token
  /// begins with its own address, which may be that for clients with a certificate or that of a
  /// refresh. The token endpoint's address is one only for a server of the same origin: an issuer may
  /// name the token endpoint of another server, and could use the assertion there.
  func audiences(at address: WebAddress, of tokens: TokenEndpoint, step: Step) -> [String] {
    let (own, named) = (address.text, tokens.issuer?.text)
    let issuer = named.flatMap { IssuerName($0).isTemplate ? nil : $0 }
    let endpoint = tokens.request.address
    let token = endpoint != address && endpoint.origin == address.origin ? endpoint.text : nil
    return switch audience {
    case .endpoint?: [own]
    case .issuer?: [issuer ?? own]
    case nil where MutualTLS.Endpoint(of: step) == .token: [own, token, issuer].compactMap(\.self)
    case nil: [issuer, own, token].compactMap(\.self)
    }
  }

  /// Returns a registration's assertion for one request. Throws `authenticatorUnconfigured` if its
  /// key can sign by none of `algorithms`, and for a signed secret without a team.
  ///
  /// - Parameter id: random bytes, because an assertion serves only once.
  func text(
    by registration: ClientRegistration, _ way: ClientAuthentication, for audience: String,
    of provider: Provider, id: [UInt8], now: UnixTime
  ) throws(Problem) -> String {
    let signer: TokenSigner?
    var header: JSONObject = [:]
    var issuer = registration.clientID
    if way == .signedSecret {
      guard let team = registration.teamID else { throw .lacksTeam(provider) }
      issuer = team
    }
    if way.signsWithKey {
      signer = registration.signingKey.flatMap { TokenSigner($0, among: algorithms) }
      header["kid"] = registration.keyID.map(JSONValue.string)
    } else {
      signer = registration.clientSecret.map { TokenSigner(clientSecret: $0) }
    }
    let claims: JSONObject = [
      "iss": .string(issuer), "sub": .string(registration.clientID),
      "aud": .string(audience),
      "jti": .string(Base64URL.encode(id)), "iat": JSONValue(now),
      "exp": JSONValue(now + Self.lifetimeSeconds),
    ]
    guard let text = signer?.token(header: header, claims: claims) else {
      throw .unfitKey(provider, algorithms)
    }
    return text
  }
}

extension Problem {
  /// The problem of a registration without the team in whose name its key signs a secret.
  static func lacksTeam(_ provider: Provider) -> Problem {
    Problem(
      .authenticatorUnconfigured,
      "\(provider.name) needs the id of the team (teamId) beside the registration's private key.",
      detail: "teamId", provider: provider.id)
  }

  /// The problem of a key that can sign by none of these algorithms.
  static func unfitKey(_ provider: Provider, _ algorithms: [TokenAlgorithm]) -> Problem {
    let kinds =
      algorithms.isEmpty
      ? "of the type RSA, P-256, P-384, P-521 or Ed25519"
      : "for \(algorithms.map(\.rawValue).joined(separator: ", "))"
    return Problem(
      .authenticatorUnconfigured,
      """
      \(provider.name) does not accept the type of the registration's private key, but keys \
      \(kinds).
      """, detail: Provider.RegistrationPart.privateKey.rawValue, provider: provider.id)
  }
}
