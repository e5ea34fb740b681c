import EinlassJSON
import Foundation
import Testing

@testable import EinlassSandbox

struct CommandTests {
  @Test("Options are read with a space and with an equals sign")
  func options() throws {
    let options = try Options([
      "--port", "8080", "--control-port=8081", "--state", "a=b", "--config-file=c.json",
    ])
    #expect(options.configurationFile == "c.json")
    #expect(options.port == 8080)
    #expect(options.controlPort == 8081)
    #expect(options.stateFile == "a=b")
    #expect(options.action == .run)
    let trial = try Options(["--without-registrations", "--try", "git", "--version"])
    #expect(trial.action == .trial && trial.command == ["git", "--version"])
    #expect(!trial.hasRegistrations && options.hasRegistrations)
    #expect(try Options(["--help"]).action == .help)
    #expect(try Options(["--version"]).action == .version)
    #expect(try Options([]) == Options([]))
  }

  @Test(
    "Unknown options and invalid values are refused",
    arguments: [
      ["--port"], ["--port", "65536"], ["--port=x"], ["--ports", "1"], ["x"], [""], ["="],
    ])
  func badOptions(arguments: [String]) {
    #expect(throws: Options.Flaw.self) { try Options(arguments) }
  }

  @Test("The help names every option, every member of the state and every fault")
  func help() {
    for word in [
      "--port", "--control-port", "--state", "reverseAuth", "passwordChanged", "requiresProof",
      "rateLimits", "hugeChunked",
    ] {
      #expect(Options.help.contains(word), "\(word)")
    }
    // A schema that several providers share is printed once.
    #expect(Options.help.components(separatedBy: "refreshTokens").count == 2)
  }

  /// The sandbox program from the build folder of the tests.
  private func program(_ arguments: [String]) -> (process: Process, output: Pipe) {
    let process = Process()
    let output = Pipe()
    process.executableURL = Bundle.main.bundleURL.appending(path: "einlass-sandbox")
    process.arguments = arguments
    process.standardOutput = output
    process.standardError = output
    return (process, output)
  }

  /// Returns the first line of a program's output.
  private func line(_ output: Pipe) throws -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.last != UInt8(ascii: "\n") {
      let more = output.fileHandleForReading.availableData
      if more.isEmpty { break }
      bytes += more
    }
    return bytes
  }

  @Test("The program announces its addresses and ends at a signal", arguments: [SIGTERM, SIGINT])
  func signals(signal: Int32) async throws {
    let (process, output) = program([])
    try process.run()
    let ready = try JSONReader.read(line(output).dropLast())
    let address = try #require(ready["address"]?.string)
    #expect(address.hasPrefix("http://127.0.0.1:"))
    let port = try #require(address.split(separator: ":").last.flatMap { UInt16($0) })
    #expect(try await TestClient(port: port).send("GET", "/1.1/x")?.twitterCode == 34)
    kill(process.processIdentifier, signal)
    process.waitUntilExit()
    #expect(process.terminationReason == .exit)
    #expect(process.terminationStatus == 0)
    #expect(try output.fileHandleForReading.readToEnd() ?? Data() == Data())
  }

  @Test("A port in use, an invalid state file and a wrong option have their exit codes")
  func failures() async throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).json")
    try Data(#"{"clockOffsetSeconds": true}"#.utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    try await TestSandbox.run { sandbox async throws in
      for (arguments, status) in [
        (["--port", String(sandbox.providers.port)], 69),
        (["--control-port", String(sandbox.providers.port)], 69),
        (["--state", file.path], 78), (["--state", file.path + "x"], 78), (["--nonsense"], 64),
      ] as [([String], Int32)] {
        let (process, output) = program(arguments)
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == status)
        let text = String(decoding: try line(output), as: UTF8.self)
        #expect(text.hasPrefix("einlass-sandbox: "))
      }
    }
  }

  @Test("The program starts with the state from a file")
  func stateFile() async throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).json")
    let state: JSONValue = ["clockOffsetSeconds": 5]
    try Data(state.bytes()).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let (process, output) = program(["--state", file.path])
    try process.run()
    defer { process.terminate() }
    let ready = try JSONReader.read(line(output).dropLast())
    #expect(ready["accounts"] == [])
    let port = try #require(
      ready["control"]?.string?.split(separator: ":").last.flatMap { UInt16($0) })
    #expect(try await TestClient(port: port).send("GET", "/state")?.json == state)
  }
}
