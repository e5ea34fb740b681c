import EinlassJSON
import EinlassRPC
import EinlassSystem
import Foundation
import Testing

/// The tables of the wire format. Each row has its own connection.
struct WireTests {
  private static let methods = [
    echo, subtract,
    Method(
      MethodDescriptor("get_data", .immediate, "", result: .any),
      .immediate { _, _, _ in ["hello", 5] }),
    Method(MethodDescriptor("ask", .interactive, ""), .urgent { _, _ in [:] }),
  ]

  @Test("Lines and bytes follow the framing rules", arguments: framingCases)
  func framing(_ row: WireCase) async throws { try await check(row) }

  @Test("Headers and bytes follow the framing rules", arguments: headerCases)
  func headers(_ row: WireCase) async throws {
    try await checkWithHeaders(
      row, row.input, probes: row.answers.last?.hasSuffix("Header") != true)
  }

  @Test("Requests follow the rules for the request object", arguments: envelopeCases)
  func envelope(_ row: WireCase) async throws { try await checkBoth(row) }

  @Test(
    "The examples of the JSON-RPC 2.0 specification get their answers, or positionalParams",
    arguments: specificationCases)
  func specification(_ row: WireCase) async throws { try await checkBoth(row) }

  @Test("An option insists on a framing")
  func insistence() async throws {
    let request = #"{"jsonrpc":"2.0","id":1,"method":"echo"}"#
    for (framing, input, expected) in [
      (Framing.lines, request + "\n", "1 ok {}"),
      (.lines, withHeader(request) + "\n", "null -32700 invalidJSON"),
      (.headers, withHeader(request), "1 ok {}"),
      (.headers, request + "\n", "null -32700 invalidHeader"),
    ] {
      var options = Peer.Options()
      options.framing = framing
      let answers = try await Session.with(Self.methods, options) { session in
        try session.send(input)
        session.closeInput()
        return try framing == .lines ? session.rest() : session.restWithHeaders()
      }
      #expect(answers.first.map(brief) == expected, "\(framing)")
    }
  }

  /// Runs a case of whole lines in both framings.
  private func checkBoth(_ row: WireCase) async throws {
    try await check(row)
    let messages = row.input.split(separator: 0x0A)
    let input = messages.flatMap { withHeader(String(decoding: $0, as: UTF8.self)).utf8 }
    try await checkWithHeaders(row, input, probes: true)
  }

