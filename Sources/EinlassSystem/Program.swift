internal import Glibc

/// Programs as files.
public enum Program {
  /// Where the running one lies; `nil` when the kernel does not say.
  public static var path: String? {
    guard let resolved = unsafe realpath("/proc/self/exe", nil) else { return nil }
    defer { unsafe free(resolved) }
    return unsafe String(cString: resolved)
  }

  /// The folder that relative paths start at; `nil` when it is gone.
  public static var workingDirectory: String? {
    guard let path = unsafe getcwd(nil, 0) else { return nil }
    defer { unsafe free(path) }
    return unsafe String(cString: path)
  }

  /// Whether this user may start what lies at this path.
  public static func isExecutable(_ path: String) -> Bool {
    guard FileStatus.following(path)?.kind == .regular else { return false }
    return unsafe access(path, X_OK) == 0
  }
}
