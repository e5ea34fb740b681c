import COpenSSL

/// The process's one start of libcrypto, on first use: a run that needs no cryptography does not pay for it.
package enum CryptoLibrary {
  private static let isStarted: Bool = {
    // Without this flag libcrypto frees its tables in `exit` while another thread may still be in a transfer.
    let started = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
    precondition(started == 1, "libcrypto could not be started")
    return true
  }()

  /// Call before anything else that might start libcrypto (libcurl does).
  package static func start() { _ = isStarted }

  /// A digest of libcrypto's, fetched once and kept for the life of the process.
  static func digest(_ name: String) -> OpaquePointer {
    start()
    guard let digest = unsafe EVP_MD_fetch(nil, name, nil) else {
      preconditionFailure("libcrypto lacks a digest")
    }
    return unsafe digest
  }
}
