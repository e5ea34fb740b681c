internal import EinlassSystem

/// Standard output or standard error, for text.
struct TextOutput: ~Copyable {
  private let descriptor: Descriptor

  /// Duplicates standard output or standard error.
  init(_ number: Int32) throws(Failure) {
    do throws(SystemError) { descriptor = try Descriptor.duplicate(number) } catch {
      throw .outputLost
    }
  }

  /// Writes the whole text. Throws `.cancelled` if the write has to wait and `interruption` becomes
  /// readable.
  borrowing func write(_ text: String, unlessReadable interruption: Int32 = -1) throws(Failure) {
    do throws(SystemError) {
      try descriptor.writeAll(Array(text.utf8), unlessReadable: interruption)
    } catch {
      guard !error.isInterruption else { throw .cancelled }
      guard !error.isBrokenPipe else { throw .outputLost }
      throw .unusable("The output \(FileError(.system(error.number), path: "").explanation)")
    }
  }
}
