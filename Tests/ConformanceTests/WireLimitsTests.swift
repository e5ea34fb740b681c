import EinlassJSON
import Foundation
import Testing

/// Sizes, depths and numbers against the spawned program. Each is answered as documented for any
/// division of the bytes, the connection goes on, and memory stays bounded.
@Suite struct WireLimitsTests {
  /// Starts the program and waits for its first answer, so that its basic memory does not count as
  /// growth.
  private static func start() throws -> SpawnedProgram {
    let program = try SpawnedProgram(Program.einlass, ["--store", "memory"])
    _ = try answers(to: [0x78], of: program)
    return program
  }

  /// Sends a line and a probe. Returns the answers before the probe's answer, and the growth of the
  /// peak memory.
  private static func answers(
    to line: [UInt8], of program: SpawnedProgram, in pieces: Pieces = .whole
  ) throws -> (answers: [String], grownBytes: Int) {
    let before = try program.peakMemory()
    try program.send(
      line + Array("\n{\"jsonrpc\":\"2.0\",\"id\":\"probe\",\"method\":\"accounts.list\"}\n".utf8),
      in: pieces)
    var found: [String] = []
    while let line = try program.line() {
      let message = try JSONReader.read(line)
      if message["id"]?.string == "probe" { break }
      // An array of arrays is a batch, and each of its entries is an error.
      let reason = (message.array?.first ?? message)["error"]?["data"]?["reason"]?.string ?? "ok"
      found.append(message.array == nil ? reason : "[\(reason)]")
    }
    return (found, try program.peakMemory() - before)
  }

  @Test(arguments: [63, 64, 65, 512, 513, 100_000, 1_000_000], Pieces.allCases)
  func `Nesting up to 64 is read, and deeper nesting is refused without more memory`(
    depth: Int, pieces: Pieces
  ) async throws {
    // 10^6 levels are longer than a line. A test below covers lines that are too long.
    guard depth <= 100_000 || pieces != .single else { return }
    try await onThread {
      let program = try Self.start()
      defer { program.terminate() }
      for (open, middle, close) in [("[", "", "]"), (#"{"a":"#, "1", "}")] {
        let whole =
          String(repeating: open, count: depth) + middle + String(repeating: close, count: depth)
        let (answers, grown) = try Self.answers(to: Array(whole.utf8), of: program, in: pieces)
        let expected =
          whole.utf8.count > 1 << 20
          ? "lineTooLong"
          : depth > 64 ? "tooDeep" : open == "[" ? "[invalidRequest]" : "invalidRequest"
        #expect(answers == [expected])
        #expect(grown < 16 << 20)
      }
      try program.closeInput()
      #expect(try program.exitCode() == 0)
    }
  }

  @Test(arguments: [(1 << 20) - 1, 1 << 20, (1 << 20) + 1], Pieces.allCases)
  func `A line of 1 MiB is read, and a line of one byte more is refused`(
    count: Int, pieces: Pieces
  ) async throws {
    try await onThread {
      let program = try Self.start()
      defer { program.terminate() }
      let head = #"{"jsonrpc":"2.0","id":1,"method":"accounts.list","params":{"x":""#
      let line = head + String(repeating: "y", count: count - head.utf8.count - 3) + #""}}"#
      #expect(line.utf8.count == count)
      let (answers, grown) = try Self.answers(to: Array(line.utf8), of: program, in: pieces)
      #expect(answers == [count <= 1 << 20 ? "ok" : "lineTooLong"])
      #expect(grown < 8 << 20)
    }
  }

  /// Requests with a fault in a text of the maximum length.
  private static let longFaults: [(String, String)] = {
    let long = String(repeating: "n", count: 100_000)
    return [
      (
        #""accounts.signIn","params":{"provider":"github","customParameters":{"\#(long)":"a"}}"#,
        "invalidParams"
      ),
      (#""providers.add","params":{"descriptor":{"\#(long)":1}}"#, "invalidParams"),
      (#""providers.add","params":{"descriptor":{"id":"\#(long)/"}}"#, "invalidParams"),
      (#""\#(long)""#, "unknownMethod"),
    ]
  }()

  @Test(arguments: longFaults)
  func `An error fits into a line of 60 KiB, even if the faulty text is long`(
    call: String, reason: String
  ) async throws {
    try await onThread {
      let program = try Self.start()
      defer { program.terminate() }
      try program.send(Array("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\(call)}\n".utf8))
      let line = try #require(try program.line())
      #expect(line.count <= 60 << 10)
      let answer = try JSONReader.read(line)
      #expect(answer["id"]?.int64 == 1 && answer["error"]?["data"]?["reason"]?.string == reason)
    }
  }

  /// Not byte by byte, because that would be 2^30 writes.
  @Test(arguments: [Pieces.whole, .random])
  func `A line of 1 GiB is refused once, and takes no memory`(pieces: Pieces) async throws {
    try await onThread {
      let program = try Self.start()
      defer { program.terminate() }
      let before = try program.peakMemory()
      let piece = [UInt8](repeating: 0x78, count: 1 << 20)
      for _ in 0..<1024 { try program.send(piece, in: pieces) }
      let (answers, _) = try Self.answers(to: [], of: program)
      #expect(answers == ["lineTooLong"])
      #expect(try program.peakMemory() - before < 8 << 20)
    }
  }

  @Test(arguments: [false, true], Pieces.allCases)
  func `Ten thousand requests at once get ten thousand answers, each id once`(
    cancels: Bool, pieces: Pieces
  ) async throws {
    try await onThread {
      let program = try Self.start()
      defer { program.terminate() }
      let before = try program.peakMemory()
      let start = ContinuousClock.now
      Thread {
        var text = ""
        for number in 0..<10_000 {
          text += #"{"jsonrpc":"2.0","id":\#(number),"method":"accounts.list"}"# + "\n"
          if cancels {
            text +=
              #"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":\#(number)}}"# + "\n"
          }
        }
        try? program.send(Array(text.utf8), in: pieces)
      }.start()
      var ids: [Int64] = []
      while ids.count < 10_000, let line = try program.line() {
        let message = try JSONReader.read(line)
        #expect(message["result"] != nil || message["error"]?["code"]?.int64 == -32800)
        ids.append(message["id"]?.int64 ?? -1)
      }
      // Less than a second on an idle machine. With single bytes the writes take most of the time.
      let limit = Duration.seconds(pieces == .single ? 60 : 10)
      #expect(ContinuousClock.now - start < limit)
      #expect(try program.peakMemory() - before < 32 << 20)
      try program.closeInput()
      #expect(try program.line() == nil)
      #expect(Set(ids) == Set(0..<10_000))
      #expect(try program.exitCode() == 0)
    }
  }
}
