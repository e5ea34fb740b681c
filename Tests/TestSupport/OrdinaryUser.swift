internal import Glibc

/// What proves nothing as root runs in a child process as somebody else.
public enum OrdinaryUser {
  /// Nobody, on every Debian.
  public static let id: UInt32 = 65534

  /// Gives root up for good: only in a child process. Does nothing for who is not root.
  public static func become() {
    guard geteuid() == 0 else { return }
    let isDone = setgroups(0, nil) == 0 && setgid(id) == 0 && setuid(id) == 0
    precondition(isDone && geteuid() == id && setuid(0) != 0, "root could not be given up")
  }

  /// A new directory of this user's own, 0700.
  public static func makeHome() -> String {
    var template = Array("/tmp/einlass-XXXXXX\0".utf8).map(CChar.init(bitPattern:))
    precondition(unsafe mkdtemp(&template) != nil, "no directory could be made in /tmp")
    return String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