  /// - Parameter probes: whether the connection still works after the input.
  private func checkWithHeaders(
    _ row: WireCase, _ input: [UInt8], probes: Bool
  ) async throws {
    let probe = withHeader(#"{"jsonrpc":"2.0","id":"probe","method":"echo"}"#)
    let input = input + Array(probe.utf8)
    for style in 0..<3 where style != 1 || input.count < 10_000 {
      let answers = try await Session.with(Self.methods) { session in
        try session.send(input, style: style)
        session.closeInput()
        let messages = try session.restWithHeaders()
        #expect(try session.exitCode() == 0)
        return messages.map(brief)
      }
      #expect(answers == row.answers + (probes ? ["\"probe\" ok {}"] : []))
    }
  }

  /// Sends the input in one piece, byte by byte (unless it is long) and in random pieces. A probe
  /// at the end shows that the connection still works, and the end of output that no further line
  /// came.
  private func check(_ row: WireCase) async throws {
    let probe = Array("\n{\"jsonrpc\":\"2.0\",\"id\":\"probe\",\"method\":\"echo\"}\n".utf8)
    let input = row.input + probe
    for style in 0..<3 where style != 1 || input.count < 10_000 {
      let answers = try await Session.with(Self.methods) { session in
        try session.send(input, style: style)
        session.closeInput()
        let lines = try session.rest()
        #expect(try session.exitCode() == 0)
        return lines.map(brief)
      }
      #expect(answers == row.answers + ["\"probe\" ok {}"])
    }
  }

  @Test(
    "Ids are echoed byte for byte",
    arguments: [
      (#""\u0041\/\ud83d\ude00""#, #""\u0041\/\ud83d\ude00""#), (#""\u0000""#, #""\u0000""#),
      ("\"\u{e4}a\u{308}\"", "\"\u{e4}a\u{308}\""), ("\"\u{2028}\\n\"", #""\u2028\n""#),
      ("\"\u{85}\"", #""\u0085""#), ("\"\u{7f}\\u007F\"", #""\u007f\u007F""#),
      ("123456789012345678901234567890", "123456789012345678901234567890"),
    ])
  func echoedIds(id: String, echoed: String) async throws {
    for text in [
      #"{"id":\#(id),"jsonrpc":"2.0","method":"echo"}"#,
      #"{"method":"echo","jsonrpc":"2.0", "id" : \#(id) }"#,
    ] {
      let lines = try await Session.with(Self.methods) { session in
        try session.send("\(text)\n[1,\(text)]\n")
        session.closeInput()
        return try session.rest()
      }
      let answer = #"{"jsonrpc":"2.0","id":\#(echoed),"result":{}}"#
      #expect(sameBytes(lines[0], answer))
      #expect(lines[1].hasSuffix(",\(answer)]"))
    }
  }

  @Test("A last line without a newline is read if it is complete")
  func partialLine() async throws {
    for (rest, expected) in [
      (#"{"jsonrpc":"2.0","id":1,"method":"echo"}"#, ["1 ok {}"]),
      (#"{"jsonrpc":"2.0","id":1"#, []),
      ("1", []), ("x", []), (#"[{"jsonrpc":"2.0","id":1,"method":"echo"}]"#, ["[1 ok {}]"]),
    ] {
      let logged = Pipe()
      var options = Peer.Options()
      options.log = Log(
        .warning, to: try Descriptor.duplicate(logged.fileHandleForWriting.fileDescriptor)
      ) { 7 }
      let answers = try await Session.with(Self.methods, options) { session in
        try session.send(rest)
        session.closeInput()
        let answers = try session.rest().map(brief)
        #expect(try session.exitCode() == 0)
        return answers
      }
      #expect(answers == expected)
      // Discarded input is logged.
      options.log.error("test", "end")
      let text = String(decoding: logged.fileHandleForReading.availableData, as: UTF8.self)
      #expect(text.contains("in the middle of a message") == expected.isEmpty, "\(text)")
    }
  }
}

/// The examples of JSON-RPC 2.0 section 7, in its order. einlass accepts named parameters only.
let specificationCases = [
  WireCase(
    "1 positional parameters",
    #"{"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1}"#,
    "1 -32602 positionalParams"),
  WireCase(
    "2 positional parameters",
    #"{"jsonrpc": "2.0", "method": "subtract", "params": [23, 42], "id": 2}"#,
    "2 -32602 positionalParams"),
  WireCase(
    "3 named parameters",
    #"{"jsonrpc": "2.0", "method": "subtract", "params": {"subtrahend": 23, "minuend": 42}, "id": 3}"#,
    "3 ok 19"),
  WireCase(
    "4 named parameters",
    #"{"jsonrpc": "2.0", "method": "subtract", "params": {"minuend": 42, "subtrahend": 23}, "id": 4}"#,
    "4 ok 19"),
  WireCase("5 a notification", #"{"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]}"#),
  WireCase("6 a notification", #"{"jsonrpc": "2.0", "method": "foobar"}"#),
  WireCase(
    "7 a method that does not exist", #"{"jsonrpc": "2.0", "method": "foobar", "id": "1"}"#,
    "\"1\" -32601 unknownMethod"),
  WireCase(
    "8 invalid JSON", #"{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]"#,
    "null -32700 invalidJSON"),
  WireCase(
    "9 an invalid request", #"{"jsonrpc": "2.0", "method": 1, "params": "bar"}"#,
    "null -32600 invalidRequest"),
  WireCase(
    "10 a batch of invalid JSON",
    #"[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},{"jsonrpc": "2.0", "method"]"#,
    "null -32700 invalidJSON"),
  WireCase("11 an empty array", "[]", "null -32600 emptyBatch"),
  WireCase("12 an invalid batch that is not empty", "[1]", "[null -32600 invalidRequest]"),
  WireCase(
    "13 an invalid batch", "[1,2,3]",
    "[null -32600 invalidRequest, null -32600 invalidRequest, null -32600 invalidRequest]"),
  WireCase(
    "14 a batch",
    #"[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},{"jsonrpc": "2.0", "method": "notify_hello", "params": [7]},{"jsonrpc": "2.0", "method": "subtract", "params": [42,23], "id": "2"},{"foo": "boo"},{"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"},{"jsonrpc": "2.0", "method": "get_data", "id": "9"}]"#,
    #"["1" -32601 unknownMethod, "2" -32602 positionalParams, null -32600 invalidRequest, "5" -32601 unknownMethod, "9" ok ["hello",5]]"#
  ),
  WireCase(
    "14 a batch, its parameters by name",
    #"[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},{"jsonrpc": "2.0", "method": "notify_hello", "params": [7]},{"jsonrpc": "2.0", "method": "subtract", "params": {"minuend":42,"subtrahend":23}, "id": "2"},{"foo": "boo"},{"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"},{"jsonrpc": "2.0", "method": "get_data", "id": "9"}]"#,
    #"["1" -32601 unknownMethod, "2" ok 19, null -32600 invalidRequest, "5" -32601 unknownMethod, "9" ok ["hello",5]]"#
  ),
  WireCase(
    "15 a batch of notifications",
    #"[{"jsonrpc": "2.0", "method": "notify_sum", "params": [1,2,4]},{"jsonrpc": "2.0", "method": "notify_hello", "params": [7]}]"#
  ),
]
