import EinlassJSON
import Foundation

/// A child process, its lines in and out. Whoever starts it terminates it.
final class SpawnedProgram: @unchecked Sendable {
  /// What a conversation that has gone wrong ends with.
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  /// How long a line or an end is waited for until the test fails instead of hanging.
  private static let patience: TimeInterval = 30

  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  private let log = Pipe()
  // Guarded by `condition`.
  private var lines: [[UInt8]] = []
  private var isAtEnd = false
  private var logText: [UInt8] = []
  private let condition = NSCondition()

  init(_ path: String, _ arguments: [String] = [], environment: [String: String]? = nil) throws {
    process.executableURL = URL(filePath: path)
    process.arguments = arguments
    if let environment { process.environment = environment }
    process.standardInput = input
    process.standardOutput = output
    process.standardError = log
    try process.run()
    Thread { self.readOutput() }.start()
    Thread { self.readLog() }.start()
  }

  /// What the program has logged so far.
  var logged: String { condition.withLock { String(decoding: logText, as: UTF8.self) } }

  func send(_ bytes: [UInt8]) throws {
    try input.fileHandleForWriting.write(contentsOf: Data(bytes))
  }

  func closeInput() throws { try input.fileHandleForWriting.close() }

  /// The next line, without its end; `nil` at the end of output.
  func line() throws -> [UInt8]? {
    try waiting("a line") { lines.isEmpty ? (isAtEnd ? .some(nil) : nil) : lines.removeFirst() }
  }

  /// The exit code, once the output has ended.
  func exitCode() throws -> Int32 {
    try waiting("the end") { isAtEnd ? true : nil }
    process.waitUntilExit()
    return process.terminationReason == .exit
      ? process.terminationStatus : 128 + process.terminationStatus
  }

  func terminate() { process.terminate() }

  @discardableResult
  private func waiting<Value>(_ what: String, for value: () -> Value?) throws -> Value {
    let deadline = Date(timeIntervalSinceNow: Self.patience)
    return try condition.withLock {
      while true {
        if let value = value() { return value }
        if !condition.wait(until: deadline) {
          throw Failure(description: "Waited \(Self.patience) s for \(what).")
        }
      }
    }
  }

  private func readOutput() {
    var rest: [UInt8] = []
    while case let chunk = output.fileHandleForReading.availableData, !chunk.isEmpty {
      rest += chunk
      var parts = rest.split(separator: 0x0A, omittingEmptySubsequences: false).map { Array($0) }
      rest = parts.removeLast()
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

  private func readLog() {
    while case let chunk = log.fileHandleForReading.availableData, !chunk.isEmpty {
      condition.withLock { logText += chunk }
    }
  }
}
