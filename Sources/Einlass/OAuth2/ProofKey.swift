internal import EinlassCrypto

/// The proof that the client redeeming an authorization code also requested it: PKCE of RFC 7636,
/// with S256 only.
struct ProofKey {
  /// The random bytes of a verifier. RFC 7636 section 4.1.
  static let byteCount = 32

  /// 43 characters, sent to the token endpoint together with the code, over TLS.
  let codeVerifier: Secret
  /// Sent through the browser. RFC 7636 section 4.2.
  let codeChallenge: String

  init(randomBytes: [UInt8]) {
    let verifier = Base64URL.encode(randomBytes)
    codeVerifier = Secret(verifier)
    codeChallenge = Base64URL.encode(Digest.sha256(Array(verifier.utf8)))
  }
}
