import COpenSSL

/// Derivation of keys.
public enum KeyDerivation {
  /// Returns a key by HKDF, extract and expand (RFC 5869). `key` is keying material of full
  /// entropy, never a password; `salt` and `info` may be empty; `count` is 1 to 8160 bytes.
  public static func hkdfSHA256(key: Secret, salt: [UInt8], info: [UInt8], count: Int) -> Secret {
    precondition(!key.isEmpty, "keying material is not empty")
    precondition((1...255 * 32).contains(count), "HKDF-SHA256 yields 1 to 8160 bytes")
    let context = unsafe crypto.EVP_PKEY_CTX_new_from_name(nil, "HKDF", nil)
    defer { unsafe crypto.EVP_PKEY_CTX_free(context) }
    let prepared =
      unsafe crypto.EVP_PKEY_derive_init(context) == 1
      && crypto.EVP_PKEY_CTX_set_hkdf_md(context, Digest.sha256Algorithm) == 1
      && crypto.EVP_PKEY_CTX_set1_hkdf_salt(context, salt, Int32(salt.count)) == 1
      && crypto.EVP_PKEY_CTX_add1_hkdf_info(context, info, Int32(info.count)) == 1
      && key.withBytes { key in
        let start = unsafe key.baseAddress?.assumingMemoryBound(to: UInt8.self)
        return unsafe crypto.EVP_PKEY_CTX_set1_hkdf_key(context, start, Int32(key.count)) == 1
      }
    return unsafe Secret(count: count) { output in
      var written = count
      let start = unsafe output.baseAddress?.assumingMemoryBound(to: UInt8.self)
      let done = unsafe prepared && crypto.EVP_PKEY_derive(context, start, &written) == 1
      precondition(done && written == count, "libcrypto could not derive a key")
    }
  }
}
