internal import Glibc

/// This process, as recorded in the audit trail.
public enum ThisProcess {
  /// The process id.
  public static var id: Int32 { getpid() }

  /// The executable of the parent process, as reported by the kernel; empty if it is not readable.
  public static let parentExecutable: String = {
    isListed ? target("/proc/\(getppid())/exe") : ""
  }()

  /// Whether `/proc` has this process under its id. Otherwise it is missing, or belongs to another
  /// PID namespace, where an id means another process.
  static let isListed = target("/proc/self") == "\(id)"

  /// Returns the names of the parent process, of its parent and so on, as they were started. A
  /// process may choose its own name.
  public static func ancestors(limit: Int) -> [String] {
    var names: [String] = []
    var process = getppid()
    while isListed, process > 1, names.count < limit, let (name, parent) = named(process) {
      names.append(name)
      process = parent
    }
    return names
  }

  /// Returns the name and the parent's id of a process. See proc(5).
  private static func named(_ process: Int32) -> (name: String, parent: Int32)? {
    guard let stat = file("stat", of: process),
      // The name in parentheses may itself contain parentheses and blanks.
      let start = stat.firstIndex(of: UInt8(ascii: "(")),
      let end = stat.lastIndex(of: UInt8(ascii: ")")), start < end
    else { return nil }
    let fields = String(decoding: stat[(end + 1)...], as: UTF8.self).split(separator: " ")
    guard fields.count > 1, let parent = Int32(fields[1]) else { return nil }
    // `stat` has only the first 15 bytes of the name.
    let program = file("cmdline", of: process)?.prefix { $0 != 0 }.split(
      separator: UInt8(ascii: "/"))
    let name = program?.last ?? stat[(start + 1)..<end]
    return (String(decoding: name, as: UTF8.self), parent)
  }

  /// Returns the text of a symbolic link; empty if it is not readable.
  private static func target(_ link: String) -> String {
    var bytes = [UInt8](repeating: 0, count: 1024)
    let count = unsafe readlink(link, &bytes, bytes.count)
    return String(decoding: bytes[..<max(0, count)], as: UTF8.self)
  }

  private static func file(_ name: String, of process: Int32) -> [UInt8]? {
    let number = unsafe open("/proc/\(process)/\(name)", O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { return nil }
    var bytes = [UInt8](repeating: 0, count: 4096)
    guard case .bytes(let count) = Descriptor(owning: number).read(into: &bytes) else { return nil }
    return Array(bytes[..<count])
  }
}
