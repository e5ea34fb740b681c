internal import COpenSSL

/// A private key for signatures: read from PKCS #8 or PEM, or newly generated.
@safe public final class PrivateKey: @unchecked Sendable {
  public let kind: PublicKey.Kind
  // Never modified after `init`, so several threads may use it at the same time.
  let handle: OpaquePointer

  /// The public half, big-endian: the members of a JSON Web Key.
  public enum PublicParts: Sendable, Equatable {
    case rsa(modulus: [UInt8], exponent: [UInt8])
    case point(x: [UInt8], y: [UInt8])
    case ed25519([UInt8])
  }

  private init?(_ handle: OpaquePointer?) {
    guard let handle = unsafe handle else { return nil }
    guard let kind = unsafe kindOfKey(handle) else {
      unsafe crypto.EVP_PKEY_free(handle)
      return nil
    }
    self.kind = kind
    unsafe self.handle = handle
  }

  deinit { unsafe crypto.EVP_PKEY_free(handle) }

  /// Reads the DER of a `PrivateKeyInfo`, RFC 5208 section 5. `nil` for any other data and for
  /// kinds of key that einlass does not sign with.
  public convenience init?(pkcs8: Secret) {
    let key = unsafe pkcs8.withBytes { bytes in
      unsafe copenssl_pkcs8_key(
        bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
    }
    crypto.ERR_clear_error()
    unsafe self.init(key)
  }

  /// Reads the first private key of a PEM text, RFC 7468 section 10 or the older forms for RSA and
  /// EC. `nil` for a text without a key, an encrypted key, and kinds of key that einlass does not
  /// sign with.
  public convenience init?(pem: Secret) {
    let key = unsafe pem.withBytes { bytes in
      unsafe copenssl_pem_key(
        bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
    }
    crypto.ERR_clear_error()
    unsafe self.init(key)
  }

  /// Generates a key; an RSA key has 2048 bits.
  public static func generate(_ kind: PublicKey.Kind) -> PrivateKey {
    let handle =
      switch kind {
      case .rsa: unsafe copenssl_new_rsa_key(2048)
      case .ellipticCurve(let curve): unsafe copenssl_new_ec_key(curve.rawValue)
      case .ed25519: unsafe copenssl_new_ed25519_key()
      }
    guard let key = unsafe PrivateKey(handle) else { preconditionFailure("libcrypto made no key") }
    return key
  }

  /// The key in the format of `init(pkcs8:)`.
  public var pkcs8: Secret {
    let count = Int(unsafe copenssl_pkcs8_der(handle, nil))
    return unsafe Secret(count: count) { output in
      _ = unsafe copenssl_pkcs8_der(
        handle, output.baseAddress?.assumingMemoryBound(to: UInt8.self))
    }
  }

  /// The public half.
  public var publicParts: PublicParts {
    switch kind {
    case .rsa:
      .rsa(modulus: number(OSSL_PKEY_PARAM_RSA_N), exponent: number(OSSL_PKEY_PARAM_RSA_E))
    case .ellipticCurve(let curve):
      .point(
        x: number(OSSL_PKEY_PARAM_EC_PUB_X, count: curve.byteCount),
        y: number(OSSL_PKEY_PARAM_EC_PUB_Y, count: curve.byteCount))
    case .ed25519:
      .ed25519(
        unsafe [UInt8](unsafeUninitializedCapacity: 32) { output, count in
          count = 32
          _ = unsafe crypto.EVP_PKEY_get_raw_public_key(handle, output.baseAddress, &count)
        })
    }
  }

  /// Returns the signature of a whole message; `nil` if the scheme does not fit the kind of key.
  public func sign(_ message: [UInt8], _ scheme: SignatureVerification.Scheme) -> [UInt8]? {
    switch (scheme, kind) {
    case (.rsaPKCS1(let hash), .rsa): sign(message, hash, padding: RSA_PKCS1_PADDING)
    case (.rsaPSS(let hash), .rsa): sign(message, hash, padding: RSA_PKCS1_PSS_PADDING)
    case (.ecdsa(let curve, let hash), .ellipticCurve(let own)) where curve == own:
      sign(message, hash, padding: nil).flatMap { pair($0, half: curve.byteCount) }
    case (.ed25519, .ed25519): sign(message, nil, padding: nil)
    default: nil
    }
  }

  private func sign(
    _ message: [UInt8], _ hash: SignatureVerification.Hash?, padding: Int32?
  ) -> [UInt8]? {
    let context = crypto.EVP_MD_CTX_new()
    defer {
      unsafe crypto.EVP_MD_CTX_free(context)
      crypto.ERR_clear_error()
    }
    var keyContext: OpaquePointer?
    guard
      unsafe crypto.EVP_DigestSignInit_ex(
        context, &keyContext, hash?.rawValue, nil, nil, handle, nil)
        == 1
    else { return nil }
    if let padding, unsafe crypto.EVP_PKEY_CTX_set_rsa_padding(keyContext, padding) != 1 {
      return nil
    }
    if padding == RSA_PKCS1_PSS_PADDING,
      unsafe crypto.EVP_PKEY_CTX_set_rsa_pss_saltlen(keyContext, RSA_PSS_SALTLEN_DIGEST) != 1
    {
      return nil
    }
    var count = 0
    guard unsafe crypto.EVP_DigestSign(context, nil, &count, message, message.count) == 1 else {
      return nil
    }
    var isSigned = false
    let signature = unsafe [UInt8](unsafeUninitializedCapacity: count) { output, written in
      isSigned =
        unsafe crypto.EVP_DigestSign(context, output.baseAddress, &count, message, message.count)
        == 1
      written = isSigned ? count : 0
    }
    return isSigned ? signature : nil
  }

  private func pair(_ der: [UInt8], half: Int) -> [UInt8]? {
    var isDone = false
    let pair = unsafe [UInt8](unsafeUninitializedCapacity: 2 * half) { output, written in
      isDone = unsafe copenssl_ecdsa_pair(der, der.count, output.baseAddress, half) == 1
      written = isDone ? 2 * half : 0
    }
    return isDone ? pair : nil
  }

  private func number(_ name: String, count: Int = 0) -> [UInt8] {
    let size = count > 0 ? count : Int(unsafe copenssl_key_number(handle, name, nil, 0))
    return unsafe [UInt8](unsafeUninitializedCapacity: size) { output, written in
      written = Int(unsafe copenssl_key_number(handle, name, output.baseAddress, size))
    }
  }
}

private func kindOfKey(_ handle: OpaquePointer) -> PublicKey.Kind? {
  switch unsafe crypto.EVP_PKEY_get_base_id(handle) {
  case EVP_PKEY_RSA where unsafe crypto.EVP_PKEY_get_bits(handle) >= 2048: return .rsa
  case EVP_PKEY_ED25519: return .ed25519
  case EVP_PKEY_EC:
    var name = [CChar](repeating: 0, count: 32)
    guard unsafe crypto.EVP_PKEY_get_group_name(handle, &name, name.count, nil) == 1 else {
      return nil
    }
    let names: [String: PublicKey.Curve] = [
      "prime256v1": .p256, "secp384r1": .p384, "secp521r1": .p521,
    ]
    let text = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    return names[text].map(PublicKey.Kind.ellipticCurve)
  default: return nil
  }
}
