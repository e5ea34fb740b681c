import EinlassJSON
import Foundation
import Glibc
import Testing

/// Checks the durations of a test's rounds. The limit holds for the best one. The median and the
/// worst may be longer, because the machine is busy with other tests.
func expectAll(
  _ rounds: [Duration], within limit: Duration,
  sourceLocation: SourceLocation = #_sourceLocation
) throws {
  let sorted = rounds.sorted()
  let (best, worst) = try (#require(sorted.first), #require(sorted.last))
  #expect(best < limit, sourceLocation: sourceLocation)
  #expect(sorted[sorted.count / 2] < limit * 2, sourceLocation: sourceLocation)
  #expect(worst < limit + .seconds(10), sourceLocation: sourceLocation)
}

/// A child process with its lines, or messages with headers, of input and output. The test that starts it must terminate it.
final class SpawnedProgram: @unchecked Sendable {
  /// An unexpected event of a conversation.
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  /// The default limit in seconds for a line or an end, so that a test fails instead of hanging.
  static let patience: TimeInterval = 60

  let process: pid_t
  private let input: FileHandle
  private let output: FileHandle
  private let log: FileHandle
  // Guarded by `condition`.
  private var lines: [[UInt8]] = []
  private var isAtEnd = false
  private var status: Int32?
  private var logText: [UInt8] = []
  private var isLogAtEnd = false
  private let condition = NSCondition()
  private let hasHeaders: Bool

  /// - Parameters:
  ///   - reading: Whether the output of the program is read.
  ///   - hasHeaders: Whether the messages of its output have headers.
  init(
    _ path: String, _ arguments: [String] = [], environment: [String: String]? = nil,
    reading: Bool = true, hasHeaders: Bool = false
  ) throws {
    self.hasHeaders = hasHeaders
    // A write to a program that has ended is then an error and does not end the tests.
    Glibc.signal(SIGPIPE, SIG_IGN)
    let pipes = [Pipe(), Pipe(), Pipe()]
    // Otherwise other children of this process would hold these pipes open.
    for handle in pipes.flatMap({ [$0.fileHandleForReading, $0.fileHandleForWriting] }) {
      _ = fcntl(handle.fileDescriptor, F_SETFD, FD_CLOEXEC)
    }
    input = pipes[0].fileHandleForWriting
    output = pipes[1].fileHandleForReading
    log = pipes[2].fileHandleForReading
    process = try Self.spawn(
      path, arguments, environment ?? ProcessInfo.processInfo.environment,
      [
        pipes[0].fileHandleForReading, pipes[1].fileHandleForWriting,
        pipes[2].fileHandleForWriting,
      ])
    isAtEnd = !reading
    if reading { Thread { self.readOutput() }.start() }
    Thread { self.readLog() }.start()
    Thread { self.reap() }.start()
  }

  /// Uses `posix_spawn`, because Foundation's `Process` sometimes misses the end of a child.
  private static func spawn(
    _ path: String, _ arguments: [String], _ environment: [String: String],
    _ standard: [FileHandle]
  ) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for (number, handle) in standard.enumerated() {
      posix_spawn_file_actions_adddup2(&actions, handle.fileDescriptor, Int32(number))
    }
    // Threads of the tests block signals, and a child would inherit the mask.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    var all = sigset_t()
    sigemptyset(&none)
    sigfillset(&all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    var argv = ([path] + arguments).map { strdup($0) } + [nil]
    var envp = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for text in argv + envp { free(text) } }
    var process: pid_t = 0
    let result = posix_spawnp(&process, path, &actions, &attributes, &argv, &envp)
    guard result == 0 else { throw Failure(description: "\(path) does not start: \(result)") }
    for handle in standard { try handle.close() }
    return process
  }

  var logged: String { condition.withLock { String(decoding: logText, as: UTF8.self) } }

  func send(_ bytes: [UInt8]) throws {
    try input.write(contentsOf: Data(bytes))
  }

  func closeInput() throws { try input.close() }

  /// Closes the reading end of the output. Only for a program started with `reading: false`.
  func closeOutput() throws { try output.close() }

  /// Returns the peak memory in bytes without the mapped files, because the page cache decides how
  /// much of these is resident.
  func peakMemory() throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
    guard let peak = status.firstMatch(of: /VmHWM:\s+(\d+) kB/).flatMap({ Int($0.1) }),
      let files = status.firstMatch(of: /RssFile:\s+(\d+) kB/).flatMap({ Int($0.1) })
    else { throw Failure(description: "The kernel does not tell its memory.") }
    return (peak - files) << 10
  }

  /// Returns the number of bytes read from files and pipes, or `nil` if only root may see it.
  func readBytes() -> Int? {
    let counts = try? String(contentsOfFile: "/proc/\(process)/io", encoding: .utf8)
    return (counts?.firstMatch(of: /rchar: (\d+)/)).flatMap { Int($0.1) }
  }

  /// Returns the number of voluntary context switches of each thread.
  func waits() throws -> [String: String] {
    let folder = "/proc/\(process)/task"
    let threads = try FileManager.default.contentsOfDirectory(atPath: folder)
    return threads.reduce(into: [:]) { waits, thread in
      let status = try? String(contentsOfFile: "\(folder)/\(thread)/status", encoding: .utf8)
      let found = status?.firstMatch(of: /\nvoluntary_ctxt_switches:\s+(\d+)/)
      waits[thread] = found.map { String($0.1) }
    }
  }

  /// Returns the next line without its newline, or `nil` at the end of output.
  func line(within seconds: TimeInterval = patience) throws -> [UInt8]? {
    try waiting("a line", seconds) {
      lines.isEmpty ? (isAtEnd ? .some(nil) : nil) : lines.removeFirst()
    }
  }

  /// Returns the exit code, after process, output and log have ended; 128 and the signal's number
  /// for a crash.
  func exitCode(within seconds: TimeInterval = patience) throws -> Int32 {
    let status: Int32 = try waiting("the end", seconds) {
      isAtEnd && isLogAtEnd ? self.status : nil
    }
    return status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
  }

  func signal(_ number: Int32) {
    condition.withLock { if status == nil { kill(process, number) } }
  }

  /// Kills the process and waits for its end, so that it writes no file while the test cleans up.
  func terminate() {
    signal(SIGKILL)
    _ = try? waiting("the end", Self.patience) { status }
  }

  @discardableResult
  private func waiting<Value>(
    _ what: String, _ seconds: TimeInterval, for value: () -> Value?
  ) throws -> Value {
    let deadline = Date(timeIntervalSinceNow: seconds)
    return try condition.withLock {
      while true {
        if let value = value() { return value }
        if !condition.wait(until: deadline) {
          throw Failure(description: "Waited \(seconds) s for \(what).")
        }
      }
    }
  }

  private func reap() {
    var ended: Int32 = 0
    // The process is not reaped yet, so that its number cannot be reused before `status` is set.
    var information = siginfo_t()
    while waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
    condition.withLock {
      while waitpid(process, &ended, 0) < 0, errno == EINTR {}
      status = ended
      condition.broadcast()
    }
  }

  private func readOutput() {
    var rest: [UInt8] = []
    while case let chunk = output.availableData, !chunk.isEmpty {
      rest += chunk
      var parts: [[UInt8]] = []
      if hasHeaders {
        while let message = Self.takeMessage(&rest) { parts.append(message) }
      } else {
        parts = rest.split(separator: 0x0A, omittingEmptySubsequences: false).map { Array($0) }
        rest = parts.removeLast()
      }
      condition.withLock {
        lines += parts
        condition.broadcast()
      }
    }
    condition.withLock {
      if !rest.isEmpty { lines.append(rest) }
      isAtEnd = true
      condition.broadcast()
    }
  }

  /// Removes the first whole message after its header.
  private static func takeMessage(_ bytes: inout [UInt8]) -> [UInt8]? {
    let header = String(decoding: bytes.prefix(40), as: UTF8.self)
    guard let found = header.prefixMatch(of: /Content-Length: (\d+)\r\n\r\n/),
      let count = Int(found.1), bytes.count >= found.0.utf8.count + count
    else { return nil }
    let message = Array(bytes.dropFirst(found.0.utf8.count).prefix(count))
    bytes.removeFirst(found.0.utf8.count + count)
    return message
  }

  private func readLog() {
    while case let chunk = log.availableData, !chunk.isEmpty {
      condition.withLock { logText += chunk }
    }
    condition.withLock {
      isLogAtEnd = true
      condition.broadcast()
    }
  }
}
