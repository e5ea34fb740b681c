import EinlassSystem
import Foundation
import TestSupport
import Testing

/// Each test runs in a child process, because a process cannot undo its hardening.
struct HardeningTests {
  @Test func `A hardened process makes private files and can be neither dumped nor debugged`() async
  {
    await #expect(processExitsWith: .success) {
      // Negative control: an ordinary process can be dumped.
      umask(0o022)
      try #require(Hardening.isDumpable)
      try Hardening.begin()
      let home = OrdinaryUser.makeHome()
      defer { _ = try? FileManager.default.removeItem(atPath: home) }
      close(open(home + "/file", O_CREAT | O_WRONLY, 0o666))
      var status = stat()
      #expect(lstat(home + "/file", &status) == 0 && status.st_mode & 0o777 == 0o600)
      #expect(!Hardening.isDumpable)
      var limit = rlimit()
      getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
      #expect(limit.rlim_cur == 0 && limit.rlim_max == 0)
    }
  }

  @Test(arguments: [false, true])
  func `Started programs get no new privileges, except from a process that opens browsers`(
    _ opensBrowsers: Bool
  ) async {
    await #expect(processExitsWith: .success) { [opensBrowsers] in
      func isForbidden() throws -> Bool {
        // The flag is per thread. einlass sets it while it has only one thread.
        try String(contentsOfFile: "/proc/thread-self/status", encoding: .utf8)
          .contains("NoNewPrivs:\t1")
      }
      let isForbiddenBefore = try isForbidden()
      try #require(!isForbiddenBefore)
      try Hardening.begin(opensBrowsers: opensBrowsers)
      let isForbiddenAfter = try isForbidden()
      #expect(isForbiddenAfter == !opensBrowsers)
    }
  }

  @Test(arguments: [SIGILL, SIGSEGV, SIGBUS, SIGABRT, SIGTRAP, SIGFPE, SIGQUIT])
  func `A crash causes the default action of the signal and runs no handler of Swift`(
    _ signal: Int32
  ) async {
    await #expect(processExitsWith: .success) { [signal] in
      Foundation.signal(signal, SIG_IGN)
      try Hardening.begin()
      var action = sigaction()
      sigaction(signal, nil, &action)
      #expect(unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 0)
    }
  }

  @Test func `A closed pipe and a file size limit are errors and do not end the process`() async {
    await #expect(processExitsWith: .success) {
      try Hardening.begin()
      var ends: [Int32] = [0, 0]
      pipe(&ends)
      close(ends[0])
      #expect(write(ends[1], "x", 1) == -1 && errno == EPIPE)
      var limit = rlimit(rlim_cur: 0, rlim_max: rlim_t.max)
      setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
      let home = OrdinaryUser.makeHome()
      defer { _ = try? FileManager.default.removeItem(atPath: home) }
      let file = open(home + "/file", O_CREAT | O_WRONLY, 0o600)
      #expect(write(file, "x", 1) == -1 && errno == EFBIG)
    }
    await #expect(processExitsWith: .signal(SIGPIPE)) {
      signal(SIGPIPE, SIG_DFL)
      var ends: [Int32] = [0, 0]
      pipe(&ends)
      close(ends[0])
      _ = write(ends[1], "x", 1)
    }
  }

  @Test func `Inherited descriptors are closed except the named ones`() async {
    await #expect(processExitsWith: .success) {
      let before = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        .compactMap { Int32($0) }.filter { fcntl($0, F_GETFD) >= 0 }
      let opened = (0..<6).map { _ in open("/dev/null", O_RDONLY) }
      let named = [opened[1], opened[4]]
      let far = fcntl(opened[0], F_DUPFD, (before.max() ?? 0) + 100)
      // The descriptors of the child process stay open, because it reports the result through them.
      Hardening.closeInherited(except: before + named + [1, -3, opened[4]])
      #expect(opened.filter(isNullDevice) == named)
      #expect(named.allSatisfy { fcntl($0, F_GETFD) == FD_CLOEXEC })
      #expect((0...2).allSatisfy { fcntl($0, F_GETFD) >= 0 })
      #expect(!isNullDevice(far))
    }
  }
}

/// Whether the descriptor is open and leads to the null device. Another thread of the test library
/// may get a closed number for a file of its own.
private func isNullDevice(_ number: Int32) -> Bool {
  let link = "/proc/self/fd/\(number)"
  return (try? FileManager.default.destinationOfSymbolicLink(atPath: link)) == "/dev/null"
}
