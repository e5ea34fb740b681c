internal import CSystem
internal import Glibc

/// A reader/writer lock between processes: `flock` on a private file. The file grows by one byte
/// with each announced change.
///
/// The kernel releases the lock when the process ends, even by a crash. Each value is a holder of
/// its own: two values on the same file exclude each other, also within one process. Not for
/// concurrent use by several threads.
public struct FileLock: ~Copyable, Sendable {
  /// The sharing of a lock.
  public enum Mode: Sendable {
    /// Excludes exclusive holders.
    case shared
    /// Excludes all other holders.
    case exclusive
  }

  private let directory: String
  private let name: String
  private(set) var descriptor: Int32
  /// Identifies the open file, to detect its replacement.
  private var identity: FileStatus.Identity?

  /// Opens the lock file, or creates it.
  public init(_ name: String, in directory: borrowing SafeDirectory) throws(FileError) {
    self.init(name, in: directory, descriptor: try Self.open(name, in: directory))
  }

  /// Opens the lock file for reading only; `nil` if it is missing. Closing a file that was open for
  /// writing would tell its watchers of a change.
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
    // Closing alone is not enough: a child that is just being started may still hold a copy of the
    // descriptor.
    release()
    close(descriptor)
  }

  /// Waits for the lock until the deadline. Returns whether it was acquired; `.now` does not wait.
  ///
  /// Waits in the kernel's queue instead of polling, so that waiters are served roughly in order
  /// and use no CPU time.
  public mutating func acquire(_ mode: Mode, by deadline: Deadline) throws(FileError) -> Bool {
    if descriptor < 0 { try reopen() }
    while try lock(mode, by: deadline) {
      if isInPlace { return true }
      // The file was replaced while waiting, so the lock on the old one excludes no other process.
      try reopen()
    }
    return false
  }

  /// Releases the lock.
  public func release() { _ = flock(descriptor, LOCK_UN) }

  /// Removes the lock file. Requires the exclusive lock, because otherwise two processes could hold
  /// locks on different files at this path. Only a holder that was stopped is passed over so.
  ///
  /// A waiting process finds the file gone and creates another.
  public func removeFile() throws(FileError) {
    guard isInPlace else { return }
    try SafeDirectory.open(directory)?.remove(name)
  }

  /// Notifies all watchers of the file of a change. Requires the exclusive lock.
  ///
  /// If a process is killed between its change and this call, the kernel closes the file, and
  /// watchers are notified too.
  public func announceChange() {
    // The file is sparse, but its length still counts against RLIMIT_FSIZE.
    if ftruncate(descriptor, off_t((changeCount + 1) % (1 << 16))) != 0 { ftruncate(descriptor, 0) }
  }

  /// Forgets the announced changes of former holders.
  public func clearChanges() { ftruncate(descriptor, 0) }

  /// A number that differs after each announced change. It repeats after 65 536 changes.
  public var changeCount: Int64 { FileStatus.of(descriptor)?.countBytes ?? 0 }

  var path: String { "\(directory)/\(name)" }

  func status() throws(FileError) -> FileStatus {
    guard let status = FileStatus.of(descriptor) else { throw .last(path: path) }
    return status
  }

  private func operation(_ mode: Mode) -> Int32 { mode == .shared ? LOCK_SH : LOCK_EX }

  private func lock(_ mode: Mode, by deadline: Deadline) throws(FileError) -> Bool {
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

  /// Whether the path still leads to the locked file.
  public var isInPlace: Bool {
    guard descriptor >= 0, let identity else { return false }
    return FileStatus.at(path)?.identity == identity
  }

  /// Reopens the file if it was replaced, because a lock on a removed file excludes no other
  /// process.
  public mutating func reopenIfReplaced() throws(FileError) {
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
