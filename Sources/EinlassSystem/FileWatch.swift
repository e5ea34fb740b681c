internal import CSystem
internal import Glibc

/// A notification when a file is created, written to, replaced or removed: an inotify instance.
public struct FileWatch: ~Copyable, Sendable {
  private let descriptor: Descriptor
  private let path: String
  /// The number of the current watch.
  private var current: Int32

  /// Watches the file at this path, which need not exist yet. Throws if the system's limit on
  /// inotify instances or watches is reached, or the path is not accessible.
  public init(_ path: String) throws(SystemError) {
    let descriptor = try Descriptor(opened: csystem_watch_open())
    current = try Self.aim(descriptor.number, at: path)
    self.descriptor = descriptor
    self.path = path
  }

  /// The number to poll: readable after a change since the last `clear`, sometimes also without
  /// one.
  public var number: Int32 { descriptor.number }

  /// Resets the notification. Throws if the file can no longer be watched.
  public mutating func clear() throws(SystemError) {
    csystem_watch_clear(number)
    let former = current
    current = try Self.aim(number, at: path)
    if former != current { csystem_watch_end(number, former) }
  }

  private static func aim(_ number: Int32, at path: String) throws(SystemError) -> Int32 {
    let result = watch(number, path, isFile: true)
    guard result >= 0 else { throw SystemError(number: -result) }
    return result
  }

  /// Watches the file at the path or, while there is none, the nearest existing directory above it.
  private static func watch(_ number: Int32, _ path: String, isFile: Bool) -> Int32 {
    while true {
      let result =
        unsafe isFile
        ? csystem_watch_file(number, path) : csystem_watch_directory(number, path)
      guard result == -ENOENT, path != "." else { return result }
      let above = watch(number, SafeDirectory.split(path).parent, isFile: false)
      // The file may have been created before the directory was watched.
      guard above >= 0, FileStatus.following(path) != nil else { return above }
      csystem_watch_end(number, above)
    }
  }
}
