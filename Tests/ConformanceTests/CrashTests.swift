import EinlassJSON
import Foundation
import Glibc
import Testing

/// The output of a crash in the log of the front end, with secrets in memory.
@Suite struct CrashTests {
  private static let crashes = [SIGSEGV, SIGABRT, SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGQUIT]

  @Test(arguments: crashes)
  func `A crash prints no backtrace and no secret`(signal: Int32) throws {
    let front = try FrontEnd(
      ["--store", "memory"], environment: ["SWIFT_BACKTRACE": "enable=yes"])
    defer { front.terminate() }
    try front.call(
      "accounts.add",
      [
        "provider": "twitter", "username": "ada",
        "credential": [
          "type": "oauth1", "key": "canary-key", "secret": "canary-secret", "clientId": "system",
          "clientSecret": "canary-client-secret",
        ],
      ])
    front.signal(signal)
    #expect(try front.exitCode() == 128 + signal)
    // A statically linked runtime prints this line before `main` if a backtrace is requested.
    let lines = front.logged.split(separator: "\n")
      .filter { !$0.hasPrefix("swift runtime: unable to locate swift-backtrace") }
    #expect(lines.isEmpty)
  }

  /// Negative control: a program without the precautions.
  @Test func `Without the precautions a crash prints a backtrace`() throws {
    let folder = try TemporaryFolder()
    let source = try folder.file("main.swift", "import Glibc\nraise(SIGSEGV)\n")
    let compiler = try SpawnedProgram("swiftc", [source, "-o", "\(folder.path)/crash"])
    try #require(try compiler.exitCode(within: 120) == 0)
    let program = try SpawnedProgram(
      "\(folder.path)/crash",
      environment: ProcessInfo.processInfo.environment.merging(
        ["SWIFT_BACKTRACE": "enable=yes,color=no"], uniquingKeysWith: { $1 }))
    _ = try program.exitCode()
    #expect(program.logged.contains("Program crashed"))
  }
}
