import EinlassJSON
import Foundation
import Glibc
import Testing

/// Clients that go away in every way but the proper one. T-55 to T-57.
@Suite struct LostClientTests {
  /// The questions at which a sign-in stops, by what was done before.
  enum Question: String, CaseIterable {
    case grantAccess, confirmAccount, selectAccount

    var provider: String { self == .selectAccount ? "twitter" : "facebook" }
    var credential: String {
      self == .selectAccount
        ? #"{"type":"oauth1","key":"k","secret":"s","clientId":"2","clientSecret":"c"}"#
        : #"{"type":"oauth2","token":"t","clientId":"2"}"#
    }
  }

  /// Initializes and asks for a sign-in that stops at a question, as one piece of input.
  private static func input(_ question: Question = .grantAccess, processId: pid_t? = nil) -> [UInt8]
  {
    let process = processId.map { #","processId":\#($0)"# } ?? ""
    let grant =
      #"{"jsonrpc":"2.0","method":"access.set","params":{"provider":"\#(question.provider)","state":"granted"}}"#
    return Array(
      """
      {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"client":{"name":"test"},\
      "capabilities":{"prompts":["grantAccess","confirmAccount","selectAccount"]},\
      "applications":{"facebook":{"clientId":"1"},"twitter":{"clientId":"1","clientSecret":"2"}}\(process)}}
      {"jsonrpc":"2.0","id":2,"method":"accounts.add","params":{"provider":"\(question.provider)",\
      "username":"ada","credential":\(question.credential)}}
      \(question == .grantAccess ? "" : grant)
      {"jsonrpc":"2.0","id":3,"method":"auth.perform","params":{"provider":"\(question.provider)"}}

      """.utf8)
  }

  @Test(arguments: Question.allCases)
  func `A client that dies in the middle of a question ends the process`(
    question: Question
  ) async throws {
    try await onThread {
      // The question is really asked.
      let asked = try SpawnedProgram(Program.einlass, ["--store", "memory"])
      try asked.send(Self.input(question))
      var kind: String?
      while kind == nil, let line = try asked.line() {
        kind = try JSONReader.read(line)["params"]?["kind"]?.string
      }
      #expect(kind == question.rawValue)
      asked.terminate()
      for _ in 0..<10 {
        let program = try SpawnedProgram(
          Program.einlass, ["--store", "memory"], reading: false)
        defer { program.terminate() }
        try program.send(Self.input(question))
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
        try program.send(Self.input())
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
      try program.send(Self.input(processId: told ? parent.process : nil))
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
