internal import EinlassCrypto
internal import EinlassJSON

/// A client's signed assertion of its identity, valid for one request. RFC 7523 section 3, OpenID
/// Connect Core 1.0 section 9.
///
///     "assertion": {"audience": "issuer", "algorithms": ["PS256"]}
struct ClientAssertion: Sendable, Equatable {
  /// The `aud` claim. Servers disagree: most accept the address of the requested endpoint, some
  /// only their issuer.
  enum Audience: String, CaseIterable {
    case endpoint, issuer
  }

  /// `client_assertion_type`.
  static let type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
  /// Short, so that an assertion found later is useless.
  static let lifetimeSeconds: Int64 = 60

  var audience = Audience.endpoint
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

  /// Returns a registration's assertion for one request. Throws `authenticatorUnconfigured` if its
  /// key can sign by none of `algorithms`.
  ///
  /// - Parameter id: random bytes, because an assertion serves only once.
  func text(
    by registration: ClientRegistration, _ way: ClientAuthentication, at endpoint: WebAddress,
    of provider: Provider, issuer: WebAddress?, id: [UInt8], now: UnixTime
  ) throws(Problem) -> String {
    let signer: TokenSigner?
    var header: JSONObject = [:]
    if way == .privateKeyJWT {
      signer = registration.signingKey.flatMap { TokenSigner($0, among: algorithms) }
      header["kid"] = registration.keyID.map(JSONValue.string)
    } else {
      signer = registration.clientSecret.map { TokenSigner(clientSecret: $0) }
    }
    let whom = audience == .issuer ? issuer?.text : nil
    let claims: JSONObject = [
      "iss": .string(registration.clientID), "sub": .string(registration.clientID),
      "aud": .string(whom ?? endpoint.text),
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
