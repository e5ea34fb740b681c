import EinlassJSON
import Foundation
import Testing

/// One conversation of protocol/transcripts.
struct Transcript: Sendable, CustomTestStringConvertible {
  /// For example `auth.perform/twitter-banned`.
  let name: String
  /// The first line.
  let header: JSONObject
  /// The other lines, each an object with its kind as the first member.
  let steps: [JSONValue]

  var testDescription: String { name }

  /// Every file below protocol/transcripts, by name.
  static let all: [Transcript] = {
    do { return try load() } catch { preconditionFailure("The transcripts cannot be read.") }
  }()

  private static func load() throws -> [Transcript] {
    let folder = projectFolder.appending(path: "protocol/transcripts")
    let names = FileManager.default.enumerator(atPath: folder.path)?.allObjects as? [String] ?? []
    return try names.filter { $0.hasSuffix(".jsonl") }.sorted().map { name in
      let text = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
      let lines = try text.utf8.split(separator: 0x0A).map { try JSONReader.read(Array($0)) }
      return Transcript(
        name: String(name.dropLast(".jsonl".count)), header: lines.first?.object ?? JSONObject(),
        steps: Array(lines.dropFirst()))
    }
  }
}

/// The folder of the repository.
let projectFolder = URL(filePath: #filePath).deletingLastPathComponent()
  .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

/// The programs under test: the ones from `Tests/run`, or else the debug build.
enum Program {
  static let einlass = path("EINLASS_BINARY", "einlass")
  static let sandbox = path("EINLASS_SANDBOX", "einlass-sandbox")

  private static func path(_ variable: String, _ name: String) -> String {
    ProcessInfo.processInfo.environment[variable]
      ?? projectFolder.appending(path: ".build/debug/\(name)").path
  }
}
