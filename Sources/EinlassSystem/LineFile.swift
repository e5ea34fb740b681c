internal import Glibc

/// A private file of lines that any number of processes append to and shorten; nobody ever meets half a line.
///
/// Stays open, so that a line costs a lock and a write. Not for use across threads at once.
public struct LineFile: ~Copyable, Sendable {
  /// Where a line begins; good until the file is shortened.
  public struct Position: Sendable, Equatable {
    /// Which file: one that was shortened is another.
    public var file: UInt64
    public var offset: Int64

    public init(file: UInt64, offset: Int64) {
      self.file = file
      self.offset = offset
    }
  }

  /// A line without its end, and where it begins.
  public struct Line: Sendable, Equatable {
    public var position: Position
    public var bytes: [UInt8]
  }

  private var lock: FileLock
  private let directory: String
  private let name: String
  /// Where the last line of ours ends: if nobody has written since, no need to look at it.
  private var end: Int64 = 0

  /// The file of this name, made when it is missing.
  public init(_ name: String, in directory: borrowing SafeDirectory) throws(FileError) {
    lock = try FileLock(name, in: directory)
    self.name = name
    self.directory = directory.path
  }

  /// Appends a line, whole or not at all, and answers how long the file is now; `nil` when others had it until
  /// that moment.
  public mutating func append(_ line: [UInt8], by deadline: Deadline) throws(FileError) -> Int64? {
    guard try lock.acquire(.exclusive, by: deadline) else { return nil }
    defer { lock.release() }
    let count = try lock.status().countBytes
    // What a power cut left of a line ends here.
    let isWhole = if count == end { true } else { try endsInLineFeed(count) }
    let bytes = (isWhole ? [] : [Self.lineFeed]) + line + [Self.lineFeed]
    do throws(FileError) {
      try writeAll(bytes, to: lock.descriptor, at: count, path: lock.path)
    } catch {
      ftruncate(lock.descriptor, off_t(count))
      throw error
    }
    end = count + Int64(bytes.count)
    return end
  }

  private func endsInLineFeed(_ count: Int64) throws(FileError) -> Bool {
    try readAll(lock.descriptor, from: max(0, count - 1), to: count, path: lock.path)
      == [Self.lineFeed]
  }

  /// The lines that end before this position, or the last ones, oldest first: as many as begin within so many
  /// bytes before it, or the one that is longer. `nil` when the position is of a file that was shortened since.
  public mutating func lines(
    before end: Position?, withinBytes limit: Int64
  ) throws(FileError) -> [Line]? {
    try lock.reopenIfReplaced()
    let status = try lock.status()
    let file = status.identity.inode
    guard end.map({ $0.file == file }) ?? true else { return nil }
    let stop = min(end?.offset ?? status.countBytes, status.countBytes)
    var start = max(0, stop - limit)
    while true {
      let lines = try lines(from: start, to: stop, of: file)
      if !lines.isEmpty || start == 0 { return lines }
      // One that is longer hides none of those before it.
      start = max(0, stop - 2 * (stop - start))
    }
  }

  private func lines(
    from start: Int64, to stop: Int64, of file: UInt64
  ) throws(FileError) -> [Line] {
    let bytes = try readAll(lock.descriptor, from: start, to: stop, path: lock.path)
    var lines: [Line] = []
    var begin = start == 0 ? 0 : bytes.firstIndex(of: Self.lineFeed).map { $0 + 1 } ?? bytes.count
    while let feed = bytes[begin...].firstIndex(of: Self.lineFeed) {
      lines.append(
        Line(
          position: Position(file: file, offset: start + Int64(begin)),
          bytes: Array(bytes[begin..<feed])))
      begin = feed + 1
    }
    return lines
  }

  /// Takes out the lines that this says, and answers how many; `nil` when others had the file until that moment.
  /// Whoever is interrupted has changed nothing.
  public mutating func remove(
    by deadline: Deadline, _ isToGo: ([UInt8]) -> Bool
  ) throws(FileError) -> Int? {
    guard try lock.acquire(.exclusive, by: deadline) else { return nil }
    defer { lock.release() }
    guard let directory = try SafeDirectory.open(directory) else { throw .missing(directory) }
    let size = try lock.status().countBytes
    let lines = try readAll(lock.descriptor, from: 0, to: size, path: lock.path)
      .split(separator: Self.lineFeed)
    let kept = lines.filter { !isToGo(Array($0)) }
    guard kept.count < lines.count else { return 0 }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Int(size))
    for line in kept {
      bytes += line
      bytes.append(Self.lineFeed)
    }
    try directory.replace(name, bytes, temporaryName: name + ".new")
    return lines.count - kept.count
  }

  private static let lineFeed = UInt8(ascii: "\n")
}

private func writeAll(
  _ bytes: [UInt8], to descriptor: Int32, at offset: Int64, path: String
) throws(FileError) {
  var done = 0
  while done < bytes.count {
    let count = unsafe bytes[done...].withUnsafeBytes {
      unsafe pwrite(descriptor, $0.baseAddress, $0.count, off_t(offset) + off_t(done))
    }
    guard count >= 0 || errno == EINTR else { throw .last(path: path) }
    done += max(0, count)
  }
}

private func readAll(
  _ descriptor: Int32, from start: Int64, to end: Int64, path: String
) throws(FileError) -> [UInt8] {
  var bytes = [UInt8](repeating: 0, count: Int(max(0, end - start)))
  var done = 0
  while done < bytes.count {
    let count = unsafe bytes[done...].withUnsafeMutableBytes {
      unsafe pread(descriptor, $0.baseAddress, $0.count, off_t(start) + off_t(done))
    }
    guard count >= 0 || errno == EINTR else { throw .last(path: path) }
    if count == 0 { break }
    done += max(0, count)
  }
  return Array(bytes[..<done])
}
