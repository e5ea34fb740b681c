import EinlassJSON
import Foundation
import Testing

/// The files of `protocol/` agree with the program.
@Suite struct ProtocolDocumentTests {
  private static func file(_ name: String) throws -> [UInt8] {
    try Array(Data(contentsOf: projectFolder.appending(path: "protocol/\(name)")))
  }

  @Test func `The document is that of --dump-protocol and rpc.discover, with examples`() throws {
    let compact = try Self.withoutExamples(JSONReader.read(Self.file("openrpc.json"))).bytes()
    let printed = try JSONReader.read(Self.output("--dump-protocol"))
    #expect(printed.bytes() == compact, "run protocol/generate .build/debug/einlass")
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
    for (one, other) in zip(described, errors) {
      let data = one.value["data"]
      #expect(
        data?["next"] == other["next"] && data?["final"] == other["final"], "\(one.name)")
      #expect((other["next"]?.array?.isEmpty == false) != (other["final"]?.bool == true))
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

  @Test func `A next step in errors.json names only existing methods and options`() throws {
    let errors = try #require(JSONReader.read(Self.file("errors.json"))["errors"]?.array)
    let methods = try #require(JSONReader.read(Self.file("openrpc.json"))["methods"]?.array)
    let named = methods.compactMap { $0["name"]?.string }
    let help = String(decoding: try Self.output("--help"), as: UTF8.self)
    var count = 0
    for step in errors.flatMap({ $0["next"]?.array ?? [] }) {
      if let method = step["method"]?.string { #expect(named.contains(method), "\(method)") }
      for option in (step["label"]?.string ?? "").matches(of: /--[a-z-]+/) {
        #expect(help.contains("\(option.0) "), "\(option.0)")
        count += 1
      }
    }
    #expect(count > 0)
  }

  /// Returns the document without the examples, which `protocol/generate` takes from the transcripts.
  private static func withoutExamples(_ document: JSONValue) throws -> JSONValue {
    var object = try #require(document.object)
    let methods = try #require(object["methods"]?.array).map { method in
      var method = try #require(method.object)
      method["examples"] = nil
      return JSONValue.object(method)
    }
    object["methods"] = .array(methods)
    return .object(object)
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
