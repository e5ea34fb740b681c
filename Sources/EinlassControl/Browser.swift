internal import EinlassSystem

/// The browser of the desktop that this program runs on.
enum Browser {
  /// Whether it was told to open this address; not without a desktop, or on another machine's terminal.
  static func open(_ address: String) -> Bool {
    guard isNear, ["https://", "http://"].contains(where: address.hasPrefix) else { return false }
    // By a shell, because only that can send what the browser says nowhere.
    let script = #"exec xdg-open "$1" </dev/null >/dev/null 2>&1"#
    guard let child = try? ChildProcess("/bin/sh", ["-c", script, "sh", address]) else {
      return false
    }
    // Where it starts at all it lasts; where there is none, that shows soon.
    if let code = child.exitCode(within: Deadline(milliseconds: 300)) { return code == 0 }
    child.leave()
    return true
  }

  private static var isNear: Bool {
    let names = ["DISPLAY", "WAYLAND_DISPLAY"]
    return names.contains { Environment.value($0) != nil }
      && Environment.value("SSH_CONNECTION") == nil
  }
}
