import COpenSSL

/// The start of libcrypto, once per process and on first use, because it costs time that many runs
/// do not need to spend.
package enum CryptoLibrary {
  private static let isStarted: Bool = {
    // Without this flag libcrypto frees its tables in `exit`, even if another thread is still in a
    // transfer.
    let started = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
    precondition(started == 1, "libcrypto could not be started")
    return true
  }()

  /// The version of the library in use, for example `3.0.17`.
  package static var version: String {
    unsafe String(cString: OpenSSL_version(OPENSSL_VERSION_STRING))
  }

  /// Starts libcrypto. Call it before any library that starts libcrypto itself, such as libcurl.
  package static func start() { _ = isStarted }

  /// Returns a digest of libcrypto. Callers keep it for the life of the process.
  static func digest(_ name: String) -> OpaquePointer {
    start()
    guard let digest = unsafe EVP_MD_fetch(nil, name, nil) else {
      preconditionFailure("libcrypto lacks a digest")
    }
    return unsafe digest
  }
}
