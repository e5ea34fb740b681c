internal import COpenSSL

/// A public key for checking signatures. Each initializer returns `nil` for a key that libcrypto or
/// einlass rejects, so an existing key is sound.
@safe public final class PublicKey: @unchecked Sendable {
  /// The kind of key.
  public enum Kind: Sendable, Equatable {
    case rsa
    case ellipticCurve(Curve)
    case ed25519
  }

  /// The curves of RFC 7518 section 6.2.1.1, by their names there.
  public enum Curve: String, Sendable, CaseIterable {
    case p256 = "P-256"
    case p384 = "P-384"
    case p521 = "P-521"

    /// The size in bytes of a coordinate, and of each half of a signature.
    public var byteCount: Int {
      switch self {
      case .p256: 32
      case .p384: 48
      case .p521: 66
      }
    }
  }

  public let kind: Kind
  // Never modified after `init`, so several threads may use it at the same time.
  private let handle: OpaquePointer

  private init?(_ kind: Kind, _ handle: OpaquePointer?) {
    guard let handle = unsafe handle else { return nil }
    self.kind = kind
    unsafe self.handle = handle
  }

  deinit { unsafe crypto.EVP_PKEY_free(handle) }

  /// Creates an RSA key from modulus and exponent, big-endian. `nil` for fewer than 2048 or more
  /// than 16384 bits, for an exponent that is even, below 3 or above 64 bits, and for a modulus
  /// with the ROCA weakness (CVE-2017-15361).
  public convenience init?(rsaModulus modulus: [UInt8], exponent: [UInt8]) {
    let modulus = Array(modulus.drop { $0 == 0 })
    let exponent = Array(exponent.drop { $0 == 0 })
    guard let top = modulus.first, let last = exponent.last, exponent.count <= 8 else { return nil }
    let bits = modulus.count * 8 - top.leadingZeroBitCount
    guard (2048...16384).contains(bits), last & 1 == 1, exponent != [1],
      !hasPredictablePrimes(modulus)
    else { return nil }
    unsafe self.init(
      .rsa, copenssl_rsa_key(modulus, modulus.count, exponent, exponent.count))
  }

  /// Creates an elliptic-curve key from both coordinates, big-endian and of the curve's full
  /// length. `nil` for a point that is not on the curve.
  public convenience init?(curve: Curve, x: [UInt8], y: [UInt8]) {
    guard x.count == curve.byteCount, y.count == curve.byteCount else { return nil }
    let point = [4] + x + y
    unsafe self.init(
      .ellipticCurve(curve), copenssl_ec_key(curve.rawValue, point, point.count))
  }

  /// Creates an Ed25519 key from the 32 bytes of RFC 8032 section 5.1.5.
  public convenience init?(ed25519 bytes: [UInt8]) {
    guard bytes.count == 32 else { return nil }
    unsafe self.init(
      .ed25519, crypto.EVP_PKEY_new_raw_public_key_ex(nil, "ED25519", nil, bytes, bytes.count))
  }

  /// Calls `body` with libcrypto's handle, which is valid only during the call.
  func withHandle<Result>(_ body: (OpaquePointer) -> Result) -> Result { unsafe body(handle) }
}

/// Whether the modulus has the ROCA weakness of a widespread library, so that its primes can be
/// computed: modulo each of these primes it is a power of 65537. A sound modulus has this property
/// with probability 2^-27. Nemec et al., "The Return of Coppersmith's Attack", 3.1.
private func hasPredictablePrimes(_ modulus: [UInt8]) -> Bool {
  let primes = [11, 13, 17, 19, 37, 53, 61, 71, 73, 79, 97, 103, 107, 109, 127, 151, 157]
  return primes.allSatisfy { prime in
    let remainder = modulus.reduce(0) { ($0 << 8 | Int($1)) % prime }
    var power = 1
    for _ in 1..<prime {
      if power == remainder { return true }
      power = power * 65537 % prime
    }
    return false
  }
}
