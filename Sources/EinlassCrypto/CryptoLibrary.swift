import COpenSSL

/// The functions of libcrypto.
var crypto: copenssl_functions { unsafe copenssl().pointee }

/// libcrypto, which is opened on first use, because merely linking it costs a quarter of a start
/// that needs no key.
package enum CryptoLibrary {
  /// The version of the library in use, for example `3.0.17`.
  package static var version: String {
    unsafe crypto.OpenSSL_version(OPENSSL_VERSION_STRING).map { unsafe String(cString: $0) } ?? ""
  }

  /// Starts libcrypto. Call it before any library that starts libcrypto itself, such as libcurl.
  package static func start() { _ = crypto }

  /// Returns a digest of libcrypto. Callers keep it for the life of the process.
  static func digest(_ name: String) -> OpaquePointer {
    guard let digest = unsafe crypto.EVP_MD_fetch(nil, name, nil) else {
      preconditionFailure("libcrypto lacks a digest")
    }
    return unsafe digest
  }
}
