internal import Glibc

/// A private file of lines that any number of processes append to and shorten. No reader sees a
/// partial line.
///
/// The file stays open, so that a line costs one lock and one write. Not for concurrent use by
/// several threads.
public struct LineFile: ~Copyable, Sendable {
  /// The beginning of a line. Valid until the file is shortened.
  public struct Position: Sendable, Equatable {
    /// The inode. Shortening replaces the file by another one.
    public var file: UInt64
    public var offset: Int64

    public init(file: UInt64, offset: Int64) {
      self.file = file
      self.offset = offset
    }
  }

  /// A line without its line feed.
  public struct Line: Sendable, Equatable {
    public var position: Position
    public var bytes: [UInt8]
  }

  private var lock: FileLock
  private let directory: String
  private let name: String
  private let isDurable: Bool
  /// The file with a durable directory entry.
  private var named: FileStatus.Identity?
  /// The end of the last line written here. At this length, the file ends in a line feed and need
  /// not be read.
  private var end: Int64 = 0

  /// Opens the file, or creates it.
  ///
  /// - Parameter isDurable: syncs each appended line to disk.
  public init(
    _ name: String, in directory: borrowing SafeDirectory, isDurable: Bool = false
  ) throws(FileError) {
    lock = try FileLock(name, in: directory)
    self.isDurable = isDurable
    self.name = name
    self.directory = directory.path
  }

  /// Appends a line, completely or not at all, and returns the file's new length. Returns `nil` if
  /// other processes hold the file until the deadline.
  public mutating func append(_ line: [UInt8], by deadline: Deadline) throws(FileError) -> Int64? {
    guard try lock.acquire(.exclusive, by: deadline) else { return nil }
    defer { lock.release() }
    let status = try lock.status()
    let count = status.countBytes
    // Terminates a partial line left by a power cut.
    let isWhole = if count == end { true } else { try endsInLineFeed(count) }
    let bytes = (isWhole ? [] : [Self.lineFeed]) + line + [Self.lineFeed]
    do throws(FileError) {
      try writeAll(bytes, to: lock.descriptor, at: count, path: lock.path)
      if isDurable { try synchronize(status.identity) }
    } catch {
      ftruncate(lock.descriptor, off_t(count))
      throw error
    }
    end = count + Int64(bytes.count)
    return end
  }

  /// Whether no other process holds the file now.
  public var isFree: Bool {
    mutating get throws(FileError) {
      guard try lock.acquire(.exclusive, by: .now) else { return false }
      lock.release()
      return true
    }
  }

  private mutating func synchronize(_ file: FileStatus.Identity) throws(FileError) {
    guard fdatasync(lock.descriptor) == 0 else { throw .last(path: lock.path) }
    guard named != file else { return }
    try SafeDirectory.open(directory)?.synchronize()
    named = file
  }

  /// Gives the file another name in its directory, so that the next line begins a new file. Returns
  /// `false` for a file without lines, and if other processes hold the file until the deadline.
  public mutating func rename(to other: String, by deadline: Deadline) throws(FileError) -> Bool {
    guard try lock.acquire(.exclusive, by: deadline) else { return false }
    defer { lock.release() }
    guard try lock.status().countBytes > 0, let directory = try SafeDirectory.open(directory) else {
      return false
    }
    try directory.rename(name, to: other)
    return true
  }

  private func endsInLineFeed(_ count: Int64) throws(FileError) -> Bool {
    guard count > 0 else { return true }
    return try readAll(lock.descriptor, from: max(0, count - 1), to: count, path: lock.path)
      == [Self.lineFeed]
  }

