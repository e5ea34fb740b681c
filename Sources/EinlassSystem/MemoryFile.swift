internal import CSystem
internal import Glibc

extension Descriptor {
  /// A file that only this process has and no directory holds, with these bytes, read from its start.
  public static func memory(holding bytes: [UInt8] = []) throws(SystemError) -> Descriptor {
    let descriptor = try Descriptor(opened: csystem_memory_open())
    try descriptor.writeAll(bytes)
    lseek(descriptor.number, 0, SEEK_SET)
    return descriptor
  }

  /// Everything in a file, from its start.
  public borrowing func contents() -> [UInt8] {
    lseek(number, 0, SEEK_SET)
    return readAll(limitBytes: .max) ?? []
  }

  /// What comes until the end, however long that takes; `nil` when it is more than the limit or cannot be read.
  public borrowing func readAll(limitBytes: Int) -> [UInt8]? {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while bytes.count <= limitBytes {
      switch read(into: &buffer) {
      case .bytes(let count): bytes += buffer[..<count]
      case .end: return bytes
      case .wouldWait: wait(for: .readable)
      case .failed: return nil
      }
    }
    return nil
  }
}
