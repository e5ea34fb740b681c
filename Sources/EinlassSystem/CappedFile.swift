internal import Glibc

/// A private file of lines at a path of the user's choice. Its older half is dropped when it
/// reaches its limit, in place, because the file may lie in a folder of the person's.
///
/// Several processes may append. A line written while another process shortens the file may be
/// lost.
public struct CappedFile: ~Copyable, Sendable {
  private let descriptor: Descriptor
  private let limitBytes: Int64

  /// Opens a file for appending, or creates it with mode 0600. Throws for a link, another user's
  /// file or a file open to others.
  public init(_ path: String, limitBytes: Int64 = 16 << 20) throws(FileError) {
    let number = unsafe open(
      path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o600)
    guard number >= 0 else { throw .last(path: path) }
    let descriptor = Descriptor(owning: number)
    guard let status = FileStatus.of(number) else { throw .last(path: path) }
    try status.requirePrivateFile(path: path)
    self.descriptor = descriptor
    self.limitBytes = limitBytes
  }

  /// Appends one line. Write errors are ignored.
  public borrowing func append(_ line: [UInt8]) {
    let bytes = line + [Self.lineFeed]
    // If the lock is taken, another process is already shortening the file.
    if isFull(for: bytes.count), flock(descriptor.number, LOCK_EX | LOCK_NB) == 0 {
      if isFull(for: bytes.count) { keepNewerHalf() }
      flock(descriptor.number, LOCK_UN)
    }
    _ = descriptor.write(bytes, 0..<bytes.count)
  }

  private var countBytes: Int64 { FileStatus.of(descriptor.number)?.countBytes ?? 0 }

  private borrowing func isFull(for count: Int) -> Bool { countBytes + Int64(count) > limitBytes }

  private borrowing func keepNewerHalf() {
    let start = max(0, countBytes - limitBytes / 2)
    var bytes = [UInt8](repeating: 0, count: Int(limitBytes / 2))
    let count = unsafe bytes.withUnsafeMutableBytes {
      unsafe pread(descriptor.number, $0.baseAddress, $0.count, off_t(start))
    }
    let kept = bytes.prefix(max(0, count))
    guard ftruncate(descriptor.number, 0) == 0, let end = kept.firstIndex(of: Self.lineFeed) else {
      return
    }
    // Starts after the first line feed, because `start` is usually in the middle of a line.
    _ = descriptor.write(bytes, end + 1..<kept.endIndex)
  }

  private static let lineFeed = UInt8(ascii: "\n")
}
