import EinlassJSON
import Foundation
import Glibc
import Testing

/// Clients that go away in every way but the proper one. T-55 to T-57.
@Suite struct LostClientTests {
  /// Initializes and asks for a sign-in that stops at a question, as one piece of input.
  private static func question(processId: pid_t? = nil) -> [UInt8] {
    let process = processId.map { #","processId":\#($0)"# } ?? ""
    return Array(
      """
      {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"client":{"name":"test"},\
      "capabilities":{"prompts":["grantAccess"]},"applications":{"facebook":{"clientId":"1"}}\(process)}}
      {"jsonrpc":"2.0","id":2,"method":"accounts.add","params":{"provider":"facebook","username":"ada",\
      "credential":{"type":"oauth2","token":"t","clientId":"2"}}}
      {"jsonrpc":"2.0","id":3,"method":"auth.perform","params":{"provider":"facebook"}}

      """.utf8)
  }

  @Test func `A client that dies in the middle of a question ends the process`() async throws {
    try await onThread {
      for _ in 0..<10 {
        let program = try SpawnedProgram(
          Program.einlass, ["--store", "memory"], reading: false)
        defer { program.terminate() }
        try program.send(Self.question())
        // Both ends at once, as the kernel closes them for a dead process.
        try program.closeOutput()
        try program.closeInput()
        #expect([0, 1].contains(try program.exitCode()))
      }
    }
  }

  @Test func `A client that closes its end of the output ends the process with 1, not by a signal`()
    async throws
  {
    try await onThread {
      for _ in 0..<10 {
        let program = try SpawnedProgram(
          Program.einlass, ["--store", "memory"], reading: false)
        defer { program.terminate() }
        try program.closeOutput()
        try program.send(Self.question())
        #expect(try program.exitCode() == 1)
      }
    }
  }

  /// A sibling that inherited the pipe keeps it open, so that no end of input comes.
  @Test(arguments: [true, false])
  func `An orphan whose input a sibling holds ends with the process that it was told of`(
    told: Bool
  ) async throws {
    try await onThread {
      let parent = try SpawnedProgram("sleep", ["60"])
      let program = try SpawnedProgram(Program.einlass, ["--store", "memory"])
      defer {
        parent.terminate()
        program.terminate()
      }
      try program.send(Self.question(processId: told ? parent.process : nil))
      while let line = try program.line(), try JSONReader.read(line)["method"] != "prompt.opened" {}
      parent.terminate()
      // This test holds the pipe, as the sibling would.
      if told {
        #expect(try program.exitCode() == 0)
      } else {
        // The negative control: nobody has told it.
        #expect(throws: SpawnedProgram.Failure.self) { try program.exitCode(within: 1) }
      }
    }
  }
}
