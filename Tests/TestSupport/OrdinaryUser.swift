internal import Glibc

/// Runs tests as an ordinary user, in a child process, because root is exempt from file
/// permissions.
public enum OrdinaryUser {
  /// The user `nobody` on every Debian.
  public static let id: UInt32 = 65534

  /// Gives up root permanently, so call it only in a child process. Does nothing for an ordinary
  /// user.
  public static func become() {
    guard geteuid() == 0 else { return }
    let isDone = setgroups(0, nil) == 0 && setgid(id) == 0 && setuid(id) == 0
    precondition(isDone && geteuid() == id && setuid(0) != 0, "root could not be given up")
  }

  /// Makes a new directory of this user with mode 0700 and returns its path.
  public static func makeHome() -> String {
    var template = Array("/tmp/einlass-XXXXXX\0".utf8).map(CChar.init(bitPattern:))
    precondition(unsafe mkdtemp(&template) != nil, "no directory could be made in /tmp")
    return String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
