import COpenSSL

/// The reason why decryption failed.
public enum CryptoError: Error, Sendable, Equatable {
  /// The data was changed or truncated, or was sealed with another key, nonce or associated data.
  /// These cases cannot be told apart.
  case notAuthentic
}

/// AES-256-GCM (NIST SP 800-38D) with a nonce of 12 bytes and a tag of 16 bytes.
public enum AuthenticatedEncryption {
  /// The size of a key in bytes.
  public static let keyCount = 32
  /// The size of a nonce in bytes. A nonce must never be used twice with one key.
  public static let nonceCount = 12
  /// The size of the tag in bytes.
  public static let tagCount = 16

  nonisolated(unsafe) private static let cipher: OpaquePointer = {
    guard let cipher = unsafe crypto.EVP_CIPHER_fetch(nil, "AES-256-GCM", nil) else {
      preconditionFailure("libcrypto lacks AES-256-GCM")
    }
    return unsafe cipher
  }()

  /// Returns the ciphertext followed by its tag.
  public static func seal(
    _ plaintext: [UInt8], key: Secret, nonce: [UInt8], associatedData: [UInt8]
  ) -> [UInt8] {
    precondition(nonce.count == nonceCount, "a nonce has 12 bytes")
    let context = unsafe start(.sealing, key: key, nonce: nonce, associatedData: associatedData)
    defer { unsafe crypto.EVP_CIPHER_CTX_free(context) }
    var sealed = [UInt8](repeating: 0, count: plaintext.count)
    var tag = [UInt8](repeating: 0, count: tagCount)
    var written: Int32 = 0
    let done =
      unsafe update(context, into: &sealed, from: plaintext)
      && crypto.EVP_EncryptFinal_ex(context, &tag, &written) == 1
      && crypto.EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tagCount), &tag) == 1
    precondition(done, "libcrypto could not encrypt")
    return sealed + tag
  }

  /// Returns the plaintext. Throws `notAuthentic` for a wrong tag.
  public static func open(
    _ sealed: [UInt8], key: Secret, nonce: [UInt8], associatedData: [UInt8]
  ) throws(CryptoError) -> [UInt8] {
    guard sealed.count >= tagCount, nonce.count == nonceCount else { throw .notAuthentic }
    let context = unsafe start(.opening, key: key, nonce: nonce, associatedData: associatedData)
    defer { unsafe crypto.EVP_CIPHER_CTX_free(context) }
    var tag = Array(sealed.suffix(tagCount))
    let ciphertext = Array(sealed.dropLast(tagCount))
    var plaintext = [UInt8](repeating: 0, count: ciphertext.count)
    var rest = [UInt8](repeating: 0, count: tagCount)
    var written: Int32 = 0
    let authentic =
      unsafe update(context, into: &plaintext, from: ciphertext)
      && crypto.EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tagCount), &tag) == 1
      && crypto.EVP_DecryptFinal_ex(context, &rest, &written) == 1
    guard authentic else {
      unsafe crypto.OPENSSL_cleanse(&plaintext, plaintext.count)
      throw .notAuthentic
    }
    return plaintext
  }

  private enum Direction: Int32 {
    case opening = 0
    case sealing = 1
  }

  private static func start(
    _ direction: Direction, key: Secret, nonce: [UInt8], associatedData: [UInt8]
  ) -> OpaquePointer? {
    precondition(key.count == keyCount, "a key has 32 bytes")
    let context = crypto.EVP_CIPHER_CTX_new()
    var written: Int32 = 0
    let started = unsafe key.withBytes { keyBytes in
      let keyStart = unsafe keyBytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
      return unsafe crypto.EVP_CipherInit_ex(context, cipher, nil, nil, nil, direction.rawValue)
        == 1
        && crypto.EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, Int32(nonceCount), nil) == 1
        && crypto.EVP_CipherInit_ex(context, nil, nil, keyStart, nonce, direction.rawValue) == 1
        && crypto.EVP_CipherUpdate(
          context, nil, &written, associatedData, Int32(associatedData.count))
          == 1
    }
    precondition(started, "libcrypto could not start AES-256-GCM")
    return unsafe context
  }

  private static func update(
    _ context: OpaquePointer?, into output: inout [UInt8], from input: [UInt8]
  ) -> Bool {
    // libcrypto treats an update without an output buffer as associated data.
    if input.isEmpty { return true }
    var written: Int32 = 0
    return unsafe crypto.EVP_CipherUpdate(context, &output, &written, input, Int32(input.count))
      == 1
      && written == input.count
  }
}
