import EinlassJSON
import Foundation
import Testing

/// Every file of JSONTestSuite as the input of a client, followed by a request that must be
/// answered.
///
/// A file with line feeds is several lines, and each line is read alone. Blank lines get no answer.
@Suite struct JSONTestSuiteTests {
  struct File: Sendable {
    var name: String
    var bytes: [UInt8]

    /// Whether the file has at most one line, so that its line is as valid as the whole text.
    var isOneLine: Bool { lines.count <= 1 }

    /// The lines that are not blank. A byte order mark at the start of the stream is not part of
    /// the first.
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

  /// A line with a request. Its answer shows that the connection still works.
  private static let probe = Array(
    "\n{\"jsonrpc\":\"2.0\",\"id\":\"probe\",\"method\":\"accounts.list\"}\n".utf8)

  /// Returns the answers to a file in order, such as `-32700 invalidJSON`. A batch counts by its
  /// entries.
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

  /// Returns the answers to a file as one message with a header.
  private static func answersWithHeader(to file: File) throws -> [String] {
    let program = try SpawnedProgram(Program.einlass, ["--store", "memory"], hasHeaders: true)
    defer { program.terminate() }
    let probe = Array(#"{"jsonrpc":"2.0","id":"probe","method":"accounts.list"}"#.utf8)
    for message in [file.bytes, probe] {
      try program.send(Array("Content-Length: \(message.count)\r\n\r\n".utf8) + message)
    }
    try program.closeInput()
    var found: [String] = []
    while let message = try program.line() {
      let message = try JSONReader.read(message)
      let entries = message.array ?? [message]
      found.append(Set(entries.map(brief)).sorted().joined(separator: ", "))
    }
    #expect(try program.exitCode() == 0, "\(file.name)")
    #expect(found.last == "\"probe\" ok", "\(file.name)")
    return found.dropLast()
  }

  @Test func `With headers each file is one message with one answer`() async throws {
    let files = try File.all("test_parsing") + File.all("test_transform")
    #expect(files.count == 340)
    try await onThread {
      for file in files {
        let answers = try Self.answersWithHeader(to: file)
        let isParseError = answers.first?.hasPrefix("-32700 ") == true
        #expect(answers.count == 1, "\(file.name): \(answers)")
        if file.name.hasPrefix("n_") {
          #expect(isParseError, "\(file.name): \(answers)")
        } else if file.name.hasPrefix("y_") {
          #expect(!isParseError, "\(file.name): \(answers)")
        } else if file.isOneLine, !file.name.contains("BOM") {
          #expect(try answers == Self.answers(to: file, .whole), "\(file.name): \(answers)")
        }
      }
    }
  }

  private static func brief(_ answer: JSONValue) -> String {
    guard let error = answer["error"] else { return "\(answer["id"]?.text ?? "no id") ok" }
    return "\(error["code"]?.text ?? "no code") \(error["data"]?["reason"]?.string ?? "")"
  }

  @Test func `Each line of invalid JSON gets one parse error, and the connection goes on`()
    async throws
  {
    let files = try File.all("test_parsing").filter { $0.name.hasPrefix("n_") }
    #expect(files.count == 188)
    try await onThread {
      for file in files {
        let answers = try Self.answers(to: file)
        #expect(answers.count == file.lines.count, "\(file.name): \(answers)")
        if !["n_array_newlines_unclosed", "n_array_unclosed_with_new_lines"].contains(file.name) {
          #expect(answers.allSatisfy { $0.hasPrefix("-32700 ") }, "\(file.name): \(answers)")
        } else {
          // The middle line is valid JSON but not a request.
          #expect(
            answers == ["-32700 invalidJSON", "-32600 invalidRequest", "-32700 invalidJSON"],
            "\(file.name)")
        }
      }
    }
  }

  @Test func `Valid JSON gets no parse error, even if it is not a request`() async throws {
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

  @Test func `Where readers may decide, the result is as documented`() async throws {
    let files = try File.all("test_parsing").filter { $0.name.hasPrefix("i_") }
    #expect(files.count == 35)
    try await onThread {
      for file in files {
        let expected =
          switch file.name {
          case "i_structure_500_nested_arrays": ["-32700 tooDeep"]
          // The mark is at the start of the stream.
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

  @Test func `Values that other readers change are ordinary lines`() async throws {
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
