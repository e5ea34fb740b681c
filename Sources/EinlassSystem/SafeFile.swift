internal import CSystem
internal import Glibc

/// Private files in a `SafeDirectory`: regular, owned by this user, 0600, with one name, and never
/// reached through a link.
extension SafeDirectory {
  /// Returns the status of a private file, or `nil` if there is no file. Throws if the file is not
  /// private.
  public func inspect(_ name: String) throws(FileError) -> FileStatus? {
    let path = path(of: name)
    guard let status = FileStatus.at(path) else {
      if errno == ENOENT { return nil }
      throw .last(path: path)
    }
    try status.requirePrivateFile(path: path)
    return status
  }

  /// Opens or creates a private file. The caller closes the descriptor.
  func open(_ name: String, flags: Int32) throws(FileError) -> Int32 {
    let path = path(of: name)
    // O_NONBLOCK, because a planted FIFO would block the open.
    let opened = unsafe openat(descriptor, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o600)
    guard opened >= 0 else {
      let error = errno
      if [ELOOP, EISDIR, ENXIO].contains(error), let kind = FileStatus.at(path)?.kind {
        throw FileError(kind == .symbolicLink ? .symbolicLink : .notARegularFile, path: path)
      }
      throw FileError(.system(error), path: path)
    }
    do throws(FileError) {
      guard let status = FileStatus.of(opened) else { throw .last(path: path) }
      try status.requirePrivateFile(path: path)
    } catch {
      close(opened)
      throw error
    }
    return opened
  }

  /// Creates an empty private file. Throws `EEXIST` if the name is taken.
  public func createEmpty(_ name: String) throws(FileError) {
    close(try open(name, flags: O_RDWR | O_CREAT | O_EXCL))
  }

  /// Returns the content of a private file, or `nil` if there is none.
  public func read(_ name: String, limitBytes: Int) throws(FileError) -> [UInt8]? {
    do {
      let opened = try open(name, flags: O_RDONLY)
      defer { close(opened) }
      return try readToEnd(opened, path: path(of: name), limitBytes: limitBytes)
    } catch  where error.cause == .system(ENOENT) {
      return nil
    }
  }

  /// Creates a private file with these bytes, completely and durably or not at all. Returns
  /// `false`, and leaves the existing file unchanged, if the name is taken.
  public func create(_ name: String, _ bytes: [UInt8], temporaryName: String) throws(FileError)
    -> Bool
  {
    let opened = try open(temporaryName, flags: O_WRONLY | O_CREAT | O_EXCL)
    do throws(FileError) {
      defer { close(opened) }
      try writeAll(bytes, to: opened, path: path(of: temporaryName))
    } catch {
      remove(temporaryName)
      throw error
    }
    return try publish(temporaryName, as: name)
  }

  /// Syncs a finished file and renames it. Returns `false`, and removes the finished file, if the
  /// name is taken.
  public func publish(_ temporaryName: String, as name: String) throws(FileError) -> Bool {
    do throws(FileError) {
      try synchronize(temporaryName)
    } catch {
      remove(temporaryName)
      throw error
    }
    let result = unsafe csystem_rename_new(descriptor, temporaryName, name)
    guard result == 0 else {
      remove(temporaryName)
      if result == EEXIST { return false }
      throw FileError(.system(result), path: path(of: name))
    }
    try synchronize()
    return true
  }

  /// Replaces or creates a private file with these bytes, completely and durably or not at all. A
  /// temporary file of an earlier attempt is removed first.
  ///
  /// - Parameter modifiedAtSeconds: the modification time since 1970; `nil` for the present.
  public func replace(
    _ name: String, _ bytes: [UInt8], temporaryName: String, modifiedAtSeconds: Int64? = nil
  ) throws(FileError) {
    try replace(name, temporaryName: temporaryName) { file throws(FileError) in
      try file.write(bytes)
      if let modifiedAtSeconds { try file.setModified(modifiedAtSeconds) }
      return true
    }
  }

  struct Unfinished {
    fileprivate let descriptor: Int32
    fileprivate let path: String

    func write(_ bytes: [UInt8]) throws(FileError) {
      try writeAll(bytes, to: descriptor, path: path)
    }

    fileprivate func setModified(_ seconds: Int64) throws(FileError) {
      let times = [timespec](repeating: timespec(tv_sec: Int(seconds), tv_nsec: 0), count: 2)
      guard unsafe futimens(descriptor, times) == 0 else { throw .last(path: path) }
    }
  }

  /// Replaces the file with the bytes that the body writes, unless the body returns `false`.
  func replace(
    _ name: String, temporaryName: String, _ body: (Unfinished) throws(FileError) -> Bool
  ) throws(FileError) {
    remove(temporaryName)
    let opened = try open(temporaryName, flags: O_WRONLY | O_CREAT | O_EXCL)
    do throws(FileError) {
      defer { close(opened) }
      guard try body(Unfinished(descriptor: opened, path: path(of: temporaryName))) else {
        return remove(temporaryName)
      }
      guard fsync(opened) == 0 else { throw .last(path: path(of: temporaryName)) }
      guard unsafe renameat(descriptor, temporaryName, descriptor, name) == 0 else {
        throw .last(path: path(of: name))
      }
    } catch {
      remove(temporaryName)
      throw error
    }
    try synchronize()
  }

  /// Gives a file another name, durably. Throws `taken` if there is a file of that name.
  public func rename(_ name: String, to other: String) throws(FileError) {
    let result = unsafe csystem_rename_new(descriptor, name, other)
    guard result == 0 else {
      throw result == EEXIST
        ? .taken(path(of: other)) : FileError(.system(result), path: path(of: other))
    }
    try synchronize()
  }

  private func synchronize(_ name: String) throws(FileError) {
    let opened = try open(name, flags: O_RDONLY)
    defer { close(opened) }
    guard fsync(opened) == 0 else { throw .last(path: path(of: name)) }
  }

  /// Returns whether a file is writable now, or missing.
  public func canWrite(_ name: String) -> Bool {
    unsafe faccessat(AT_FDCWD, path(of: name), W_OK, AT_EACCESS) == 0 || errno == ENOENT
  }

  /// Removes a file if it exists. Errors are ignored.
  public func remove(_ name: String) { _ = unsafe unlinkat(descriptor, name, 0) }
}

/// Reads to the end. Throws `tooLong` beyond the limit.
func readToEnd(_ descriptor: Int32, path: String, limitBytes: Int) throws(FileError) -> [UInt8] {
  var bytes: [UInt8] = []
  var chunk = [UInt8](repeating: 0, count: 4096)
  while true {
    let count = unsafe Glibc.read(descriptor, &chunk, chunk.count)
    if count < 0 {
      if errno == EINTR { continue }
      throw .last(path: path)
    }
    if count == 0 { return bytes }
    bytes += chunk[..<count]
    guard bytes.count <= limitBytes else { throw FileError(.tooLong(limitBytes), path: path) }
  }
}

func writeAll(_ bytes: [UInt8], to descriptor: Int32, path: String) throws(FileError) {
  var rest = bytes[...]
  while !rest.isEmpty {
    let count = unsafe rest.withUnsafeBytes {
      unsafe Glibc.write(descriptor, $0.baseAddress, $0.count)
    }
    if count < 0 {
      if errno == EINTR { continue }
      throw .last(path: path)
    }
    rest = rest.dropFirst(count)
  }
}
