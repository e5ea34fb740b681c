internal import Glibc

/// This process, as recorded in the audit trail.
public enum ThisProcess {
  /// The process id.
  public static var id: Int32 { getpid() }

  /// The executable of the parent process, as reported by the kernel; empty if it is not readable.
  public static let parentExecutable: String = {
    var bytes = [UInt8](repeating: 0, count: 1024)
    let count = unsafe readlink("/proc/\(getppid())/exe", &bytes, bytes.count)
    return String(decoding: bytes[..<max(0, count)], as: UTF8.self)
  }()
}
