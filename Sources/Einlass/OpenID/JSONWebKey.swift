public import EinlassCrypto
public import EinlassJSON

/// A key to verify tokens with. RFC 7517.
public struct JSONWebKey: Sendable {
  /// `kid`, only compared as text and never interpreted.
  public var id: String?
  /// The only algorithm of the key, if it names one.
  public var algorithm: TokenAlgorithm?
  let material: Material

  enum Material {
    case publicKey(PublicKey)
    case clientSecret(Secret)
  }

  /// Reads a member of `keys`; `nil` for a key that is not for signatures, of an unknown kind or
  /// invalid.
  ///
  /// Symmetric keys are refused, because a public secret proves nothing.
  public init?(_ json: JSONObject) {
    if let use = json["use"], use != "sig" { return nil }
    if let operations = json["key_ops"], operations.array?.contains("verify") != true { return nil }
    guard let key = Self.publicKey(json) else { return nil }
    material = .publicKey(key)
    if let name = json["alg"] {
      guard let algorithm = name.string.flatMap(TokenAlgorithm.init(rawValue:)) else { return nil }
      self.algorithm = algorithm
    }
    if let id = json["kid"] {
      guard let id = id.string else { return nil }
      self.id = id
    }
  }

  /// Makes an HS256 key of a client secret; `nil` if it has fewer than 32 bytes. RFC 7518 section
  /// 3.2.
  public init?(clientSecret: Secret) {
    guard clientSecret.count >= 32 else { return nil }
    material = .clientSecret(clientSecret)
    algorithm = .hs256
  }

  private static func publicKey(_ json: JSONObject) -> PublicKey? {
    func bytes(_ name: String) -> [UInt8]? { json[name]?.string.flatMap(Base64URL.decode) }
    switch json["kty"]?.string {
    case "RSA":
      guard let modulus = bytes("n"), let exponent = bytes("e") else { return nil }
      return PublicKey(rsaModulus: modulus, exponent: exponent)
    case "EC":
      guard let curve = json["crv"]?.string.flatMap(PublicKey.Curve.init(rawValue:)),
        let x = bytes("x"), let y = bytes("y")
      else { return nil }
      return PublicKey(curve: curve, x: x, y: y)
    case "OKP":
      guard json["crv"] == "Ed25519", let x = bytes("x") else { return nil }
      return PublicKey(ed25519: x)
    default: return nil
    }
  }

  /// Whether the key's own `alg` allows this algorithm.
  func serves(_ algorithm: TokenAlgorithm) -> Bool {
    self.algorithm == nil || self.algorithm == algorithm
  }

  func signed(_ message: [UInt8], as signature: [UInt8], _ algorithm: TokenAlgorithm) -> Bool {
    guard serves(algorithm) else { return false }
    switch (material, algorithm.scheme) {
    case (.publicKey(let key), let scheme?):
      return SignatureVerification.isValid(signature, of: message, by: key, scheme)
    case (.clientSecret(let secret), nil):
      return MessageAuthentication.isHMACSHA256(signature, of: message, key: secret)
    default: return false
    }
  }
}

/// The keys of an issuer. RFC 7517 section 5.
public struct JSONWebKeySet: Sendable {
  public var keys: [JSONWebKey]

  public init(_ keys: [JSONWebKey]) { self.keys = keys }

  /// Reads a key set, without unusable members (RFC 7517 section 5); `nil` if it is no set.
  public init?(_ json: JSONValue) {
    guard let members = json["keys"]?.array else { return nil }
    keys = members.compactMap { $0.object.flatMap(JSONWebKey.init) }
  }

  /// Returns the keys that may have signed a token with this header. Two keys with the same id give
  /// none, because the header does not tell them apart. A client secret matches any id, because it
  /// has none of its own.
  func candidates(id: String?) -> [JSONWebKey] {
    guard let id else { return keys }
    let named = keys.filter { key in
      guard case .publicKey = key.material else { return true }
      return key.id.map { sameBytes($0, id) } ?? false
    }
    return named.count == 1 ? named : []
  }
}
