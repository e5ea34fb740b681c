internal import Glibc

/// Files that the person names: read whole, through symbolic links (dot files are often linked), never changed.
public enum PersonalFile {
  /// Who else may have a hand in it.
  public enum Others: Sendable {
    /// Nobody: it may hold a secret.
    case mayNothing
    /// They may read it, not write it.
    case mayRead

    /// The permission bits that they may not have.
    var forbidden: UInt32 { self == .mayRead ? 0o022 : 0o077 }
  }

  /// Reads to the end. Throws when it is no regular file, somebody else's, open to others or too long.
  public static func read(
    _ path: String, others: Others, limitBytes: Int
  ) throws(FileError) -> [UInt8] {
    // Not blocking, or a FIFO would hold us forever.
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
