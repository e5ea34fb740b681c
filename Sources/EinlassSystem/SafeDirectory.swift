internal import Glibc

/// An open directory that belongs to this user and is closed to all others.
///
/// Wrong permissions are an error and never repaired, because other users may already have read or
/// planted files. The directories above are resolved first, because a home directory may be a
/// symbolic link. The directory itself must not be one.
public struct SafeDirectory: ~Copyable, Sendable {
  /// The absolute path without symbolic links.
  public let path: String
  let descriptor: Int32

  private init(path: String, descriptor: Int32) {
    self.path = path
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// Opens an existing directory. Returns `nil` if there is none.
  ///
  /// - Parameter others: the access that other users may have; `mayRead` for a folder of the person
  ///   that need not be private.
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

  /// Opens the directory, and creates it and missing directories above it with mode 0700.
  ///
  /// Creates nothing in a directory that belongs neither to this user nor to root, so that `sudo`
  /// leaves no root-owned directories in another user's home.
  public static func create(_ path: String) throws(FileError) -> SafeDirectory {
    if let directory = try open(path) { return directory }
    try make(path)
    guard let directory = try open(path) else { throw FileError(.system(ENOENT), path: path) }
    return directory
  }

  /// Returns whether a missing directory could be created now: whether the nearest existing
  /// directory above it is writable.
  public static func canMake(_ path: String) -> Bool {
    let (parent, _) = split(path)
    if unsafe faccessat(AT_FDCWD, parent, W_OK | X_OK, AT_EACCESS) == 0 { return true }
    return errno == ENOENT && parent != path && canMake(parent)
  }

  /// Whether files can be created and removed in it now.
  public var isWritable: Bool { unsafe faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) == 0 }

  /// Whether its file system may have other users than this kernel.
  public var isOnNetwork: Bool { FileSystem.isOnNetwork(descriptor) }

  /// Returns the absolute path of an entry.
  public func path(of name: String) -> String { path == "/" ? "/\(name)" : "\(path)/\(name)" }

  /// Returns the names of its entries, unsorted.
  public func names() throws(FileError) -> [String] {
    // A descriptor of its own, because reading moves the position that all duplicates share.
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
    // Makes the new entry durable, because the directory's files are lost without it. A parent
    // without read permission cannot be synced.
    let above = unsafe Glibc.open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard above >= 0 else { return }
    fsync(above)
    close(above)
  }

  /// Resolves the directories above. Returns `nil` if they do not exist.
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

/// Returns the path without symbolic links and dots, or `nil` with `errno` if it does not exist.
private func realPath(_ path: String) -> String? {
  guard let resolved = unsafe realpath(path, nil) else { return nil }
  defer { unsafe free(resolved) }
  return unsafe String(cString: resolved)
}
