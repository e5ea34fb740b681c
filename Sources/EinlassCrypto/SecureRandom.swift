internal import Glibc

/// The kernel's generator.
///
/// Not libcrypto's: that keeps a state for every thread in the secure heap, which many threads fill, and then fails.
public enum SecureRandom {
  /// So many unpredictable bytes.
  public static func bytes(_ count: Int) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: count) { output, initialized in
      unsafe fill(UnsafeMutableRawBufferPointer(output))
      initialized = count
    }
  }

  /// A fresh key that never stood in an ordinary array.
  public static func secret(_ count: Int) -> Secret {
    unsafe Secret(count: count) { output in unsafe fill(output) }
  }

  private static func fill(_ output: UnsafeMutableRawBufferPointer) {
    // What the kernel gives at a time.
    for start in stride(from: 0, to: output.count, by: 256) {
      let count = min(256, output.count - start)
      precondition(
        unsafe getentropy(output.baseAddress?.advanced(by: start), count) == 0,
        "the system has no randomness to give")
    }
  }
}
