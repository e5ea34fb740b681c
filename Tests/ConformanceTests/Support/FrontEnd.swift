import EinlassJSON
import Foundation

/// A front end for tests: spawns einlass, calls methods and reads messages.
final class FrontEnd: @unchecked Sendable {
  private let program: SpawnedProgram
  private var nextID = 0
  /// Messages that a call skipped while it waited for its answer.
  private var passed: [JSONValue] = []

  /// - Parameter reading: whether the output of the program is read.
  init(_ arguments: [String], environment: [String: String]? = nil, reading: Bool = true) throws {
    program = try SpawnedProgram(
      Program.einlass, arguments, environment: environment, reading: reading)
  }

  init(spawning path: String, _ arguments: [String]) throws {
    program = try SpawnedProgram(path, arguments)
  }

  /// Starts einlass with descriptor 3 redirected as in a shell.
  init(
    _ arguments: [String], environment: [String: String]? = nil, redirecting redirection: String
  ) throws {
    program = try SpawnedProgram(
      "/bin/sh", ["-c", "exec \"$0\" \"$@\" \(redirection)", Program.einlass] + arguments,
      environment: environment)
  }

  var logged: String { program.logged }
  var process: pid_t { program.process }

  func closeInput() throws { try program.closeInput() }
  func exitCode(within seconds: TimeInterval = SpawnedProgram.patience) throws -> Int32 {
    try program.exitCode(within: seconds)
  }
  /// Returns the peak memory in bytes.
  func peakMemory() throws -> Int { try program.peakMemory() }
  /// Returns the number of bytes read from files and pipes, or `nil` if only root may see it.
  func readBytes() -> Int? { program.readBytes() }
  /// Returns the number of voluntary context switches of each thread.
  func waits() throws -> [String: String] { try program.waits() }
  func signal(_ number: Int32) { program.signal(number) }
  func terminate() { program.terminate() }

  /// Sends a request without waiting for its answer.
  func send(id: String, _ method: String, _ params: JSONValue) throws {
    try write(["jsonrpc": "2.0", "id": .string(id), "method": .string(method), "params": params])
  }

  func notify(_ method: String, _ params: JSONValue) throws {
    try write(["jsonrpc": "2.0", "method": .string(method), "params": params])
  }

  /// Calls a method and returns its result. Throws `Refused` for an error.
  @discardableResult
  func call(_ method: String, _ params: JSONValue = [:]) throws -> JSONValue {
    let answer = try answer(method, params)
    guard let result = answer["result"] else { throw Refused(answer: answer) }
    return result
  }

  /// Calls a method and returns the whole answer, also an error.
  func answer(_ method: String, _ params: JSONValue = [:]) throws -> JSONValue {
    nextID += 1
    let id = "call-\(nextID)"
    try send(id: id, method, params)
    while true {
      let message = try read()
      if message["id"]?.string == id { return message }
      passed.append(message)
    }
  }

  /// Returns the next message that no call has consumed.
  func next(within seconds: TimeInterval = SpawnedProgram.patience) throws -> JSONValue {
    passed.isEmpty ? try read(within: seconds) : passed.removeFirst()
  }

  /// Returns the next notification of this name and discards the messages before it.
  func next(_ method: String) throws -> JSONValue {
    while true {
      let message = try next()
      if message["method"]?.string == method { return message["params"] ?? [:] }
    }
  }

  /// An error answer in place of a result.
  struct Refused: Error, CustomStringConvertible {
    var answer: JSONValue
    var description: String { answer.text }
  }

  private func write(_ message: JSONValue) throws { try program.send(message.bytes() + [0x0A]) }

  private func read(within seconds: TimeInterval = SpawnedProgram.patience) throws -> JSONValue {
    guard let line = try program.line(within: seconds) else {
      throw SpawnedProgram.Failure(description: "The output ended. Logged: \(program.logged)")
    }
    return try JSONReader.read(line)
  }
}

/// A private temporary folder, removed when the value is released.
final class TemporaryFolder {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.appending(path: "einlass-\(UUID().uuidString)")
      .path()
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// Writes a file with mode 0600 and returns its path.
  func file(_ name: String, _ text: String) throws -> String {
    let file = "\(path)/\(name)"
    _ = FileManager.default.createFile(
      atPath: file, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
    return file
  }
}
