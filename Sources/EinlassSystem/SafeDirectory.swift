internal import Glibc

/// An open directory that belongs to this user and is closed to everybody else.
///
/// Controls C-10 and C-12. Wrong permissions are refused and never repaired: what others could read or
/// plant before, they may already have. Its parents are resolved first, because a home may be a symbolic
/// link; the directory itself may not.
public struct SafeDirectory: ~Copyable, Sendable {
  /// Absolute, without symbolic links.
  public let path: String
  let descriptor: Int32

  private init(path: String, descriptor: Int32) {
    self.path = path
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// Opens an existing one; `nil` when there is none.
  ///
  /// - Parameter others: what they may do; for a folder of the person's own, which need not be private.
  public static func open(
    _ path: String, others: PersonalFile.Others = .mayNothing
  ) throws(FileError) -> SafeDirectory? {
    guard let resolved = try resolve(path) else { return nil }
    let descriptor = unsafe Glibc.open(resolved, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else {
      let error = errno
      if error == ENOENT { return nil }
      if [ENOTDIR, ELOOP].contains(error), let kind = FileStatus.at(resolved)?.kind {
        throw FileError(kind == .symbolicLink ? .symbolicLink : .notADirectory, path: resolved)
      }
      throw FileError(.system(error), path: resolved)
    }
    let directory = SafeDirectory(path: resolved, descriptor: descriptor)
    guard let status = FileStatus.of(descriptor) else { throw .last(path: resolved) }
    try status.requireOurs(path: resolved, others: others)
    return directory
  }

  /// Opens it after making it, and the directories above it that are missing, with mode 0700.
  ///
  /// Nothing is made below a directory that belongs neither to this user nor to root: `sudo` in somebody's
  /// home leaves nothing behind.
  public static func create(_ path: String) throws(FileError) -> SafeDirectory {
    if let directory = try open(path) { return directory }
    try make(path)
    guard let directory = try open(path) else { throw FileError(.system(ENOENT), path: path) }
    return directory
  }

  /// Whether one that is missing could be made now: the nearest directory above it can be written.
  public static func canMake(_ path: String) -> Bool {
    let (parent, _) = split(path)
    if unsafe faccessat(AT_FDCWD, parent, W_OK | X_OK, AT_EACCESS) == 0 { return true }
    return errno == ENOENT && parent != path && canMake(parent)
  }

  /// Whether files can be made and removed in it now.
  public var isWritable: Bool { unsafe faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) == 0 }

  /// Whether it lies on a file system that several machines can share.
  public var isOnNetwork: Bool { FileStatus.isNetworkFileSystem(descriptor) }

  /// The absolute path of an entry.
  public func path(of name: String) -> String { path == "/" ? "/\(name)" : "\(path)/\(name)" }

  /// The names of its entries, in no order.
  public func names() throws(FileError) -> [String] {
    // Reading moves the position of the descriptor, and of every copy of it.
    let opened = unsafe openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard opened >= 0, let stream = unsafe fdopendir(opened) else {
      let error = FileError.last(path: path)
      if opened >= 0 { close(opened) }
      throw error
    }
    defer { unsafe closedir(stream) }
    var names: [String] = []
    while let entry = unsafe readdir(stream) {
      let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  /// Makes renames and new entries durable.
  public func synchronize() throws(FileError) {
    guard fsync(descriptor) == 0 else { throw .last(path: path) }
  }

  private static func make(_ path: String) throws(FileError) {
    let (parent, _) = split(path)
    if FileStatus.following(parent) == nil { try make(parent) }
    guard let status = FileStatus.following(parent) else { throw .last(path: parent) }
    guard status.kind == .directory else { throw FileError(.notADirectory, path: parent) }
    guard status.owner == geteuid() || status.owner == 0 else {
      throw FileError(.otherOwner(status.owner), path: parent)
    }
    guard unsafe mkdir(path, 0o700) == 0 || errno == EEXIST else { throw .last(path: path) }
    // What is kept in it lasts no longer than its name. A directory that cannot be read is synced by nobody.
    let above = unsafe Glibc.open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard above >= 0 else { return }
    fsync(above)
    close(above)
  }

  /// The path with its parents resolved; `nil` when there are none.
  private static func resolve(_ path: String) throws(FileError) -> String? {
    let (parent, name) = split(path)
    let isPlain = !["", ".", ".."].contains(name)
    guard let resolved = realPath(isPlain ? parent : path) else {
      if errno == ENOENT { return nil }
      throw .last(path: path)
    }
    guard isPlain else { return resolved }
    return resolved == "/" ? "/\(name)" : "\(resolved)/\(name)"
  }

  /// `a/b/` → (`a`, `b`), `b` → (`.`, `b`), `/b` → (`/`, `b`), `/` → (`/`, empty).
  public static func split(_ path: String) -> (parent: String, name: String) {
    var bytes = Array(path.utf8)
    while bytes.count > 1, bytes.last == slash { bytes.removeLast() }
    guard let cut = bytes.lastIndex(of: slash) else { return (".", text(bytes[...])) }
    return (cut == 0 ? "/" : text(bytes[..<cut]), text(bytes[(cut + 1)...]))
  }

  private static func text(_ bytes: ArraySlice<UInt8>) -> String {
    String(decoding: bytes, as: UTF8.self)
  }
  private static let slash = UInt8(ascii: "/")
}

/// The path without symbolic links and dots; `nil` with `errno` when it does not exist.
private func realPath(_ path: String) -> String? {
  guard let resolved = unsafe realpath(path, nil) else { return nil }
  defer { unsafe free(resolved) }
  return unsafe String(cString: resolved)
}
