internal import CSystem
internal import Glibc

/// Programs and their paths.
public enum Program {
  /// The words of the command line; the first one names the program. `nil` if the C library did not
  /// hand them over, or if they are not UTF-8, because two names of stores would else be the same.
  ///
  /// Swift's `CommandLine` reads procfs and is empty without it, as if there were no option.
  public static var arguments: [String]? {
    var words: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
    let count = unsafe Int(csystem_arguments(&words))
    guard count > 0, let words = unsafe words else { return nil }
    let texts = unsafe UnsafeBufferPointer(start: words, count: count).compactMap {
      unsafe $0.flatMap { unsafe String(validatingCString: $0) }
    }
    return texts.count == count ? texts : nil
  }

  /// The path of the running program; `nil` if it cannot be told.
  ///
  /// Without procfs, the path by which the program was started is resolved. So the current directory
  /// must still be the first one.
  public static var path: String? {
    if let path = resolved("/proc/self/exe") { return path }
    guard let started = unsafe csystem_started_path() else { return nil }
    return unsafe resolved(String(cString: started))
  }

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

  /// Whether the file is no script. A script that starts einlass may give it options or run it
  /// elsewhere.
  public static func isBinary(_ path: String) -> Bool {
    let number = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard number >= 0 else { return false }
    var start = [UInt8](repeating: 0, count: 4)
    guard case .bytes(4) = Descriptor(owning: number).read(into: &start) else { return false }
    return start == [0x7F] + Array("ELF".utf8)
  }

  /// Goes on as the program at this path, in this process. Returns only if that fails. The first word
  /// names the program.
  public static func become(_ path: String, _ words: [String]) {
    let words = unsafe words.map { unsafe strdup($0) } + [nil]
    _ = unsafe execv(path, words)
    _ = unsafe words.map { unsafe free($0) }
  }
}
