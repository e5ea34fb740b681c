internal import COpenSSL

/// An X.509 certificate: the first one of a PEM text. RFC 5280, RFC 7468 section 5.
@safe public final class Certificate: @unchecked Sendable {
  /// The last second of its validity, in seconds since 1970.
  public let endsAt: Int64
  // Never modified after `init`, so several threads may use it at the same time.
  private let handle: OpaquePointer

  /// `nil` for a text without a readable certificate, and for a text with a private key, because a
  /// certificate is not kept as a secret.
  public init?(pem: String) {
    defer { crypto.ERR_clear_error() }
    let text = Array(pem.utf8)
    let marker = Array("PRIVATE KEY-----".utf8)
    guard !text.indices.contains(where: { text[$0...].starts(with: marker) }),
      let handle = unsafe copenssl_pem_certificate(text, text.count)
    else { return nil }
    var seconds: Int64 = 0
    guard unsafe copenssl_unix_time(crypto.X509_get0_notAfter(handle), &seconds) == 1 else {
      unsafe crypto.X509_free(handle)
      return nil
    }
    endsAt = seconds
    unsafe self.handle = handle
  }

  deinit { unsafe crypto.X509_free(handle) }

  /// The SHA-256 digest of the SubjectPublicKeyInfo in DER. RFC 7469 section 2.4.
  public var publicKeyDigest: [UInt8] {
    let key = unsafe crypto.X509_get_X509_PUBKEY(handle)
    var encoded = [UInt8](repeating: 0, count: Int(max(unsafe crypto.i2d_X509_PUBKEY(key, nil), 0)))
    unsafe encoded.withUnsafeMutableBufferPointer { buffer in
      var end = buffer.baseAddress
      _ = unsafe crypto.i2d_X509_PUBKEY(key, &end)
    }
    return Digest.sha256(encoded)
  }

  /// Whether the key belongs to the certificate.
  public func isOf(_ key: PrivateKey) -> Bool {
    defer { crypto.ERR_clear_error() }
    return unsafe crypto.X509_check_private_key(handle, key.handle) == 1
  }
}