  /// Returns the lines before this position, or the last ones, oldest first, from the given number
  /// of bytes. Reads further back if no line begins there. A line over the length limit is returned
  /// empty. Returns `nil` if the file was shortened after the position was taken.
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
      // A longer line must not hide the lines before it.
      guard stop - start <= Self.lineLimitBytes else { break }
      start = max(0, stop - 2 * (stop - start))
    }
    let beginning = Position(file: file, offset: try contents().beginning(before: start))
    return [Line(position: beginning, bytes: [])]
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

  /// Removes the lines for which the closure returns `true`, and lines over the length limit, and
  /// returns their number. Returns `nil` if other processes hold the file until the deadline. An
  /// interrupted process leaves the file unchanged.
  public mutating func remove(
    by deadline: Deadline, _ shouldRemove: ([UInt8]) -> Bool
  ) throws(FileError) -> Int? {
    var removedCount = 0
    let isDone = try rewrite(by: deadline) { old, new throws(FileError) in
      var kept: [UInt8] = []
      try old.eachLine { line throws(FileError) in
        if line.count > Self.lineLimitBytes || shouldRemove(line) {
          removedCount += 1
          return
        }
        kept += line
        kept.append(Self.lineFeed)
        guard kept.count >= Self.partBytes else { return }
        try new.write(kept)
        kept.removeAll(keepingCapacity: true)
      }
      try new.write(kept)
      return removedCount > 0
    }
    return isDone ? removedCount : nil
  }

  /// Removes the lines that begin before the last `bytes` bytes, without reading them. Returns
  /// `false` if other processes hold the file until the deadline.
  public mutating func keepLast(
    bytes: Int64, by deadline: Deadline
  ) throws(FileError) -> Bool {
    try rewrite(by: deadline) { old, new throws(FileError) in
      var (start, isInLine) = (max(0, old.size - bytes), old.size > bytes)
      while start < old.size {
        var part = try old.part(from: start)[...]
        guard !part.isEmpty else { break }
        start += Int64(part.count)
        if isInLine, let feed = part.firstIndex(of: Self.lineFeed) {
          isInLine = false
          part = part[(feed + 1)...]
        }
        if !isInLine { try new.write(Array(part)) }
      }
      return true
    }
  }

  /// Replaces the file with the content that the body writes, unless the body returns `false`.
  /// Returns `false` if other processes hold the file until the deadline.
  private mutating func rewrite(
    by deadline: Deadline,
    _ body: (Contents, SafeDirectory.Unfinished) throws(FileError) -> Bool
  ) throws(FileError) -> Bool {
    guard try lock.acquire(.exclusive, by: deadline) else { return false }
    defer { lock.release() }
    guard let directory = try SafeDirectory.open(directory) else { throw .missing(directory) }
    let old = try contents()
    try directory.replace(name, temporaryName: name + ".new") { new throws(FileError) in
      try body(old, new)
    }
    return true
  }

  private func contents() throws(FileError) -> Contents {
    Contents(descriptor: lock.descriptor, size: try lock.status().countBytes, path: lock.path)
  }

  /// Longer lines are not appended here.
  fileprivate static let lineLimitBytes = 64 << 10
  /// The number of bytes in memory at a time.
  fileprivate static let partBytes: Int64 = 64 << 10
  fileprivate static let lineFeed = UInt8(ascii: "\n")
}

/// The content of the file, read part by part.
private struct Contents {
  let descriptor: Int32
  let size: Int64
  let path: String

  func part(from start: Int64, to end: Int64? = nil) throws(FileError) -> [UInt8] {
    let end = min(end ?? size, size, start + LineFile.partBytes)
    return try readAll(descriptor, from: start, to: end, path: path)
  }

  /// Calls the body with each non-empty line. A line over the limit is passed incomplete.
  func eachLine(_ body: ([UInt8]) throws(FileError) -> Void) throws(FileError) {
    var line: [UInt8] = []
    var offset: Int64 = 0
    while offset < size {
      let part = try part(from: offset)
      guard !part.isEmpty else { break }
      offset += Int64(part.count)
      var rest = part[...]
      while let feed = rest.firstIndex(of: LineFile.lineFeed) {
        line += rest[..<feed]
        if !line.isEmpty { try body(line) }
        line.removeAll(keepingCapacity: true)
        rest = rest[(feed + 1)...]
      }
      if line.count <= LineFile.lineLimitBytes { line += rest }
    }
    if !line.isEmpty { try body(line) }
  }

  /// Returns the beginning of the line that contains this offset.
  func beginning(before offset: Int64) throws(FileError) -> Int64 {
    var end = offset
    while end > 0 {
      let start = max(0, end - LineFile.partBytes)
      if let feed = try part(from: start, to: end).lastIndex(of: LineFile.lineFeed) {
        return start + Int64(feed) + 1
      }
      end = start
    }
    return 0
  }
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
