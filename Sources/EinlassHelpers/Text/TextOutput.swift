internal import EinlassSystem
internal import Glibc

/// Standard output or standard error, for text.
package struct TextOutput: ~Copyable {
  private let descriptor: Descriptor

  /// Duplicates standard output or standard error.
  package init(_ number: Int32) throws(Failure) {
    do throws(SystemError) { descriptor = try Descriptor.duplicate(number) } catch {
      throw .outputLost
    }
  }

  /// Writes the whole text. Throws `.cancelled` if the write has to wait and `interruption` becomes
  /// readable.
  package borrowing func write(
    _ text: String, unlessReadable interruption: Int32 = -1
  ) throws(Failure) {
    do throws(SystemError) {
      try descriptor.writeAll(Array(text.utf8), unlessReadable: interruption)
    } catch {
      guard !error.isInterruption else { throw .cancelled }
      guard !error.isBrokenPipe else { throw .outputLost }
      throw .unusable("The output \(FileError(.system(error.number), path: "").explanation)")
    }
  }
}

/// Writes a line to standard error.
package func complain(_ text: String) {
  _ = try? TextOutput(STDERR_FILENO).write(text + "\n")
}
