import EinlassJSON
import Foundation
import Testing

/// The files of `protocol/` agree with the program.
@Suite struct ProtocolDocumentTests {
  private static func file(_ name: String) throws -> [UInt8] {
    try Array(Data(contentsOf: projectFolder.appending(path: "protocol/\(name)")))
  }

  @Test func `The committed document, --dump-protocol and rpc.discover are the same`() throws {
    let committed = try Self.file("openrpc.json")
    #expect(try Self.output("--dump-protocol") == committed, "run einlass --dump-protocol")
    let compact = try JSONReader.read(committed).bytes()
    for options in [[], ["--test"]] {
      let front = try FrontEnd(["--store", "memory"] + options)
      defer { front.terminate() }
      #expect(try front.call("rpc.discover").bytes() == compact)
    }
  }

  @Test func `The document has the errors of errors.json`() throws {
    let document = try JSONReader.read(Self.file("openrpc.json"))
    let described = try #require(document["components"]?["errors"]?.object?.members)
    let errors = try #require(JSONReader.read(Self.file("errors.json"))["errors"]?.array)
    func facts(_ reason: String?, _ code: JSONValue?) -> String {
      "\(reason ?? "") \(code?.text ?? "")"
    }
    #expect(
      described.map { facts($0.name, $0.value["code"]) }
        == errors.map { facts($0["reason"]?.string, $0["code"]) })
    for (one, other) in zip(described, errors) where one.value["code"]?.int64 ?? 0 > 0 {
      #expect(
        one.value["message"]?.string == other["summary"]?.string?.replacing("`", with: ""),
        "\(one.name)")
    }
  }

  @Test func `The methods that initialize lists are those of the document`() throws {
    let document = try JSONReader.read(Self.file("openrpc.json"))
    let methods = try #require(document["methods"]?.array)
    func names(_ direction: String) -> [String] {
      methods.filter { $0["x-direction"]?.string == direction && $0["x-testMode"] == nil }
        .compactMap { $0["name"]?.string }
    }
    let front = try FrontEnd(["--store", "memory"])
    defer { front.terminate() }
    let capabilities = try front.call("initialize", ["client": ["name": "test"]])["capabilities"]
    #expect(capabilities?["methods"]?.array?.compactMap(\.string) == names("clientToServer"))
    #expect(capabilities?["notifications"]?.array?.compactMap(\.string) == names("serverToClient"))
  }

  @Test func `Every reason in the document is in errors.json`() throws {
    let known = try #require(JSONReader.read(Self.file("errors.json"))["errors"]?.array)
      .compactMap { $0["reason"]?.string }
    let methods = try #require(JSONReader.read(Self.file("openrpc.json"))["methods"]?.array)
    let reasons = methods.flatMap { $0["x-reasons"]?.array?.compactMap(\.string) ?? [] }
    try #require(reasons.count > 30)
    for reason in Set(reasons) { #expect(known.contains(reason), "\(reason)") }
  }

  @Test func `A next step in errors.json names only existing methods, members and commands`()
    throws
  {
    let errors = try #require(JSONReader.read(Self.file("errors.json"))["errors"]?.array)
    let methods = try #require(JSONReader.read(Self.file("openrpc.json"))["methods"]?.array)
    let named = methods.compactMap { $0["name"]?.string }
    let help = try Self.help()
    var count = 0
    for error in errors {
      let reason = error["reason"]?.string ?? ""
      let step = try #require(error["nextStep"]?.string)
      let data = error["data"]?.array?.compactMap(\.string) ?? []
      for name in step.matches(of: /`([^`]+)`/).map({ String($0.1) }) {
        #expect((named + data).contains(name), "\(reason): \(name)")
        count += 1
      }
      let own = step.replacing(/\(einlassctl [^)]*\)/, with: "")
      for option in own.matches(of: /--[a-z-]+/).map({ String($0.0) }) {
        #expect(help.contains("\(option) "), "\(reason): \(option)")
        count += 1
      }
      // `interactionRequired` is left out, because its next step depends on the prompt.
      if data.contains("hint"), reason != "interactionRequired" {
        #expect(step.contains("(einlassctl "), "\(reason)")
      }
    }
    #expect(count > 5)
  }

  private static func help() throws -> String {
    String(decoding: try output("--help"), as: UTF8.self)
  }

  /// Returns the output of einlass with this option.
  private static func output(_ option: String) throws -> [UInt8] {
    let program = try SpawnedProgram(Program.einlass, [option])
    var bytes: [UInt8] = []
    while let line = try program.line() { bytes += line + [0x0A] }
    #expect(try program.exitCode() == 0)
    return bytes
  }
}
