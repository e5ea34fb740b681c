internal import CSystem
internal import Glibc

/// Private files in a `SafeDirectory`: regular, ours, 0600, under one name, never through a link (C-11).
extension SafeDirectory {
  /// What stands under this name; `nil` when nothing does. Throws when it is no private file.
  public func inspect(_ name: String) throws(FileError) -> FileStatus? {
    let path = path(of: name)
    guard let status = FileStatus.at(path) else {
      if errno == ENOENT { return nil }
      throw .last(path: path)
    }
    try status.requirePrivateFile(path: path)
    return status
  }

  /// Opens or makes a private file; the caller closes the descriptor.
  func open(_ name: String, flags: Int32) throws(FileError) -> Int32 {
    let path = path(of: name)
    // Not blocking, or a planted FIFO would hold us forever.
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

  /// Makes an empty private file for somebody who opens it by name; throws `EEXIST` when the name is taken.
  public func createEmpty(_ name: String) throws(FileError) {
    close(try open(name, flags: O_RDWR | O_CREAT | O_EXCL))
  }

  /// The whole of a private file; `nil` when there is none.
  public func read(_ name: String, limitBytes: Int) throws(FileError) -> [UInt8]? {
    do {
      let opened = try open(name, flags: O_RDONLY)
      defer { close(opened) }
      return try readToEnd(opened, path: path(of: name), limitBytes: limitBytes)
    } catch  where error.cause == .system(ENOENT) {
      return nil
    }
  }

  /// Makes a private file with these bytes: whole and durable, or not at all. `false` when the name is
  /// taken, and then that file is left as it is.
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

  /// Gives a finished file its name, when it is durable. `false`, and the finished file is gone, when the name
  /// is taken.
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

  /// Puts these bytes in the place of a private file: whole and durable, or not at all. The temporary file is
  /// the caller's own, from an earlier attempt too.
  public func replace(_ name: String, _ bytes: [UInt8], temporaryName: String) throws(FileError) {
    try replace(name, temporaryName: temporaryName) { file throws(FileError) in
      try file.write(bytes)
      return true
    }
  }

  /// A file that is being written.
  struct Unfinished {
    fileprivate let descriptor: Int32
    fileprivate let path: String

    func write(_ bytes: [UInt8]) throws(FileError) {
      try writeAll(bytes, to: descriptor, path: path)
    }
  }

  /// The same with the bytes that the body writes, in as many parts as it likes; when it answers `false`, nothing is replaced.
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

  private func synchronize(_ name: String) throws(FileError) {
    let opened = try open(name, flags: O_RDONLY)
    defer { close(opened) }
    guard fsync(opened) == 0 else { throw .last(path: path(of: name)) }
  }

  /// Whether a file could be written now, or is missing.
  public func canWrite(_ name: String) -> Bool {
    unsafe faccessat(AT_FDCWD, path(of: name), W_OK, AT_EACCESS) == 0 || errno == ENOENT
  }

  /// Removes a file of ours, if it is there.
  public func remove(_ name: String) { _ = unsafe unlinkat(descriptor, name, 0) }
}

/// Reads to the end; throws `tooLong` rather than cut.
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

private func writeAll(_ bytes: [UInt8], to descriptor: Int32, path: String) throws(FileError) {
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
