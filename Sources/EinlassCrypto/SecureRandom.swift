internal import Glibc

/// The kernel's random generator.
///
/// libcrypto's generator is not used, because it keeps its state for each thread in the secure
/// heap: many threads fill the heap, and the generator then fails.
public enum SecureRandom {
  /// Returns this number of random bytes.
  public static func bytes(_ count: Int) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: count) { output, initialized in
      unsafe fill(UnsafeMutableRawBufferPointer(output))
      initialized = count
    }
  }

  /// Returns a random secret of this size, written in place so that no unwiped copy exists.
  public static func secret(_ count: Int) -> Secret {
    unsafe Secret(count: count) { output in unsafe fill(output) }
  }

  private static func fill(_ output: UnsafeMutableRawBufferPointer) {
    // `getentropy` returns at most 256 bytes per call.
    for start in stride(from: 0, to: output.count, by: 256) {
      let count = min(256, output.count - start)
      precondition(
        unsafe getentropy(output.baseAddress?.advanced(by: start), count) == 0,
        "the system has no randomness to give")
    }
  }
}
