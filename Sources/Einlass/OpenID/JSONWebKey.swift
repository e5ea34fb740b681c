public import EinlassCrypto
public import EinlassJSON

/// A key that tokens are checked with. RFC 7517.
public struct JSONWebKey: Sendable {
  /// `kid`: an exact look-up text and nothing else (C-71).
  public var id: String?
  /// The one algorithm that it serves, if it says so.
  public var algorithm: TokenAlgorithm?
  let material: Material

  enum Material {
    case publicKey(PublicKey)
    case clientSecret(Secret)
  }

  /// The key in a member of `keys`; `nil` for one that is not for checking signatures, of an unknown kind or unsound.
  ///
  /// Symmetric keys are refused: what anybody can fetch proves nothing.
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

  /// A client secret as key of HS256; `nil` when it has fewer than 32 bytes. RFC 7518 section 3.2.
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

  /// Whether it may have signed by this algorithm, as far as the key itself says.
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

  /// Those of its members that can be used; the others are passed over, as section 5 has it. `nil` when it is no set.
  public init?(_ json: JSONValue) {
    guard let members = json["keys"]?.array else { return nil }
    keys = members.compactMap { $0.object.flatMap(JSONWebKey.init) }
  }

  /// Those that a token with this header may have been signed with. Two keys of one id are none: which of them is
  /// meant cannot be told. A client secret has no id, whatever the token calls it.
  func candidates(id: String?) -> [JSONWebKey] {
    guard let id else { return keys }
    let named = keys.filter { key in
      guard case .publicKey = key.material else { return true }
      return key.id.map { sameBytes($0, id) } ?? false
    }
    return named.count == 1 ? named : []
  }
}
