internal import Glibc

/// A descriptor named on the command line, to be read once and closed.
public enum NamedDescriptor {
  /// Reads to the end. Throws `silent` if the end is not reached by the deadline, and `tooLong`
  /// beyond the limit.
  public static func readAndClose(_ descriptor: Int32, limitBytes: Int, by deadline: Deadline)
    throws(FileError) -> [UInt8]
  {
    try Descriptor(owning: descriptor)
      .readToEnd(limitBytes: limitBytes, by: deadline, path: "descriptor \(descriptor)")
  }
}

extension Descriptor {
  /// Reads to the end. Throws `silent` if the end is not reached by the deadline, and `tooLong`
  /// beyond the limit.
  public borrowing func readToEnd(
    limitBytes: Int, by deadline: Deadline, path: String
  ) throws(FileError) -> [UInt8] {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: limitBytes + 1)
    while true {
      var event = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
      let isReady = unsafe poll(&event, 1, deadline.millisecondsLeft)
      guard isReady != 0 else { throw FileError(.silent, path: path) }
      guard isReady > 0 else { continue }
      let count = unsafe Glibc.read(number, &chunk, chunk.count)
      if count < 0 {
        if errno == EINTR || errno == EAGAIN { continue }
        throw .last(path: path)
      }
      if count == 0 { return bytes }
      bytes += chunk[..<count]
      guard bytes.count <= limitBytes else { throw FileError(.tooLong(limitBytes), path: path) }
    }
  }
}
