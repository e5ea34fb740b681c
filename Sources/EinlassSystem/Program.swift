internal import Glibc

/// Programs and their paths.
public enum Program {
  /// The path of the running program; `nil` if the kernel does not report it.
  public static var path: String? { resolved("/proc/self/exe") }

  /// Returns the absolute path of an existing file or folder without symbolic links; `nil` if there
  /// is none.
  public static func resolved(_ path: String) -> String? {
    guard let resolved = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(resolved) }
    return unsafe String(cString: resolved)
  }

  /// The current directory; `nil` if it was removed.
  public static var workingDirectory: String? {
    guard let path = unsafe getcwd(nil, 0) else { return nil }
    defer { unsafe free(path) }
    return unsafe String(cString: path)
  }

  /// Returns whether this user can execute the file at this path.
  public static func isExecutable(_ path: String) -> Bool {
    guard FileStatus.following(path)?.kind == .regular else { return false }
    return unsafe access(path, X_OK) == 0
  }
}
