import COpenSSL

/// HMAC of whole messages. RFC 2104.
public enum MessageAuthentication {
  // Contexts with a digest but without a key: copying one costs a third of creating one.
  nonisolated(unsafe) private static let sha1Template = unsafe template(digest: "SHA1")
  nonisolated(unsafe) private static let sha256Template = unsafe template(digest: "SHA256")

  /// Returns 20 bytes. Key and message may be empty.
  public static func hmacSHA1(key: [UInt8], message: [UInt8]) -> [UInt8] {
    unsafe authenticate(key, message, sha1Template, count: 20)
  }

  /// Returns 32 bytes. Key and message may be empty.
  public static func hmacSHA256(key: [UInt8], message: [UInt8]) -> [UInt8] {
    unsafe authenticate(key, message, sha256Template, count: 32)
  }

  /// Whether this is the HMAC-SHA256 of the message. Compares in constant time.
  public static func isHMACSHA256(_ code: [UInt8], of message: [UInt8], key: Secret) -> Bool {
    constantTimeEqual(hmacSHA256(key: key.reveal(), message: message), code)
  }

  private static func authenticate(
    _ key: [UInt8], _ message: [UInt8], _ template: OpaquePointer, count: Int
  ) -> [UInt8] {
    let context = unsafe crypto.EVP_MAC_CTX_dup(template)
    defer { unsafe crypto.EVP_MAC_CTX_free(context) }
    return unsafe [UInt8](unsafeUninitializedCapacity: count) { output, initialized in
      let done =
        unsafe crypto.EVP_MAC_init(context, key, key.count, nil) == 1
        && crypto.EVP_MAC_update(context, message, message.count) == 1
        && crypto.EVP_MAC_final(context, output.baseAddress, &initialized, count) == 1
      precondition(done && initialized == count, "libcrypto could not compute a MAC")
    }
  }

  private static func template(digest name: String) -> OpaquePointer {
    let algorithm = unsafe crypto.EVP_MAC_fetch(nil, "HMAC", nil)
    defer { unsafe crypto.EVP_MAC_free(algorithm) }
    guard let context = unsafe crypto.EVP_MAC_CTX_new(algorithm),
      unsafe copenssl_mac_set_digest(context, name) == 1
    else { preconditionFailure("libcrypto lacks HMAC") }
    return unsafe context
  }
}
