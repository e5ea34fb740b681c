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

    /// The permission bits that must not be set.
    var forbidden: UInt32 { self == .mayRead ? 0o022 : 0o077 }
  }

  /// Reads the whole file. Throws if it is not a regular file, is too long, is open to others, or
  /// belongs to another user. With `mayRead`, root's files are accepted.
  public static func read(
    _ path: String, others: Others, limitBytes: Int
  ) throws(FileError) -> [UInt8] {
    // O_NONBLOCK, because opening a FIFO would wait for a writer.
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw .last(path: path) }
    defer { close(descriptor) }
    guard let status = FileStatus.of(descriptor) else { throw .last(path: path) }
    guard status.kind == .regular else { throw FileError(.notARegularFile, path: path) }
    guard status.owner == geteuid() || (status.owner == 0 && others == .mayRead) else {
      throw FileError(.otherOwner(status.owner), path: path)
    }
    guard status.mode & others.forbidden == 0 else {
      throw FileError(.openToOthers(mode: status.mode, isFile: true), path: path)
    }
    return try readToEnd(descriptor, path: path, limitBytes: limitBytes)
  }
}
