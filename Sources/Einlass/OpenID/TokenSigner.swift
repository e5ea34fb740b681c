internal import EinlassCrypto
internal import EinlassJSON

/// A signer of einlass's own tokens: client assertions and proofs of possession. RFC 7515 section
/// 5.1.
struct TokenSigner {
  let algorithm: TokenAlgorithm
  private let sign: ([UInt8]) -> [UInt8]?

  /// - Parameter allowed: The algorithms to choose from, best first; empty for the usual one of the
  ///   key's kind. The result is `nil` if the key can sign by none of them.
  init?(_ key: PrivateKey, among allowed: [TokenAlgorithm] = []) {
    let possible = key.kind.algorithms
    let chosen = allowed.isEmpty ? possible.first : allowed.first(where: possible.contains)
    guard let algorithm = chosen, let scheme = algorithm.scheme else { return nil }
    self.algorithm = algorithm
    sign = { key.sign($0, scheme) }
  }

  /// Signs with a client secret, by HS256.
  init(clientSecret: Secret) {
    algorithm = .hs256
    sign = { MessageAuthentication.hmacSHA256(key: revealedBytes(clientSecret), message: $0) }
  }

  /// Returns the compact form; `nil` if libcrypto refuses to sign.
  ///
  /// - Parameter header: Further members besides `alg`; `typ` is `JWT` unless named here.
  func token(header: JSONObject = [:], claims: JSONObject) -> String? {
    var header = header
    header["alg"] = .string(algorithm.rawValue)
    header["typ"] = header["typ"] ?? "JWT"
    let text = [header, claims].map { Base64URL.encode(JSONValue.object($0).bytes()) }
      .joined(separator: ".")
    return sign(Array(text.utf8)).map { "\(text).\(Base64URL.encode($0))" }
  }
}

extension PublicKey.Kind {
  /// The algorithms for keys of this kind, the usual one first. RFC 7518 section 3.1, RFC 8037
  /// section 3.1.
  var algorithms: [TokenAlgorithm] {
    switch self {
    case .rsa: [.rs256, .ps256, .rs384, .ps384, .rs512, .ps512]
    case .ellipticCurve(.p256): [.es256]
    case .ellipticCurve(.p384): [.es384]
    case .ellipticCurve(.p521): [.es512]
    case .ed25519: [.edDSA]
    }
  }
}
