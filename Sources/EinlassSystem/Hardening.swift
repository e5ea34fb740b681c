internal import CSystem
internal import Glibc

/// What a process that holds secrets does before anything else, in this order: `begin`, options, `closeInherited`.
///
/// Controls C-01 to C-05 and C-07 of the security study; why each is needed stands there.
public enum Hardening {
  /// Why the process must not go on.
  public enum Refusal: Error, Sendable, Equatable {
    /// Started set-uid, set-gid or with file capabilities: whoever started it is not who it acts as.
    case raisedPrivileges
    /// The kernel would not make the process non-dumpable, with its errno.
    case stillDumpable(Int32)
    /// The kernel would not keep new privileges from the process and its children, with its errno.
    case newPrivileges(Int32)
  }

  /// The first statement of `main`: private files, no core dump, no debugger, no backtrace on stderr, a lost reader or
  /// a full file as an error instead of a death, and the numbers of standard input and error not free for others. No
  /// program that is started gets privileges of its own by set-uid, set-gid or file capabilities.
  ///
  /// - Parameter opensBrowsers: leaves that to the programs that are started, because a browser may hang on a sandbox
  ///   that is set-uid.
  public static func begin(opensBrowsers: Bool = false) throws(Refusal) {
    umask(0o077)
    guard csystem_has_raised_privileges() == 0 else { throw .raisedPrivileges }
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

  /// Whether another process of this user could read this one's memory, or a crash could write it down.
  ///
  /// exec and a change of user reset it, so that a check at the time of use is worth its microsecond.
  public static var isDumpable: Bool { csystem_is_dumpable() != 0 }

  /// Closes every descriptor above 2 that the spawner left open, except those it named on the command line;
  /// those are not passed on to children either.
  ///
  /// Call before anything of ours opens one.
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

  /// A number that is free would be the next descriptor's, and a stray line would land in it. Standard output stays
  /// closed: nothing that it was to get may seem to have gone there.
  private static func occupyStandardStreams() {
    for number in [STDIN_FILENO, STDERR_FILENO] where fcntl(number, F_GETFD) < 0 {
      try? Descriptor.redirect(number, toNullDevice: true)
    }
  }

  private static func forbidCoreFiles() {
    var limit = rlimit(rlim_cur: 0, rlim_max: 0)
    // Only a second fence behind the dumpable flag: nothing to do if it does not hold.
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
  }

  /// Takes the crash signals away from the Swift runtime, whose backtracer prints memory to stderr.
  private static func restoreCrashSignals() {
    for crash in [SIGILL, SIGSEGV, SIGBUS, SIGABRT, SIGTRAP, SIGFPE, SIGQUIT] {
      signal(crash, SIG_DFL)
    }
  }
}
