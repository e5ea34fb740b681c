import EinlassJSON
import Foundation

/// Plays the front end of one transcript against the spawned server, with its own sandbox.
struct TranscriptRunner {
  private let transcript: Transcript
  private let sandbox: Sandbox
  private let server: SpawnedProgram
  private let ignored: Set<String>
  private var matcher = Matcher()
  /// Lines that arrived while the runner waited for an answer to its own request.
  private var early: [JSONValue] = []
  private var setups = 0
  private let feeding: Feeding

  /// The division of the client's bytes into writes, or whole messages with headers. The answers must
  /// not depend on it.
  enum Feeding: CaseIterable {
    case whole, byteByByte, inRandomPieces, withHeaders
  }

  /// Runs the transcript. Throws if the conversation deviates from it.
  static func run(_ transcript: Transcript, feeding: Feeding = .whole) throws {
    let folder = try TemporaryFolder()
    let sandbox = try Sandbox()
    defer { sandbox.terminate() }
    var runner = try TranscriptRunner(transcript, sandbox, folder, feeding)
    defer { runner.server.terminate() }
    try runner.run()
  }

  private init(
    _ transcript: Transcript, _ sandbox: Sandbox, _ folder: TemporaryFolder, _ feeding: Feeding
  ) throws {
    self.feeding = feeding
    let header = transcript.header
    for file in header["files"]?.object?.members ?? [] {
      _ = try folder.file(file.name, file.value.string ?? file.value.text)
    }
    let config = (sandbox.ready["config"] ?? [:]).merging(header["config"] ?? [:])
    let options = header["options"]?.array?.compactMap(\.string) ?? ["--store", "memory"]
    self.transcript = transcript
    self.sandbox = sandbox
    ignored = Set(header["ignore"]?.array?.compactMap(\.string) ?? [])
    matcher.capture("folder", .string(folder.path))
    for address in sandbox.ready["addresses"]?.object?.members ?? [] {
      matcher.capture("at:\(address.name)", address.value)
    }
    server = try SpawnedProgram(
      Program.einlass,
      ["--test", "--config", try folder.file("config.json", config.text)]
        + options.map { $0.replacing("$folder", with: folder.path) },
      hasHeaders: feeding == .withHeaders)
  }

  private mutating func run() throws {
    for (index, step) in transcript.steps.enumerated() {
      do { try perform(step) } catch {
        throw SpawnedProgram.Failure(
          description: "line \(index + 2), \(step.text)\n  \(error)\n\(server.logged)")
      }
    }
    if transcript.steps.last?["exit"] == nil {
      do { try end(code: 0, closing: true) } catch {
        throw SpawnedProgram.Failure(description: "at the end: \(error)\n\(server.logged)")
      }
    }
  }

  private mutating func perform(_ step: JSONValue) throws {
    guard let (kind, value) = step.object?.members.first.map({ ($0.name, $0.value) }) else {
      throw SpawnedProgram.Failure(description: "A step is an object.")
    }
    switch kind {
    case "in": try send(value)
    case "bytes": try feed(Array(Data(base64Encoded: value.string ?? "") ?? Data()))
    case "out": try expect([value])
    case "unordered": try expect(value.array ?? [])
    case "sandbox": try sandbox.patch(matcher.resolved(value))
    case "browser": try browse(matcher.resolved(value))
    case "account": try addAccount(value.string ?? "")
    case "clock": _ = try call("test.advanceClock", ["seconds": value])
    case "requests":
      let requests = JSONValue(try sandbox.newRequests())
      if let found = matcher.difference(expected: value, actual: requests) {
        throw SpawnedProgram.Failure(description: found)
      }
    case "eof": try server.closeInput()
    case "exit": try end(code: Int32(value.int64 ?? -1), closing: false)
    default: throw SpawnedProgram.Failure(description: "There is no step \(kind).")
    }
  }

  private func send(_ message: JSONValue) throws {
    let bytes =
      message.string.map { Array($0.utf8) } ?? matcher.resolved(withVersion(message)).bytes()
    try feed(
      feeding == .withHeaders
        ? Array("Content-Length: \(bytes.count)\r\n\r\n".utf8) + bytes : bytes + [0x0A])
  }

  private func feed(_ bytes: [UInt8]) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count =
        switch feeding {
        case .whole, .withHeaders: rest.count
        // A megabyte would take a million writes.
        case .byteByByte where bytes.count < 20_000: 1
        default: Int.random(in: 1...rest.count)
        }
      try server.send(Array(rest.prefix(count)))
      rest = rest.dropFirst(count)
    }
  }

  /// Expects these lines next, in any order.
  private mutating func expect(_ messages: [JSONValue]) throws {
    var remaining = messages.map(withVersion)
    while !remaining.isEmpty {
      guard let actual = try nextMessage() else {
        throw SpawnedProgram.Failure(description: "The output ended.")
      }
      var differences: [String] = []
      let index = remaining.firstIndex { expected in
        var attempt = matcher
        if let found = attempt.difference(expected: expected, actual: actual) {
          differences.append(found)
          return false
        }
        matcher = attempt
        return true
      }
      guard let index else {
        throw SpawnedProgram.Failure(
          description: "got \(actual.text)\n  \(differences.joined(separator: "\n  "))")
      }
      remaining.remove(at: index)
    }
  }

  /// Opens an address. The value can also contain the status of the last page.
  private func browse(_ value: JSONValue) throws {
    let status = try Sandbox.browse(value["url"]?.string ?? value.string ?? "")
    guard status == Int(value["status"]?.int64 ?? 200) else {
      throw SpawnedProgram.Failure(description: "The browser ends on a page of status \(status).")
    }
  }

  private mutating func addAccount(_ username: String) throws {
    let result = try call("accounts.add", try sandbox.account(username))
    matcher.capture(username, result["account"] ?? .null)
  }

  /// Calls a method on behalf of the runner and returns its result.
  private mutating func call(_ method: String, _ params: JSONValue) throws -> JSONValue {
    setups += 1
    let id = JSONValue.string("setup-\(setups)")
    try send(["id": id, "method": .string(method), "params": params])
    while let line = try server.line() {
      let message = try JSONReader.read(line)
      guard message["id"] == id else {
        early.append(message)
        continue
      }
      guard let result = message["result"] else {
        throw SpawnedProgram.Failure(description: message.text)
      }
      return result
    }
    throw SpawnedProgram.Failure(description: "The output ended.")
  }

  /// Returns the next line that the transcript does not ignore, or `nil` at the end of output.
  private mutating func nextMessage() throws -> JSONValue? {
    while true {
      let message: JSONValue
      if early.isEmpty {
        guard let line = try server.line() else { return nil }
        message = try JSONReader.read(line)
      } else {
        message = early.removeFirst()
      }
      if !ignored.contains(message["method"]?.string ?? "") { return message }
    }
  }

  private mutating func end(code: Int32, closing: Bool) throws {
    if closing { try server.closeInput() }
    if let message = try nextMessage() {
      throw SpawnedProgram.Failure(description: "not expected: \(message.text)")
    }
    let actual = try server.exitCode()
    guard actual == code else {
      throw SpawnedProgram.Failure(description: "expected exit code \(code), got \(actual)")
    }
  }

  /// Transcripts omit `"jsonrpc": "2.0"` from messages.
  private func withVersion(_ message: JSONValue) -> JSONValue {
    guard var object = message.object, object["jsonrpc"] == nil else {
      return message.array.map { .array($0.map(withVersion)) } ?? message
    }
    object["jsonrpc"] = "2.0"
    return .object(object)
  }
}
