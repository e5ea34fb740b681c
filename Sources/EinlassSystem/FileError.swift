internal import Glibc

/// The reason why a file or directory cannot be used, or was refused because other users can access
/// it.
public struct FileError: Error, Sendable, Equatable {
  /// The kind of problem.
  public enum Cause: Sendable, Equatable {
    /// A system call failed with this errno.
    case system(Int32)
    case symbolicLink
    case notADirectory
    case notARegularFile
    /// Owned by the user with this id.
    case otherOwner(UInt32)
    /// Group or others have some of these permission bits.
    case openToOthers(mode: UInt32, isFile: Bool = false)
    /// The file has this number of names.
    case hardLinked(UInt64)
    /// Longer than this number of bytes.
    case tooLong(Int)
    /// End of file was not reached in time.
    case silent
  }

  public var cause: Cause
  public var path: String

  public init(_ cause: Cause, path: String) {
    self.cause = cause
    self.path = path
  }

  /// Returns the error for a path without a file.
  public static func missing(_ path: String) -> FileError { FileError(.system(ENOENT), path: path) }

  /// Returns the error for a path with a file.
  public static func taken(_ path: String) -> FileError { FileError(.system(EEXIST), path: path) }

  /// Reads the errno of the system call that has just failed.
  static func last(path: String) -> FileError { FileError(.system(errno), path: path) }

  /// The problem: the end of a sentence that starts with the path, with its full stop.
  public var explanation: String {
    switch cause {
    case .system(let number): "can't be used: \(Self.words(for: number))."
    case .symbolicLink: "is a symbolic link."
    case .notADirectory: "is not a directory."
    case .notARegularFile: "is not a regular file."
    case .otherOwner(let user): "belongs to user \(user), but this runs as user \(geteuid())."
    case .openToOthers(let mode, _): "is open to other users (mode \(Self.octal(mode)))."
    case .hardLinked(let count): "has \(count) hard links."
    case .tooLong(let limit): "is longer than the limit of \(limit) bytes."
    case .silent: "was not closed in time."
    }
  }

  /// The command that takes the file away from others; `nil` if that is no remedy, or harmful. `/tmp`
  /// and `/dev`, for example, must stay open to others.
  public var command: String? {
    guard case .openToOthers(let mode, let isFile) = cause,
      isFile || (mode & 0o1000 == 0 && path.utf8.count { $0 == UInt8(ascii: "/") } >= 3)
    else { return nil }
    return "chmod go-rwx '\(quoted)'"
  }

  /// The path within single quotes of a shell.
  private var quoted: String {
    path.unicodeScalars.map { $0 == "'" ? #"'\''"# : String($0) }.joined()
  }

  private static func octal(_ mode: UInt32) -> String {
    let digits = String(mode & 0o7777, radix: 8)
    return String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
  }

  private static func words(for number: Int32) -> String {
    switch number {
    case ENOENT: "it does not exist"
    case EACCES, EPERM: "permission denied"
    case EROFS: "the file system is read-only"
    case ENOSPC, EDQUOT: "the disk is full"
    case EFBIG: "the limit on the size of files is reached"
    case EEXIST: "it exists already"
    case EMFILE, ENFILE: SystemError.tooManyOpenFiles
    case EISDIR: "it is a directory"
    case ELOOP: "it is a symbolic link"
    case ENOTDIR: "a part of its path is not a directory"
    case EBADF: "it is not open for this use"
    case ENAMETOOLONG: "its name is too long"
    default: "error \(number) of the system"
    }
  }
}
