internal import COpenSSL

/// The check of signatures of whole messages.
public enum SignatureVerification {
  /// The signature scheme.
  public enum Scheme: Sendable, Equatable {
    /// RSASSA-PKCS1-v1_5, RFC 8017 section 8.2.
    case rsaPKCS1(Hash)
    /// RSASSA-PSS with MGF1 of the same hash and a salt of the hash's length. RFC 8017 section 8.1.
    case rsaPSS(Hash)
    /// ECDSA as `r || s`, each of the length of the curve's coordinates. RFC 7518 section 3.4.
    case ecdsa(PublicKey.Curve, Hash)
    /// Ed25519. RFC 8032.
    case ed25519
  }

  /// The hash of the message.
  public enum Hash: String, Sendable {
    /// Only for OAuth 1.0a.
    case sha1 = "SHA1"
    case sha256 = "SHA256"
    case sha384 = "SHA384"
    case sha512 = "SHA512"
  }

  /// Whether the signature is valid. `false` for a scheme that does not fit the kind of key.
  public static func isValid(
    _ signature: [UInt8], of message: [UInt8], by key: PublicKey, _ scheme: Scheme
  ) -> Bool {
    switch (scheme, key.kind) {
    case (.rsaPKCS1(let hash), .rsa):
      check(signature, message, key, hash, padding: RSA_PKCS1_PADDING)
    case (.rsaPSS(let hash), .rsa):
      check(signature, message, key, hash, padding: RSA_PKCS1_PSS_PADDING)
    case (.ecdsa(let curve, let hash), .ellipticCurve(let keyCurve)):
      curve == keyCurve && signature.count == 2 * curve.byteCount
        && check(der(signature), message, key, hash, padding: nil)
    case (.ed25519, .ed25519): check(signature, message, key, nil, padding: nil)
    default: false
    }
  }

  private static func check(
    _ signature: [UInt8], _ message: [UInt8], _ key: PublicKey, _ hash: Hash?, padding: Int32?
  ) -> Bool {
    let context = crypto.EVP_MD_CTX_new()
    defer {
      unsafe crypto.EVP_MD_CTX_free(context)
      // A failed check leaves errors in this thread's queue.
      crypto.ERR_clear_error()
    }
    // `context` holds a counted reference to the key.
    return unsafe key.withHandle { handle in
      var keyContext: OpaquePointer?
      guard
        unsafe crypto.EVP_DigestVerifyInit_ex(
          context, &keyContext, hash?.rawValue, nil, nil, handle, nil) == 1
      else { return false }
      if let padding, unsafe crypto.EVP_PKEY_CTX_set_rsa_padding(keyContext, padding) != 1 {
        return false
      }
      if padding == RSA_PKCS1_PSS_PADDING,
        unsafe crypto.EVP_PKEY_CTX_set_rsa_pss_saltlen(keyContext, RSA_PSS_SALTLEN_DIGEST) != 1
      {
        return false
      }
      return unsafe crypto.EVP_DigestVerify(
        context, signature, signature.count, message, message.count) == 1
    }
  }

  private static func der(_ pair: [UInt8]) -> [UInt8] {
    let capacity = pair.count + 16
    return unsafe [UInt8](unsafeUninitializedCapacity: capacity) { output, count in
      count = Int(
        unsafe copenssl_ecdsa_der(pair, pair.count, output.baseAddress, capacity))
    }
  }
}
