import EinlassJSON
import Foundation
import Testing

/// T-50: every file of JSONTestSuite as what a client sends, and a request behind it that must be answered.
///
/// A file with line feeds in it is several lines, each of which is judged alone. Blank lines are not answered.
@Suite struct JSONTestSuiteTests {
  /// One file.
  struct File: Sendable {
    var name: String
    var bytes: [UInt8]

    /// Whether what it is as one text is what its lines are.
    var isOneLine: Bool { lines.count <= 1 }

    /// The lines that are not blank. A byte order mark at the start of the stream is not part of the first.
    var lines: [ArraySlice<UInt8>] {
      var rest = bytes[...]
      if rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
      return rest.split(separator: 0x0A).filter { line in
        !line.allSatisfy { [0x20, 0x09, 0x0D].contains($0) }
      }
    }

    static func all(_ folder: String) throws -> [File] {
      let folder = projectFolder.appending(path: "Tests/Vectors/JSONTestSuite/\(folder)")
      return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted().map {
        File(
          name: String($0.dropLast(5)),
          bytes: try Array(Data(contentsOf: folder.appending(path: $0))))
      }
    }
  }

  /// The line that shows that the stream lives.
  private static let probe = Array(
    "\n{\"jsonrpc\":\"2.0\",\"id\":\"probe\",\"method\":\"accounts.list\"}\n".utf8)

  /// What the program answers to a file, in order: `-32700 invalidJSON`; of a batch, that of its entries.
  private static func answers(to file: File) throws -> [String] {
    let answers = try answers(to: file, .whole)
    for pieces in [Pieces.single, .random] {
      #expect(try Self.answers(to: file, pieces) == answers, "\(file.name), \(pieces)")
    }
    return answers
  }

  private static func answers(to file: File, _ pieces: Pieces) throws -> [String] {
    let program = try SpawnedProgram(Program.einlass, ["--store", "memory"])
    defer { program.terminate() }
    try program.send(file.bytes + probe, in: pieces)
    try program.closeInput()
    var found: [String] = []
    while let line = try program.line() {
      let message = try JSONReader.read(line)
      let entries = message.array ?? [message]
      found.append(Set(entries.map(brief)).sorted().joined(separator: ", "))
    }
    #expect(try program.exitCode() == 0, "\(file.name)")
    #expect(found.last == "\"probe\" ok", "\(file.name)")
    return found.dropLast()
  }

  private static func brief(_ answer: JSONValue) -> String {
    guard let error = answer["error"] else { return "\(answer["id"]?.text ?? "no id") ok" }
    return "\(error["code"]?.text ?? "no code") \(error["data"]?["reason"]?.string ?? "")"
  }

  @Test func `What is no JSON gets one parse error a line, and the stream lives`() async throws {
    let files = try File.all("test_parsing").filter { $0.name.hasPrefix("n_") }
    #expect(files.count == 188)
    try await onThread {
      for file in files {
        let answers = try Self.answers(to: file)
        #expect(answers.count == file.lines.count, "\(file.name): \(answers)")
        if !["n_array_newlines_unclosed", "n_array_unclosed_with_new_lines"].contains(file.name) {
          #expect(answers.allSatisfy { $0.hasPrefix("-32700 ") }, "\(file.name): \(answers)")
        } else {
          // The line in the middle is JSON, and no request.
          #expect(
            answers == ["-32700 invalidJSON", "-32600 invalidRequest", "-32700 invalidJSON"],
            "\(file.name)")
        }
      }
    }
  }

  @Test func `What is JSON gets no parse error, though it is no request`() async throws {
    let files = try File.all("test_parsing").filter { $0.name.hasPrefix("y_") }
    #expect(files.count == 95)
    try await onThread {
      for file in files {
        let answers = try Self.answers(to: file)
        #expect(answers.count == file.lines.count, "\(file.name)")
        let expected =
          switch file.name {
          case "y_object_duplicated_key", "y_object_duplicated_key_and_value":
            "-32600 duplicateKey"
          case _ where !file.isOneLine: "-32700 invalidJSON"
          case _ where try JSONReader.read(file.bytes) == []: "-32600 emptyBatch"
          default: "-32600 invalidRequest"
          }
        #expect(answers.allSatisfy { $0 == expected }, "\(file.name): \(answers)")
      }
    }
  }

  @Test func `What readers may decide for themselves is decided as documented`() async throws {
    let files = try File.all("test_parsing").filter { $0.name.hasPrefix("i_") }
    #expect(files.count == 35)
    try await onThread {
      for file in files {
        let expected =
          switch file.name {
          case "i_structure_500_nested_arrays": ["-32700 tooDeep"]
          // The mark stands at the start of the stream.
          case "i_structure_UTF-8_BOM_empty_object": ["-32600 invalidRequest"]
          case _ where file.name.hasPrefix("i_number"): ["-32600 invalidRequest"]
          case _ where String(validating: file.bytes, as: UTF8.self) == nil:
            ["-32700 invalidUTF8"]
          default: ["-32700 invalidJSON"]
          }
        let answers = try Self.answers(to: file)
        #expect(answers == expected, "\(file.name): \(answers)")
      }
    }
  }

  @Test func `What readers are known to change is an ordinary line`() async throws {
    let files = try File.all("test_transform")
    #expect(files.count == 22)
    try await onThread {
      for file in files {
        let expected =
          switch file.name {
          case _ where file.name.hasPrefix("object_same_key"): "-32600 duplicateKey"
          case _ where file.name.contains("escaped_invalid"): "-32700 invalidJSON"
          case _ where file.name.contains("invalid"): "-32700 invalidUTF8"
          default: "-32600 invalidRequest"
          }
        let answers = try Self.answers(to: file)
        #expect(answers == [expected], "\(file.name): \(answers)")
      }
    }
  }
}
