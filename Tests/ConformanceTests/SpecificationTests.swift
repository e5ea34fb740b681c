import EinlassJSON
import Foundation
import Testing

/// The fifteen examples of JSON-RPC 2.0 section 7, against the program. It has none of their
/// methods, so an unknown method replaces each result. `EinlassRPCTests` has the examples with
/// their methods.
@Suite struct SpecificationTests {
  private static let examples: [(input: String, answers: [String])] = [
    (#"{"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1}"#, ["1 -32601"]),
    (#"{"jsonrpc": "2.0", "method": "subtract", "params": [23, 42], "id": 2}"#, ["2 -32601"]),
    (
      #"{"jsonrpc": "2.0", "method": "subtract", "params": {"subtrahend": 23, "minuend": 42}, "id": 3}"#,
      ["3 -32601"]
    ),
    (
      #"{"jsonrpc": "2.0", "method": "subtract", "params": {"minuend": 42, "subtrahend": 23}, "id": 4}"#,
      ["4 -32601"]
    ),
    (#"{"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]}"#, []),
    (#"{"jsonrpc": "2.0", "method": "foobar"}"#, []),
    (#"{"jsonrpc": "2.0", "method": "foobar", "id": "1"}"#, [#""1" -32601"#]),
    (#"{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]"#, ["null -32700"]),
    (#"{"jsonrpc": "2.0", "method": 1, "params": "bar"}"#, ["null -32600"]),
    (
      #"[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},{"jsonrpc": "2.0", "method"]"#,
      ["null -32700"]
    ),
    ("[]", ["null -32600"]),
    ("[1]", ["[null -32600]"]),
    ("[1,2,3]", ["[null -32600, null -32600, null -32600]"]),
    (
      #"[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},{"jsonrpc": "2.0", "method": "notify_hello", "params": [7]},{"jsonrpc": "2.0", "method": "subtract", "params": [42,23], "id": "2"},{"foo": "boo"},{"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"},{"jsonrpc": "2.0", "method": "get_data", "id": "9"}]"#,
      [#"["1" -32601, "2" -32601, null -32600, "5" -32601, "9" -32601]"#]
    ),
    (
      #"[{"jsonrpc": "2.0", "method": "notify_sum", "params": [1,2,4]},{"jsonrpc": "2.0", "method": "notify_hello", "params": [7]}]"#,
      []
    ),
  ]

  @Test(arguments: Pieces.allCases)
  func `The examples of the specification have the same answers for any division of the bytes`(
    pieces: Pieces
  ) async throws {
    try await onThread {
      let program = try SpawnedProgram(Program.einlass, ["--store", "memory"])
      defer { program.terminate() }
      let input = Self.examples.map { $0.input + "\n" }.joined()
      try program.send(Array(input.utf8), in: pieces)
      try program.closeInput()
      var answers: [String] = []
      while let line = try program.line() { answers.append(Self.brief(try JSONReader.read(line))) }
      #expect(answers == Self.examples.flatMap(\.answers))
      #expect(try program.exitCode() == 0)
    }
  }

  private static func brief(_ answer: JSONValue) -> String {
    if let entries = answer.array { return "[\(entries.map(brief).joined(separator: ", "))]" }
    return "\(answer["id"]?.text ?? "no id") \(answer["error"]?["code"]?.text ?? "ok")"
  }
}

/// The division of an input into writes.
enum Pieces: CaseIterable, Sendable {
  case whole, single, random
}

extension SpawnedProgram {
  func send(_ bytes: [UInt8], in pieces: Pieces) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count =
        switch pieces {
        case .whole: rest.count
        case .single: 1
        case .random: Int.random(in: 1...max(1, bytes.count / 4))
        }
      try send(Array(rest.prefix(count)))
      rest = rest.dropFirst(count)
    }
  }
}
