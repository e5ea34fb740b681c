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
    do throws(SystemError) { try descriptor.writeAll(Array(text.utf8)) } catch {
      guard !error.isBrokenPipe else { throw .outputLost }
      throw .unusable("The output \(FileError(.system(error.number), path: "").explanation)")
    }
  }
}
