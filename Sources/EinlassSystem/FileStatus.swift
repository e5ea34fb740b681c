internal import Glibc

/// The attributes of a file that its safety depends on.
public struct FileStatus: Sendable, Equatable {
  /// The type of a file.
  public enum Kind: Sendable { case regular, directory, symbolicLink, other }

  /// Identifies a file independently of its name. A replacement has another identity.
  public struct Identity: Sendable, Equatable {
    public var device: UInt64
    public var inode: UInt64
  }

  public var kind: Kind
  public var identity: Identity
  public var owner: UInt32
  public var mode: UInt32
  public var links: UInt64
  public var countBytes: Int64
  /// The modification time in whole seconds since 1970. The owner can set it to any date.
  public var modifiedAtSeconds: Int64
  /// The fraction of that time. Its resolution is a few milliseconds, so it is good only for
  /// detecting a change.
  public var modifiedAtNanoseconds: Int64

  /// Returns the status of the file at this path without following symbolic links, or `nil` with
  /// `errno`.
  public static func at(_ path: String) -> FileStatus? {
    var information = stat()
    guard unsafe lstat(path, &information) == 0 else { return nil }
    return FileStatus(information)
  }

  static func following(_ path: String) -> FileStatus? {
    var information = stat()
    guard unsafe stat(path, &information) == 0 else { return nil }
    return FileStatus(information)
  }

  static func of(_ descriptor: Int32) -> FileStatus? {
    var information = stat()
    guard unsafe fstat(descriptor, &information) == 0 else { return nil }
    return FileStatus(information)
  }

  private init(_ information: stat) {
    kind =
      switch information.st_mode & S_IFMT {
      case S_IFREG: .regular
      case S_IFDIR: .directory
      case S_IFLNK: .symbolicLink
      default: .other
      }
    identity = Identity(
      device: UInt64(information.st_dev), inode: UInt64(information.st_ino))
    owner = information.st_uid
    mode = information.st_mode & 0o7777
    links = UInt64(information.st_nlink)
    countBytes = Int64(information.st_size)
    modifiedAtSeconds = Int64(information.st_mtim.tv_sec)
    modifiedAtNanoseconds = Int64(information.st_mtim.tv_nsec)
  }

  /// Returns the folders above the file's own that another user, except root, can change. With
  /// write permission and no sticky bit, that user can replace the folders below.
  public static func foldersOfOthers(above path: String) -> [String] {
    var found: [String] = []
    var folder = path[..<(path.lastIndex(of: "/") ?? path.startIndex)]
    while let slash = folder.lastIndex(of: "/") {
      folder = folder[..<slash]
      let name = folder.isEmpty ? "/" : String(folder)
      guard let status = following(name) else { continue }
      let isOpen = status.mode & 0o022 != 0 && status.mode & 0o1000 == 0
      if isOpen || ![0, geteuid()].contains(status.owner) { found.append(name) }
    }
    return found
  }

  /// Throws unless the file belongs to this user and other users have no more permission than
  /// `others`.
  func requireOurs(path: String, others: PersonalFile.Others = .mayNothing) throws(FileError) {
    guard owner == geteuid() else { throw FileError(.otherOwner(owner), path: path) }
    guard mode & others.forbidden == 0 else {
      throw FileError(.openToOthers(mode: mode, isFile: kind == .regular), path: path)
    }
  }

  /// Throws unless it is a regular file with a single name, accessible only to this user.
  func requirePrivateFile(path: String) throws(FileError) {
    guard kind != .symbolicLink else { throw FileError(.symbolicLink, path: path) }
    guard kind == .regular else { throw FileError(.notARegularFile, path: path) }
    try requireOurs(path: path)
    guard links <= 1 else { throw FileError(.hardLinked(links), path: path) }
  }
}
