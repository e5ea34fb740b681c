internal import CSystem
internal import Glibc

/// The protection of a process with secrets. Called before anything else, in this order: `begin`,
/// parsing of the options, `closeInherited`.
public enum Hardening {
  /// The reason why the process must not go on.
  public enum Refusal: Error, Sendable, Equatable {
    /// Started set-uid, set-gid or with file capabilities: the invoking user is not the effective
    /// user.
    case raisedPrivileges
    /// The kernel did not make the process non-dumpable; the errno.
    case stillDumpable(Int32)
    /// The kernel did not set `no_new_privs`; the errno.
    case newPrivileges(Int32)
  }

  /// Hardens the process. The first statement of `main`.
  ///
  /// New files are private. There are no core dumps, no debuggers of the same user, and no
  /// backtraces on standard error. SIGPIPE and SIGXFSZ become errors of the write. Standard input
  /// and standard error are never free for other files. Started programs gain no privileges by
  /// set-uid, set-gid or file capabilities.
  ///
  /// - Parameter opensBrowsers: leaves child processes able to gain privileges, because a browser
  ///   may depend on a set-uid sandbox.
  public static func begin(opensBrowsers: Bool = false) throws(Refusal) {
    umask(0o077)
    guard !hasRaisedPrivileges else { throw .raisedPrivileges }
    let result = csystem_set_dumpable(0)
    guard result == 0, !isDumpable else { throw .stillDumpable(result) }
    if !opensBrowsers {
      let result = csystem_forbid_new_privileges()
      guard result == 0 else { throw .newPrivileges(result) }
    }
    forbidCoreFiles()
    restoreCrashSignals()
    signal(SIGPIPE, SIG_IGN)
    signal(SIGXFSZ, SIG_IGN)
    occupyStandardStreams()
  }

  /// Whether the process was started set-uid, set-gid or with file capabilities. `begin` refuses that.
  public static var hasRaisedPrivileges: Bool { csystem_has_raised_privileges() != 0 }

  /// Whether a process of the same user can read this one's memory, or a crash can write it to
  /// disk.
  ///
  /// exec and a change of user reset the flag, so it is worth checking again at the time of use (1
  /// µs).
  public static var isDumpable: Bool { csystem_is_dumpable() != 0 }

  /// Closes all descriptors above 2 except those named on the command line, and makes the latter
  /// close-on-exec.
  ///
  /// Called before the process opens any descriptor of its own.
  public static func closeInherited(except named: [Int32] = []) {
    var next: UInt32 = 3
    for descriptor in Set(named).filter({ $0 > 2 }).sorted() {
      let kept = UInt32(descriptor)
      if next < kept { csystem_close_range(next, kept - 1) }
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      next = kept + 1
    }
    csystem_close_range(next, .max)
  }

  /// A free number would be used for the next file opened, and stray output would be written into
  /// that file. Standard output stays closed, so that writes to it fail and do not seem to succeed.
  private static func occupyStandardStreams() {
    for number in [STDIN_FILENO, STDERR_FILENO] where fcntl(number, F_GETFD) < 0 {
      try? Descriptor.redirect(number, toNullDevice: true)
    }
  }

  private static func forbidCoreFiles() {
    var limit = rlimit(rlim_cur: 0, rlim_max: 0)
    // Only a second line of defence behind the dumpable flag, so a failure is ignored.
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
  }

  /// Resets the crash signals, because the Swift runtime's backtracer prints memory to standard
  /// error.
  private static func restoreCrashSignals() {
    for crash in [SIGILL, SIGSEGV, SIGBUS, SIGABRT, SIGTRAP, SIGFPE, SIGQUIT] {
      signal(crash, SIG_DFL)
    }
  }
}
