internal import EinlassSystem

/// A standard stream to write text to.
struct TextOutput: ~Copyable {
  private let descriptor: Descriptor

  /// Standard output or standard error.
  init(_ number: Int32) throws(Failure) {
    do throws(SystemError) { descriptor = try Descriptor.duplicate(number) } catch {
      throw .outputLost
    }
  }

  /// Writes all of it.
  borrowing func write(_ text: String) throws(Failure) {
    let bytes = Array(text.utf8)
    var start = 0
    while start < bytes.count {
      guard case .bytes(let count) = descriptor.write(bytes, start..<bytes.count) else {
        throw .outputLost
      }
      start += count
    }
  }
}
