internal import CSystem
internal import Glibc

/// Tells when a file is made, written to, replaced or removed, without anybody looking: an inotify instance.
public struct FileWatch: ~Copyable, Sendable {
  private let descriptor: Descriptor
  private let path: String
  /// The watch that stands now.
  private var current: Int32

  /// Watches what stands at this path from now on, or will. Throws when the system has no more instances or
  /// watches to give, or the path cannot be reached.
  public init(_ path: String) throws(SystemError) {
    let descriptor = try Descriptor(opened: csystem_watch_open())
    current = try Self.aim(descriptor.number, at: path)
    self.descriptor = descriptor
    self.path = path
  }

  /// For polling: readable when something happened since the last `clear`. Now and then nothing has.
  public var number: Int32 { descriptor.number }

  /// Takes back what happened until now. Throws when the file cannot be watched any more.
  public mutating func clear() throws(SystemError) {
    csystem_watch_clear(number)
    let former = current
    current = try Self.aim(number, at: path)
    if former != current { csystem_watch_end(number, former) }
  }

  /// Watches the file that stands there now.
  private static func aim(_ number: Int32, at path: String) throws(SystemError) -> Int32 {
    let result = watch(number, path, isFile: true)
    guard result >= 0 else { throw SystemError(number: -result) }
    return result
  }

  /// Watches what stands at the path; while nothing does, the nearest directory above, where it may appear.
  private static func watch(_ number: Int32, _ path: String, isFile: Bool) -> Int32 {
    while true {
      let result =
        unsafe isFile
        ? csystem_watch_file(number, path) : csystem_watch_directory(number, path)
      guard result == -ENOENT, path != "." else { return result }
      let above = watch(number, SafeDirectory.split(path).parent, isFile: false)
      // It may have appeared before the directory was watched.
      guard above >= 0, FileStatus.following(path) != nil else { return above }
      csystem_watch_end(number, above)
    }
  }
}
