import EinlassJSON
import EinlassRPC
import EinlassSystem
import Foundation
import Testing

/// The ways to end a connection: every request is answered, the output closes, and the exit code
/// names the cause.
struct EndTests {
  enum Cause: String, CaseIterable {
    case endOfInput, sigterm, sigint, sighup, shutdown, exit, exitRequest, processDeath
  }

  @Test(
    "Every end drains alike: running requests answer -32800, then the output closes",
    arguments: Cause.allCases)
  func drains(_ cause: Cause) async throws {
    let gate = Gate()
    let child = Process()
    child.executableURL = URL(fileURLWithPath: "/bin/cat")
    child.standardInput = Pipe()
    child.standardOutput = Pipe()
    try child.run()
    let process = child.processIdentifier
    let methods = [waiting(at: gate), waiting("flow", .interactive, at: gate), echo]
    try await Session.with(methods) { session in
      #expect(session.peer.watchProcess(process))
      try session.call(1, "wait")
      try session.call(2, "flow")
      try session.send(
        #"[{"jsonrpc":"2.0","id":3,"method":"wait"},{"jsonrpc":"2.0","id":4,"method":"echo"}]"#
          + "\n")
      try gate.awaitArrivals(3)
      let by = cause == .endOfInput ? "endOfInput" : "shutdown"
      var expected = [
        "1 -32800 cancelled by \(by)", "2 -32800 cancelled by \(by)",
        "[3 -32800 cancelled by \(by), 4 ok {}]",
      ]
      switch cause {
      case .endOfInput: session.closeInput()
      case .sigterm: try session.signal(15)
      case .sigint: try session.signal(2)
      case .sighup: try session.signal(1)
      case .exit: try session.call(nil, "exit")
      case .processDeath: kill(process, SIGKILL)
      case .shutdown:
        try session.call(9, "shutdown")
        expected.append("9 ok {}")
      case .exitRequest:
        try session.call(9, "exit")
        expected.append("9 ok {}")
      }
      let answers = try session.rest().map(brief)
      #expect(answers.sorted() == expected.sorted())
      if cause == .shutdown || cause == .exitRequest { #expect(answers.last == "9 ok {}") }
      #expect(try session.exitCode() == 0)
    }
    kill(process, SIGKILL)
  }

  @Test("Requests that were read before the end are answered")
  func answersWhatWasRead() async throws {
    let gate = Gate()
    try await Session.with([echo, storing(at: gate)]) { session in
      try session.call(1, "store")
      for id in 2...100 { try session.call(JSONValue(Int64(id)), "echo") }
      session.closeInput()
      try gate.awaitArrivals()
      gate.open()
      #expect(
        try session.rest().map(brief) == [#"1 ok "stored""#] + (2...100).map { "\($0) ok {}" })
      #expect(try session.exitCode() == 0)
    }
  }

  @Test("After shutdown, requests are refused until the client closes")
  func refusesAfterShutdown() async throws {
    var options = Peer.Options()
    options.drainLimit = .seconds(3600)
    try await Session.with([echo], options) { session in
      try session.call(1, "shutdown")
      #expect(try session.line().map(brief) == "1 ok {}")
      try session.call(2, "echo")
      try session.call(3, "shutdown")
      #expect(try session.line().map(brief) == "2 -32600 shuttingDown")
      #expect(try session.line().map(brief) == "3 -32600 shuttingDown")
      session.closeInput()
      #expect(try session.rest() == [])
      #expect(try session.exitCode() == 0)
    }
  }

  @Test("A request whose task does not end is answered when the drain time is over")
  func abandons() async throws {
    var options = Peer.Options()
    options.drainLimit = .milliseconds(50)
    let gate = Gate()
    let methods = [waiting(at: gate, ignoringCancellation: true), storing(at: gate)]
    try await Session.with(methods, options) { session in
      try session.call(1, "wait")
      try session.call(2, "store")
      try gate.awaitArrivals(2)
      session.closeInput()
      #expect(
        try session.rest().map(brief).sorted() == [
          "1 -32800 cancelled by endOfInput", "2 -32800 cancelled by endOfInput",
        ])
      #expect(try session.exitCode() == 0)
      gate.open()
    }
  }

  @Test("Work that must not be interrupted keeps the process alive after its output is closed")
  func keepsAlive() async throws {
    let (gate, commit) = (Gate(), Gate())
    let refresh = Method(
      MethodDescriptor("refresh", .network, ""),
      .task { _, call async throws(RPCError) in
        await call.peer.keepingAlive { await commit.wait(ignoringCancellation: true) }
        await gate.wait()
        return [:]
      })
    try await Session.with([refresh]) { session in
      try session.call(1, "refresh")
      try commit.awaitArrivals()
      session.closeInput()
      // The output closes while the commit still runs.
      #expect(try session.rest().map(brief) == ["1 -32800 cancelled by endOfInput"])
      commit.open()
      #expect(try session.exitCode() == 0)
    }
  }

  @Test("With finishesWork the end of input lets every request run to its end")
  func finishes() async throws {
    var options = Peer.Options()
    options.finishesWork = true
    let gate = Gate()
    try await Session.with([waiting(at: gate), echo], options) { session in
      for id in 1...70 { try session.call(JSONValue(Int64(id)), "wait") }
      try session.call(71, "echo")
      session.closeInput()
      try gate.awaitArrivals(64)
      gate.open()
      let answers = try session.rest().map(brief)
      #expect(Set(answers) == Set((1...70).map { "\($0) ok \"done\"" } + ["71 ok {}"]))
      #expect(try session.exitCode() == 0)
    }
  }

  @Test("With finishesWork a signal still cancels")
  func signalWhileFinishing() async throws {
    var options = Peer.Options()
    options.finishesWork = true
    let gate = Gate()
    try await Session.with([waiting(at: gate)], options) { session in
      try session.call(1, "wait")
      session.closeInput()
      try gate.awaitArrivals()
      try session.signal(15)
      #expect(try session.rest().map(brief) == ["1 -32800 cancelled by shutdown"])
      #expect(try session.exitCode() == 0)
    }
  }

  @Test("A second signal ends the process at once")
  func secondSignal() async throws {
    let gate = Gate()
    try await Session.with([waiting(at: gate, ignoringCancellation: true)]) { session in
      try session.call(1, "wait")
      try gate.awaitArrivals()
      try session.signal(15)
      try session.signal(2)
      #expect(try session.exitCode() == 130)
      gate.open()
    }
  }

  @Test("A client that closes its end of the output ends in exit code 1")
  func outputLost() async throws {
    let gate = Gate()
    try await Session.with([waiting(at: gate)]) { session in
      try session.call(1, "wait")
      try gate.awaitArrivals()
      session.closeOutput()
      #expect(try session.exitCode() == 1)
    }
  }

  @Test(
    "A client that stops reading ends in exit code 75; a client that reads late gets everything")
  func stalls() async throws {
    let big = Method(
      MethodDescriptor("big", .immediate, "", result: .any),
      .immediate { _, _, _ in .string(String(repeating: "x", count: 50_000)) })
    var options = Peer.Options()
    options.stallLimit = .milliseconds(50)
    try await Session.with([big], options) { session in
      for id in 1...40 { try session.call(JSONValue(Int64(id)), "big") }
      #expect(try session.exitCode() == 75)
    }
    options.stallLimit = .seconds(3600)
    try await Session.with([big], options) { session in
      for id in 1...40 { try session.call(JSONValue(Int64(id)), "big") }
      for id in 1...40 {
        #expect(try session.line()?.hasPrefix(#"{"jsonrpc":"2.0","id":\#(id),"result":"x"#) == true)
      }
      session.closeInput()
      #expect(try session.exitCode() == 0)
    }
  }

  @Test(
    "Requests that were read behind a full output are answered when the client reads",
    arguments: [(false, false), (true, false), (true, true)])
  func answersBehindFullOutput(endsInput: Bool, finishesWork: Bool) async throws {
    let big = Method(
      MethodDescriptor("big", .immediate, "", result: .any),
      .immediate { _, _, _ in .string(String(repeating: "x", count: 50_000)) })
    var options = Peer.Options()
    options.stallLimit = .seconds(3600)
    options.drainLimit = .seconds(3600)
    options.finishesWork = finishesWork
    try await Session.with([echo, big], options) { session in
      let requests = (1...100).map { #"{"jsonrpc":"2.0","id":\#($0),"method":"big"}"# + "\n" }
      // The last line has no newline at first. At the end of input it still counts as complete.
      try session.send(requests.joined() + #"{"jsonrpc":"2.0","id":101,"method":"echo"}"#)
      if endsInput { session.closeInput() } else { try session.send("\n") }
      for id in 1...100 {
        #expect(try session.line()?.hasPrefix(#"{"jsonrpc":"2.0","id":\#(id),"result":"x"#) == true)
      }
      #expect(try session.line().map(brief) == "101 ok {}")
      session.closeInput()
      #expect(try session.rest() == [])
      #expect(try session.exitCode() == 0)
    }
  }

  @Test("With finishesWork a client that reads slowly gets every answer")
  func finishesForSlowReader() async throws {
    let big = Method(
      MethodDescriptor("big", .immediate, "", result: .any),
      .immediate { _, _, _ in .string(String(repeating: "x", count: 50_000)) })
    var options = Peer.Options()
    options.finishesWork = true
    options.drainLimit = .milliseconds(1)
    try await Session.with([big], options) { session in
      for id in 1...30 { try session.call(JSONValue(Int64(id)), "big") }
      session.closeInput()
      for id in 1...30 {
        // Longer than the drain limit, because only the stall limit applies while the client reads.
        if id % 6 == 1 { usleep(20_000) }
        #expect(try session.line()?.hasPrefix(#"{"jsonrpc":"2.0","id":\#(id),"result":"x"#) == true)
      }
      #expect(try session.rest() == [])
      #expect(try session.exitCode() == 0)
    }
    // Negative control: a client that never reads runs into the stall limit.
    options.stallLimit = .milliseconds(50)
    try await Session.with([big], options) { session in
      for id in 1...10 { try session.call(JSONValue(Int64(id)), "big") }
      session.closeInput()
      #expect(try session.exitCode() == 75)
    }
  }

  @Test(
    "Beside answers, 16 MiB of notifications do not end the connection, and more do")
  func hardLimit() async throws {
    let isLast = DispatchSemaphore(value: 0)
    let methods = [
      large(1 << 20),
      Method(
        MethodDescriptor("last", .immediate, "", result: .any),
        .immediate { _, _, _ in
          isLast.signal()
          return "done"
        }),
    ]
    var options = Peer.Options()
    options.stallLimit = .seconds(3600)
    try await Session.with(methods, options) { session in
      let requests = (10..<12).map { #"{"jsonrpc":"2.0","id":\#($0),"method":"large"},"# }
      try session.send(
        "[" + requests.joined() + #"{"jsonrpc":"2.0","id":1,"method":"last"}]"# + "\n")
      #expect(isLast.wait(timeout: .now() + 60) == .success)
      try session.awaitTurn()
      let frame = #"{"jsonrpc":"2.0","method":"n","params":{"text":""}}"# + "\n"
      let text = JSONValue.string(String(repeating: "x", count: (32 << 10) - frame.utf8.count))
      for _ in 0..<512 { session.peer.notify("n", ["text": text]) }
      try session.awaitTurn()
      session.peer.notify("n", [:])
      #expect(try session.exitCode() == 75)
    }
  }

  @Test("No further input is read while the output is full")
  func stopsReading() async throws {
    let count = Lock(0)
    let big = Method(
      MethodDescriptor("big", .immediate, "", result: .any),
      .immediate { _, _, _ in
        count.withLock { $0 += 1 }
        return .string(String(repeating: "x", count: 50_000))
      })
    var options = Peer.Options()
    options.stallLimit = .milliseconds(50)
    try await Session.with([big], options) { session in
      for id in 1...200 { try session.call(JSONValue(Int64(id)), "big") }
      #expect(try session.exitCode() == 75)
    }
    #expect(count.withLock { $0 } < 30)
  }

  @Test("A process that does not exist cannot be watched")
  func watchesNobody() async throws {
    try await Session.with([]) { session in
      #expect(!session.peer.watchProcess(Int32.max))
    }
  }

  @Test("The process id of a client elsewhere is ignored")
  func watchesNobodyElsewhere() async throws {
    var options = Peer.Options()
    options.watchesProcesses = false
    try await Session.with([], options) { session in
      #expect(session.peer.watchProcess(Int32.max))
    }
  }
}
