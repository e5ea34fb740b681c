import COpenSSL

/// Digests of whole messages.
public enum Digest {
  nonisolated(unsafe) private static let sha1Algorithm = unsafe CryptoLibrary.digest("SHA1")
  nonisolated(unsafe) static let sha256Algorithm = unsafe CryptoLibrary.digest("SHA256")
  nonisolated(unsafe) private static let sha384Algorithm = unsafe CryptoLibrary.digest("SHA384")
  nonisolated(unsafe) private static let sha512Algorithm = unsafe CryptoLibrary.digest("SHA512")

  /// Returns 20 bytes. Only for old protocols, never for new uses.
  public static func sha1(_ bytes: [UInt8]) -> [UInt8] {
    unsafe digest(bytes, sha1Algorithm, count: 20)
  }

  /// Returns 32 bytes.
  public static func sha256(_ bytes: [UInt8]) -> [UInt8] {
    unsafe digest(bytes, sha256Algorithm, count: 32)
  }

  /// Returns 48 bytes.
  public static func sha384(_ bytes: [UInt8]) -> [UInt8] {
    unsafe digest(bytes, sha384Algorithm, count: 48)
  }

  /// Returns 64 bytes.
  public static func sha512(_ bytes: [UInt8]) -> [UInt8] {
    unsafe digest(bytes, sha512Algorithm, count: 64)
  }

  private static func digest(
    _ bytes: [UInt8], _ algorithm: OpaquePointer, count: Int
  ) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: count) { output, initialized in
      let done = unsafe crypto.EVP_Digest(
        bytes, bytes.count, output.baseAddress, nil, algorithm, nil)
      precondition(done == 1, "libcrypto could not compute a digest")
      initialized = count
    }
  }
}
