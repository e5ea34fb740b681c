public import EinlassCrypto
public import EinlassJSON

/// A key to verify tokens with. RFC 7517.
public struct JSONWebKey: Sendable {
  /// `kid`, only compared as text and never interpreted. A number is its text.
  public var id: String?
  /// `alg`, the only algorithm of the key, if it is a registered name. Any other value is ignored.
  public var algorithm: String?
  /// The issuer, or the template of one, that alone uses the key, where several share a set.
  let issuer: String?
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
    if let use = json["use"]?.string, !["", "sig"].contains(use) { return nil }
    if let operations = json["key_ops"]?.array, !operations.contains("verify") { return nil }
    guard let key = Self.publicKey(json) else { return nil }
    material = .publicKey(key)
    algorithm = json["alg"]?.string.flatMap { Self.registeredAlgorithms.contains($0) ? $0 : nil }
    id = json["kid"]?.keyID
    issuer = json["issuer"]?.string
  }

  /// Makes an HS256 key of a client secret; `nil` if it has fewer than 32 bytes. RFC 7518 section
  /// 3.2.
  public init?(clientSecret: Secret) {
    guard clientSecret.count >= 32 else { return nil }
    material = .clientSecret(clientSecret)
    algorithm = TokenAlgorithm.hs256.rawValue
    issuer = nil
  }

  private static func publicKey(_ json: JSONObject) -> PublicKey? {
    func bytes(_ name: String) -> [UInt8]? { json[name]?.string.flatMap(decoded) }
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

  /// Returns the bytes of a base64url text. Some issuers write base64 with padding.
  private static func decoded(_ text: String) -> [UInt8]? {
    let digits = text.utf8.map { digit in
      digit == UInt8(ascii: "+")
        ? UInt8(ascii: "-") : digit == UInt8(ascii: "/") ? UInt8(ascii: "_") : digit
    }
    let paddingCount = digits.reversed().prefix(2).prefix { $0 == UInt8(ascii: "=") }.count
    return Base64URL.decode(digits.dropLast(paddingCount))
  }

  /// Whether the key's own `alg` allows this algorithm. RFC 8725 section 3.1.
  func serves(_ algorithm: TokenAlgorithm) -> Bool {
    self.algorithm.map { sameBytes($0, algorithm.rawValue) } ?? true
  }

  /// Whether the kind of key can make such a signature.
  func isOfKind(for algorithm: TokenAlgorithm) -> Bool {
    switch material {
    case .publicKey(let key): key.kind.algorithms.contains(algorithm)
    case .clientSecret: algorithm.scheme == nil
    }
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

extension JSONWebKey {
  /// The names of the registry "JSON Web Signature and Encryption Algorithms" of RFC 7518 section
  /// 7.1: for signatures, for key encryption and for content encryption.
  private static let registeredAlgorithms: Set<String> = [
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "ES256K",
    "EdDSA", "Ed25519", "Ed448", "HS256", "HS384", "HS512", "HS1", "RS1", "none",
    "ML-DSA-44", "ML-DSA-65", "ML-DSA-87",
    "RSA1_5", "RSA-OAEP", "RSA-OAEP-256", "RSA-OAEP-384", "RSA-OAEP-512", "ECDH-ES",
    "ECDH-ES+A128KW", "ECDH-ES+A192KW", "ECDH-ES+A256KW", "dir", "A128KW", "A192KW", "A256KW",
    "A128GCMKW", "A192GCMKW", "A256GCMKW", "PBES2-HS256+A128KW", "PBES2-HS384+A192KW",
    "PBES2-HS512+A256KW",
    "A128CBC-HS256", "A192CBC-HS384", "A256CBC-HS512", "A128GCM", "A192GCM", "A256GCM", "A128CBC",
    "A192CBC", "A256CBC", "A128CTR", "A192CTR", "A256CTR",
  ]
}

extension JSONValue {
  /// A `kid` as text: a text, or the text of a number.
  var keyID: String? { if case .number(let number) = self { number.lexeme } else { string } }
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

  /// Returns the keys without those of another tenant than the token names.
  func ofTenant(in token: String) -> JSONWebKeySet {
    let payload = (try? JSONWebSignature.parse(token)).flatMap { try? JSONReader.read($0.payload) }
    let named = payload?["iss"]?.string ?? ""
    return JSONWebKeySet(
      keys.filter { $0.issuer.map { IssuerName($0).isNamed(by: named) } ?? true })
  }

  /// Returns the keys that may have signed a token with this header: those with its `kid`, else
  /// those without one, and all for a header without `kid`. All are the issuer's own, so it does not
  /// matter which of them has signed.
  func candidates(id: String?) -> [JSONWebKey] {
    guard let id else { return keys }
    let named = keys.filter { key in key.id.map { sameBytes($0, id) } ?? false }
    return named.isEmpty ? keys.filter { $0.id == nil } : named
  }
}
