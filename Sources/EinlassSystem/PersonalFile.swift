internal import Glibc

/// Files named by the person. They are read completely and never changed. Symbolic links are
/// followed, because configuration files are often linked.
public enum PersonalFile {
  /// The access that other users may have.
  public enum Others: Sendable {
    /// No access, because the file may hold a secret.
    case mayNothing
    /// Read access, but no write access.
    case mayRead
    /// Any access, and the file may be theirs, because it only has to be looked at.
    case mayOwn

    /// The permission bits that must not be set.
    var forbidden: UInt32 {
      switch self {
      case .mayNothing: 0o077
      case .mayRead: 0o022
      case .mayOwn: 0
      }
    }
  }

  /// The path of the person's configuration file, below `XDG_CONFIG_HOME` or `~/.config`; `nil`
  /// without a home folder.
  public static var configurationPath: String? {
    let home = Environment.value("HOME").map { "\($0)/.config" }
    guard let folder = Environment.value("XDG_CONFIG_HOME") ?? home, folder.hasPrefix("/") else {
      return nil
    }
    return "\(folder)/einlass/config.json"
  }

  /// Reads the whole file. Throws if it is not a regular file, is too long, is open to others, or
  /// belongs to another user. With `mayRead`, root's files are accepted, with `mayOwn` everybody's.
  public static func read(
    _ path: String, others: Others, limitBytes: Int
  ) throws(FileError) -> [UInt8] {
    // O_NONBLOCK, because opening a FIFO would wait for a writer.
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw .last(path: path) }
    defer { close(descriptor) }
    guard let status = FileStatus.of(descriptor) else { throw .last(path: path) }
    guard status.kind == .regular else { throw FileError(.notARegularFile, path: path) }
    guard
      status.owner == geteuid() || (status.owner == 0 && others == .mayRead) || others == .mayOwn
    else {
      throw FileError(.otherOwner(status.owner), path: path)
    }
    guard status.mode & others.forbidden == 0 else {
      throw FileError(.openToOthers(mode: status.mode, isFile: true), path: path)
    }
    return try readToEnd(descriptor, path: path, limitBytes: limitBytes)
  }

  /// Runs the body while no other process runs one for a file in the same folder, so that of two
  /// edits neither is lost. Creates the folder if it is missing.
  public static func withFolderLocked<Success, Failure: Error>(
    of path: String, _ body: () throws(Failure) -> Success
  ) throws -> Success {
    let (folder, _) = SafeDirectory.split(resolved(path))
    if FileStatus.at(folder) == nil { _ = try SafeDirectory.create(folder) }
    let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileError.last(path: folder) }
    defer { close(descriptor) }
    while flock(descriptor, LOCK_EX) != 0 {
      guard errno == EINTR else { throw FileError.last(path: folder) }
    }
    return try body()
  }

  /// Replaces the file with these bytes, completely and durably or not at all, and keeps its mode. A
  /// new file, and missing folders above it, are private. A symbolic link stays and its target is
  /// replaced.
  ///
  /// - Parameter check: examines the finished file at this path before it takes the name.
  public static func replace<Failure: Error>(
    _ path: String, _ bytes: [UInt8], check: (String) throws(Failure) -> Void
  ) throws where Failure: Error {
    let (folder, name) = SafeDirectory.split(resolved(path))
    if FileStatus.at(folder) == nil { _ = try SafeDirectory.create(folder) }
    let target = "\(folder)/\(name)"
    let temporary = "\(folder)/.\(name).\(getpid())"
    let mode = FileStatus.at(target)?.mode ?? 0o600
    let opened = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard opened >= 0 else { throw FileError.last(path: temporary) }
    do {
      defer { close(opened) }
      try writeAll(bytes, to: opened, path: temporary)
      guard fchmod(opened, mode & 0o7777) == 0, fsync(opened) == 0 else {
        throw FileError.last(path: temporary)
      }
      try check(temporary)
      guard unsafe rename(temporary, target) == 0 else { throw FileError.last(path: target) }
    } catch {
      unsafe unlink(temporary)
      throw error
    }
  }

  /// Returns the path without symbolic links, or the path itself for a missing file.
  private static func resolved(_ path: String) -> String {
    guard let real = unsafe realpath(path, nil) else { return path }
    defer { unsafe free(real) }
    return unsafe String(cString: real)
  }
}
