internal import CSystem
internal import Glibc

extension Descriptor {
  /// A file that only this process has and no directory holds, with these bytes, read from its start.
  public static func memory(holding bytes: [UInt8] = []) throws(SystemError) -> Descriptor {
    let descriptor = try Descriptor(opened: csystem_memory_open())
    var start = 0
    while start < bytes.count {
      switch descriptor.write(bytes, start..<bytes.count) {
      case .bytes(let count): start += count
      case .failed(let error): throw error
      case .end, .wouldWait: throw SystemError(number: EIO)
      }
    }
    lseek(descriptor.number, 0, SEEK_SET)
    return descriptor
  }

  /// Everything in a file, from its start.
  public borrowing func contents() -> [UInt8] {
    lseek(number, 0, SEEK_SET)
    return readAll(limitBytes: .max) ?? []
  }

  /// What comes until the end; `nil` when it is more than the limit or cannot be read.
  public borrowing func readAll(limitBytes: Int) -> [UInt8]? {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while bytes.count <= limitBytes {
      switch read(into: &buffer) {
      case .bytes(let count): bytes += buffer[..<count]
      case .end: return bytes
      case .wouldWait, .failed: return nil
      }
    }
    return nil
  }
}
