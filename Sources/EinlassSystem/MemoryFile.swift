internal import CSystem
internal import Glibc

extension Descriptor {
  /// Creates an anonymous file in memory with these bytes, positioned at its start.
  public static func memory(holding bytes: [UInt8] = []) throws(SystemError) -> Descriptor {
    let descriptor = try Descriptor(opened: csystem_memory_open())
    try descriptor.writeAll(bytes)
    lseek(descriptor.number, 0, SEEK_SET)
    return descriptor
  }

  /// Returns the whole content of a file.
  public borrowing func contents() -> [UInt8] {
    lseek(number, 0, SEEK_SET)
    return readAll(limitBytes: .max) ?? []
  }

  /// Reads to the end, however long that takes. Returns `nil` on a read error or beyond the limit.
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
