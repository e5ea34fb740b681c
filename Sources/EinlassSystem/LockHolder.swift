internal import Glibc

extension FileLock {
  /// The id of a process that holds the lock; `nil` if this process cannot see it.
  public var holder: Int? {
    guard ThisProcess.isListed, let identity = FileStatus.of(descriptor)?.identity else {
      return nil
    }
    let locks = unsafe open("/proc/locks", O_RDONLY | O_CLOEXEC)
    guard locks >= 0 else { return nil }
    defer { close(locks) }
    guard let bytes = try? readToEnd(locks, path: "/proc/locks", limitBytes: 1 << 22) else {
      return nil
    }
    return Self.holder(of: identity, in: String(decoding: bytes, as: UTF8.self))
  }

  /// Returns the holder of a file from the text of `/proc/locks` (proc(5)). For a file system with
  /// subvolumes, that text has a device number that differs from stat(2). Then the inode alone
  /// decides, if it occurs only once.
  static func holder(of file: FileStatus.Identity, in locks: String) -> Int? {
    var others: [Int] = []
    for line in locks.split(separator: "\n") {
      // 1: FLOCK ADVISORY WRITE 4711 fd:01:1234 0 EOF; a waiter has `->` as its second word.
      let words = line.split(separator: " ")
      guard words.count > 5, words[1] == "FLOCK", let process = Int(words[4]) else { continue }
      let place = words[5].split(separator: ":")
      guard place.count == 3, UInt64(place[2]) == file.inode else { continue }
      let device = (UInt64(place[0], radix: 16), UInt64(place[1], radix: 16))
      if device == (file.majorDevice, file.minorDevice) { return process }
      others.append(process)
    }
    return others.count == 1 ? others[0] : nil
  }
}

extension FileStatus.Identity {
  // makedev(3)
  var majorDevice: UInt64 { device >> 8 & 0xFFF | device >> 32 & ~0xFFF }
  var minorDevice: UInt64 { device & 0xFF | device >> 12 & 0xFFFF_FF00 }
}
