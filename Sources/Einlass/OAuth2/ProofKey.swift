internal import EinlassCrypto

/// Proof that whoever redeems an authorization code also asked for it. RFC 7636, with S256 alone.
struct ProofKey {
  /// Random bytes that a verifier is made of. Section 4.1.
  static let byteCount = 32

  /// 43 characters; travels with the code, over TLS.
  let codeVerifier: Secret
  /// Travels through the browser. Section 4.2.
  let codeChallenge: String

  init(randomBytes: [UInt8]) {
    let verifier = Base64URL.encode(randomBytes)
    codeVerifier = Secret(verifier)
    codeChallenge = Base64URL.encode(Digest.sha256(Array(verifier.utf8)))
  }
}
