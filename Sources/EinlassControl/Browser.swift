internal import EinlassSystem

/// The browser of this machine's desktop, started by `xdg-open`.
enum Browser {
  /// Opens the address. Returns `false` without a desktop, in an SSH session, or if `xdg-open`
  /// fails.
  static func open(_ address: String) -> Bool {
    guard isNear, ["https://", "http://"].contains(where: address.hasPrefix) else { return false }
    // Through a shell, because `ChildProcess` connects the child's standard output to a pipe, and
    // the browser's output belongs in /dev/null.
    let script = #"exec xdg-open "$1" </dev/null >/dev/null 2>&1"#
    guard let child = try? ChildProcess("/bin/sh", ["-c", script, "sh", address]) else {
      return false
    }
    // A missing `xdg-open` or browser fails at once. A process that still runs after 300 ms counts
    // as success.
    if let code = child.exitCode(within: Deadline(milliseconds: 300)) { return code == 0 }
    child.leave()
    return true
  }

  /// Whether a browser of this machine can show a page to the person.
  static var isNear: Bool {
    let names = ["DISPLAY", "WAYLAND_DISPLAY"]
    return names.contains { Environment.value($0) != nil }
      && Environment.value("SSH_CONNECTION") == nil
  }
}
