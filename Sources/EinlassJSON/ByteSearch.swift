internal import Glibc

extension Array where Element == UInt8 {
  /// Returns the index of the first such byte at or after `start`. Uses memchr(3), which compares
  /// many bytes at once.
  public func firstIndex(of byte: UInt8, from start: Int) -> Int? {
    unsafe withUnsafeBytes { bytes in
      guard start < bytes.count, let base = bytes.baseAddress else { return nil }
      let found = unsafe memchr(base + start, Int32(byte), bytes.count - start)
      return unsafe found.map { unsafe UnsafeRawPointer($0) - base }
    }
  }
}
