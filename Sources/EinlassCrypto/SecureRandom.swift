import COpenSSL

/// The cryptographic generator, seeded by the kernel.
public enum SecureRandom {
  /// So many unpredictable bytes.
  public static func bytes(_ count: Int) -> [UInt8] {
    CryptoLibrary.start()
    return unsafe [UInt8](unsafeUninitializedCapacity: count) { output, initialized in
      precondition(
        unsafe RAND_bytes(output.baseAddress, Int32(count)) == 1,
        "the system has no randomness to give")
      initialized = count
    }
  }

  /// A fresh key that never stood in an ordinary array.
  public static func secret(_ count: Int) -> Secret {
    CryptoLibrary.start()
    return unsafe Secret(count: count) { output in
      precondition(
        unsafe RAND_priv_bytes(
          output.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(count)) == 1,
        "the system has no randomness to give")
    }
  }
}
