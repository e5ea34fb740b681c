internal import CSystem
internal import Glibc

/// A reader/writer lock between processes: `flock` on a private file, which grows by a byte with
/// every change that is made under it.
///
/// The kernel lets go when the process dies, however it dies. One value stands for one holder: two values
/// on the same file exclude each other, also inside one process. Not for use across threads at once.
public struct FileLock: ~Copyable, Sendable {
  /// Who else may hold it meanwhile.
  public enum Mode: Sendable {
    /// Other shared holders.
    case shared
    /// Nobody.
    case exclusive
  }

  private let directory: String
  private let name: String
  private(set) var descriptor: Int32
  /// Which file that is.
  private var identity: FileStatus.Identity?

  /// A lock on this file, made when it is missing.
  public init(_ name: String, in directory: borrowing SafeDirectory) throws(FileError) {
    self.init(name, in: directory, descriptor: try Self.open(name, in: directory))
  }

  /// A lock on this file without changing it, `nil` when it is missing. It is opened for reading only, because closing
  /// a file that was open for writing tells its watchers of a change.
  public static func existing(
    _ name: String, in directory: borrowing SafeDirectory
  ) throws(FileError) -> FileLock? {
    guard try directory.inspect(name) != nil else { return nil }
    return try FileLock(name, in: directory, descriptor: directory.open(name, flags: O_RDONLY))
  }

  private init(
    _ name: String, in directory: borrowing SafeDirectory, descriptor: Int32
  ) {
    self.descriptor = descriptor
    identity = FileStatus.of(descriptor)?.identity
    self.name = name
    self.directory = directory.path
  }

  deinit {
    guard descriptor >= 0 else { return }
    // Closing alone lets go only when no child that is just being started holds a copy.
    release()
    close(descriptor)
  }

  /// Whether it could be had by that moment, `.now` for not waiting.
  ///
  /// Waits in the kernel's queue and never by trying again and again, so that waiters are served roughly in
  /// their order and cost nothing.
  public mutating func acquire(_ mode: Mode, by deadline: Deadline) throws(FileError) -> Bool {
    if descriptor < 0 { try reopen() }
    while try take(mode, by: deadline) {
      if isInPlace { return true }
      // Replaced meanwhile, what we hold excludes nobody.
      try reopen()
    }
    return false
  }

  /// Lets go.
  public func release() { _ = flock(descriptor, LOCK_UN) }

  /// Removes the lock's file; only while holding the lock exclusively, or two could hold what looks like one.
  ///
  /// A waiter finds it gone and makes another.
  public func removeFile() throws(FileError) {
    guard isInPlace else { return }
    try SafeDirectory.open(directory)?.remove(name)
  }

  /// Tells all watchers of the file that a change was made; only while holding the lock exclusively.
  ///
  /// Watchers also hear of a process that is killed between its change and this call, because its end closes the file.
  public func announceChange() {
    // The file is one hole, but its length still counts against a limit of the process.
    if ftruncate(descriptor, off_t((changeCount + 1) % (1 << 16))) != 0 { ftruncate(descriptor, 0) }
  }

  /// Another number after each change that was announced, until 65 536 of them.
  public var changeCount: Int64 { FileStatus.of(descriptor)?.countBytes ?? 0 }

  var path: String { "\(directory)/\(name)" }

  /// What the file is like now.
  func status() throws(FileError) -> FileStatus {
    guard let status = FileStatus.of(descriptor) else { throw .last(path: path) }
    return status
  }

  private func operation(_ mode: Mode) -> Int32 { mode == .shared ? LOCK_SH : LOCK_EX }

  private func take(_ mode: Mode, by deadline: Deadline) throws(FileError) -> Bool {
    while flock(descriptor, operation(mode) | LOCK_NB) != 0 {
      guard errno == EWOULDBLOCK else {
        guard errno == EINTR else { throw .last(path: path) }
        continue
      }
      let result = csystem_flock_by(descriptor, operation(mode), deadline.monotonicMilliseconds)
      guard result == 0 || result == EWOULDBLOCK else {
        throw FileError(.system(result), path: path)
      }
      return result == 0
    }
    return true
  }

  /// Whether the path still leads to the file that is locked.
  private var isInPlace: Bool {
    guard descriptor >= 0, let identity else { return false }
    return FileStatus.at(path)?.identity == identity
  }

  /// A lock file that somebody removed excludes nobody any more.
  mutating func reopenIfReplaced() throws(FileError) {
    if !isInPlace { try reopen() }
  }

  private mutating func reopen() throws(FileError) {
    if descriptor >= 0 { close(descriptor) }
    descriptor = -1
    guard let directory = try SafeDirectory.open(directory) else {
      throw FileError(.system(ENOENT), path: path)
    }
    descriptor = try Self.open(name, in: directory)
    identity = FileStatus.of(descriptor)?.identity
  }

  private static func open(_ name: String, in directory: borrowing SafeDirectory) throws(FileError)
    -> Int32
  { try directory.open(name, flags: O_RDWR | O_CREAT) }
}
