internal import EinlassCrypto
internal import EinlassJSON

/// The proof that the client redeeming an authorization code also requested it: PKCE of RFC 7636.
struct ProofKey {
  /// The transformation of the verifier: the word `proofKey` of a flow. RFC 7636 section 4.2.
  enum Method: String, CaseIterable {
    case s256 = "S256"
    /// The browser carries the verifier itself, so it protects only the code.
    case plain
  }

  /// The random bytes of a verifier. RFC 7636 section 4.1.
  static let byteCount = 32

  let method: Method
  /// 43 characters, sent to the token endpoint together with the code, over TLS.
  let codeVerifier: Secret
  /// Sent through the browser. RFC 7636 section 4.2.
  let codeChallenge: String

  init(_ method: Method = .s256, randomBytes: [UInt8]) {
    let verifier = Base64URL.encode(randomBytes)
    self.method = method
    codeVerifier = Secret(verifier)
    codeChallenge =
      switch method {
      case .s256: Base64URL.encode(Digest.sha256(Array(verifier.utf8)))
      case .plain: verifier
      }
  }
}

extension DescriptorReader {
  /// Returns the method of the proof key; `nil` for `false`, at a provider that refuses one.
  func proofKey(_ name: String) throws(Fault) -> ProofKey.Method? {
    guard has(name) else { return .s256 }
    switch try value(name).bool {
    case true?: return .s256
    case false?: return nil
    case nil: return try word(name, ProofKey.Method.self)
    }
  }
}
