internal import Glibc

/// Who this process is, for the record.
public enum ThisProcess {
  /// Its number.
  public static var id: Int32 { getpid() }

  /// The program of the process that started it, as the kernel sees it; empty when that is not to be seen.
  public static let parentExecutable: String = {
    var bytes = [UInt8](repeating: 0, count: 1024)
    let count = unsafe readlink("/proc/\(getppid())/exe", &bytes, bytes.count)
    return String(decoding: bytes[..<max(0, count)], as: UTF8.self)
  }()
}
