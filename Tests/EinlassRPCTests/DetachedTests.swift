import EinlassJSON
import EinlassRPC
import EinlassSystem
import Foundation
import Testing

/// Work that goes on after its request was answered.
struct DetachedTests {
  /// A method that answers at once, waits at the gate and announces its end.
  private static func start(at gate: Gate, ignoringCancellation: Bool = false) -> Method {
    Method(
      MethodDescriptor("start", .interactive, ""),
      .task { _, call async throws(RPCError) in
        call.answer([:], announcing: "completed") { outcome in
          switch outcome {
          case .success(let result): ["result": result]
          case .failure(let error): ["reason": .string(error.reason)]
          }
        }
        await gate.wait(ignoringCancellation: ignoringCancellation)
        if Task.isCancelled { throw RPCError(.overloaded) }
        return "done"
      })
  }

  private static func completed(_ params: String) -> String {
    #"{"jsonrpc":"2.0","method":"completed","params":\#(params)}"#
  }

  @Test("The end is announced after the answer, even if the work ends at once")
  func order() async throws {
    let gate = Gate()
    gate.open()
    try await Session.with([Self.start(at: gate)]) { session in
      for id in 1...300 {
        try session.call(JSONValue(Int64(id)), "start")
        #expect(try session.line().map(brief) == "\(id) ok {}")
        #expect(try session.line() == Self.completed(#"{"result":"done"}"#))
      }
    }
  }

  @Test(
    "An end that is too long for a line is announced in a shortened form", arguments: [true, false])
  func tooLong(isResult: Bool) async throws {
    let long = String(repeating: "x", count: 70_000)
    let method = Method(
      MethodDescriptor("start", .interactive, ""),
      .task { _, call async throws(RPCError) in
        call.answer([:], announcing: "completed") { outcome in
          switch outcome {
          case .success(let result): ["result": result]
          case .failure(let error): ["error": error.json]
          }
        }
        guard isResult else {
          throw RPCError(code: 1010, reason: "needed", long, data: ["n": [.string(long)]])
        }
        return .string(long)
      })
    try await Session.with([method]) { session in
      try session.call(1, "start")
      #expect(try session.line().map(brief) == "1 ok {}")
      let line = try #require(try session.line())
      let error = try JSONReader.read(Array(line.utf8))["params"]?["error"]
      #expect(line.utf8.count < 2000)
      #expect(error?["data"]?["reason"]?.string == (isResult ? "internal" : "needed"))
    }
  }

  @Test("The id of an answered request is free while its work goes on")
  func freesID() async throws {
    let gate = Gate()
    try await Session.with([Self.start(at: gate), echo]) { session in
      try session.call(1, "start")
      #expect(try session.line().map(brief) == "1 ok {}")
      try session.call(nil, "$/cancelRequest", ["id": 1])
      try session.call(1, "echo")
      #expect(try session.line().map(brief) == "1 ok {}")
      gate.open()
      #expect(try session.line() == Self.completed(#"{"result":"done"}"#))
    }
  }

  @Test("The end of the connection cancels detached work, which announces its own end")
  func cancelled() async throws {
    let gate = Gate()
    try await Session.with([Self.start(at: gate)]) { session in
      try session.call(1, "start")
      try session.call(nil, "start")
      try gate.awaitArrivals(2)
      session.closeInput()
      let end = Self.completed(#"{"reason":"overloaded"}"#)
      #expect(Set(try session.rest()) == [#"{"jsonrpc":"2.0","id":1,"result":{}}"#, end])
      #expect(try session.exitCode() == 0)
    }
  }

  @Test("The peer announces the end of work that outlives the connection, once")
  func abandoned() async throws {
    var options = Peer.Options()
    options.drainLimit = .milliseconds(50)
    let gate = Gate()
    try await Session.with([Self.start(at: gate, ignoringCancellation: true)], options) { session in
      try session.call(1, "start")
      #expect(try session.line().map(brief) == "1 ok {}")
      try gate.awaitArrivals()
      session.closeInput()
      #expect(try session.rest() == [Self.completed(#"{"reason":"cancelled"}"#)])
      #expect(try session.exitCode() == 0)
      gate.open()
    }
  }

  @Test("64 pieces of detached work run at once, each in its request's place; one more is refused")
  func limit() async throws {
    let gate = Gate()
    try await Session.with([Self.start(at: gate)]) { session in
      for id in 1...64 { try session.call(JSONValue(Int64(id)), "start") }
      try gate.awaitArrivals(64)
      for _ in 1...64 { #expect(try session.line()?.hasSuffix(#""result":{}}"#) == true) }
      try session.call(65, "start")
      #expect(try session.line().map(brief) == "65 -32001 overloaded")
      gate.open()
      for _ in 1...64 { #expect(try session.line() == Self.completed(#"{"result":"done"}"#)) }
    }
  }
}
