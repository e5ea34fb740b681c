internal import EinlassCrypto

/// A signature algorithm of a JSON Web Token: the `alg` names of RFC 7518 section 3.1 and RFC 8037
/// section 3.1 that einlass supports. `none` is not among them.
public enum TokenAlgorithm: String, Sendable, CaseIterable {
  case rs256 = "RS256"
  case rs384 = "RS384"
  case rs512 = "RS512"
  case ps256 = "PS256"
  case ps384 = "PS384"
  case ps512 = "PS512"
  case es256 = "ES256"
  case es384 = "ES384"
  case es512 = "ES512"
  case edDSA = "EdDSA"
  /// With the client secret as key, and only if the provider's descriptor says so.
  case hs256 = "HS256"

  /// The algorithms of a provider that names none.
  public static let usual: Set<TokenAlgorithm> = [.rs256, .ps256, .es256, .edDSA]

  /// The verification scheme; `nil` for an HMAC.
  var scheme: SignatureVerification.Scheme? {
    switch self {
    case .rs256: .rsaPKCS1(.sha256)
    case .rs384: .rsaPKCS1(.sha384)
    case .rs512: .rsaPKCS1(.sha512)
    case .ps256: .rsaPSS(.sha256)
    case .ps384: .rsaPSS(.sha384)
    case .ps512: .rsaPSS(.sha512)
    case .es256: .ecdsa(.p256, .sha256)
    case .es384: .ecdsa(.p384, .sha384)
    case .es512: .ecdsa(.p521, .sha512)
    case .edDSA: .ed25519
    case .hs256: nil
    }
  }

  /// Returns the `at_hash` of a token: the left half of its digest.
  func halfDigest(of secret: Secret) -> String {
    let digest = digest(revealedBytes(secret))
    return Base64URL.encode(Array(digest.prefix(digest.count / 2)))
  }

  /// The digest for `at_hash`. OpenID Connect Core 1.0 section 3.1.3.6 names none for EdDSA; here
  /// it is the digest that Ed25519 uses itself.
  private func digest(_ bytes: [UInt8]) -> [UInt8] {
    switch self {
    case .rs256, .ps256, .es256, .hs256: Digest.sha256(bytes)
    case .rs384, .ps384, .es384: Digest.sha384(bytes)
    case .rs512, .ps512, .es512, .edDSA: Digest.sha512(bytes)
    }
  }
}
