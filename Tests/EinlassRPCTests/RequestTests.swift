import EinlassJSON
import EinlassRPC
import EinlassSystem
import Foundation
import Testing

struct RequestTests {
  /// The `data` of a request that came while too many others were unanswered.
  private static let overloaded: JSONValue = [
    "reason": "overloaded", "retryable": true,
    "next": [["label": "Wait until some requests are answered, then try again"]],
  ]

  @Test("A cancelled task answers -32800, and a cancellation of any other id is ignored")
  func cancel() async throws {
    let gate = Gate()
    try await Session.with([waiting(at: gate), echo]) { session in
      try session.call(1, "wait")
      try gate.awaitArrivals()
      for id in [2, "1", nil, 1.5.json, [1]] as [JSONValue?] {
        try session.call(nil, "$/cancelRequest", JSONObject(present: ["id": id]))
      }
      try session.call(3, "echo")
      #expect(try session.line().map(brief) == "3 ok {}")
      try session.call(nil, "$/cancelRequest", ["id": 1])
      #expect(try session.line().map(brief) == "1 -32800 cancelled by client")
      try session.call(nil, "$/cancelRequest", ["id": 1])
      try session.call(1, "echo")
      #expect(try session.line().map(brief) == "1 ok {}")
    }
  }

  @Test("A task that finishes in spite of its cancellation answers its result")
  func lateCancel() async throws {
    let gate = Gate()
    try await Session.with([waiting(at: gate, ignoringCancellation: true)]) { session in
      try session.call(1, "wait")
      try gate.awaitArrivals()
      try session.call(nil, "$/cancelRequest", ["id": 1])
      gate.open()
      #expect(try session.line().map(brief) == #"1 ok "done""#)
    }
  }

  @Test("Each of several watched descriptors calls its own handler")
  func watchesSeveral() async throws {
    let bells = [try RungBell(), try RungBell(), try RungBell()]
    try await Session.with([echo]) { session in
      for (index, bell) in bells.enumerated() {
        session.peer.watch(bell.number) { [weak peer = session.peer] in
          bell.clear()
          peer?.notify("rung", ["bell": JSONValue(Int64(index))])
        }
      }
      for index in [1, 0, 2, 1] {
        bells[index].ring()
        #expect(try session.message()?["params"] == ["bell": JSONValue(Int64(index))])
      }
      try session.call(1, "echo")
      #expect(try session.line().map(brief) == "1 ok {}")
    }
  }

  @Test("Notifications that a handler sends after its answer follow the answer")
  func notifiesAfterAnswer() async throws {
    let immediate = Method(
      MethodDescriptor("now", .immediate, ""),
      .urgent { _, call in
        call.answer(["answered": true])
        call.peer.notify("after", [:])
        return ["answered": "twice"]
      })
    let task = Method(
      MethodDescriptor("task", .network, ""),
      .task { _, call async throws(RPCError) in
        call.answer(["answered": true])
        call.peer.notify("after", [:])
        throw RPCError(.internal)
      })
    try await Session.with([immediate, task]) { session in
      for (id, method) in [(1, "now"), (2, "task")] as [(JSONValue, String)] {
        try session.call(id, method)
        #expect(try session.line().map(brief) == #"\#(id.text) ok {"answered":true}"#)
        #expect(try session.message()?["method"]?.string == "after")
      }
      // A notification gets neither an early nor a late answer.
      try session.call(nil, "task")
      #expect(try session.message()?["method"]?.string == "after")
      session.closeInput()
      #expect(try session.rest() == [])
    }
  }

  @Test("An id in flight is refused for another request, with a null id in the error")
  func duplicateId() async throws {
    let gate = Gate()
    try await Session.with([waiting(at: gate), echo]) { session in
      try session.send(#"{"jsonrpc":"2.0","id":"a","method":"wait"}"# + "\n")
      try gate.awaitArrivals()
      try session.send(#"{"jsonrpc":"2.0","id":"\u0061","method":"echo"}"# + "\n")
      try session.send(#"[{"jsonrpc":"2.0","id":"a","method":"wait"}]"# + "\n")
      #expect(try session.line().map(brief) == "null -32600 duplicateId")
      #expect(try session.line().map(brief) == "[null -32600 duplicateId]")
      gate.open()
      #expect(try session.line().map(brief) == #""a" ok "done""#)
      try session.call("a", "echo")
      #expect(try session.line().map(brief) == #""a" ok {}"#)
    }
  }

  @Test("Ids that only look alike are different requests in flight")
  func lookalikeIds() async throws {
    let gate = Gate()
    try await Session.with([waiting(at: gate), echo]) { session in
      let ids: [JSONValue] = ["1", "\u{e4}", "K"]
      for id in ids { try session.call(id, "wait") }
      try gate.awaitArrivals(3)
      // `String` compares the last two as equal, because they are canonically equivalent.
      for id in [1, "a\u{308}", "\u{212a}"] as [JSONValue] {
        try session.call(nil, "$/cancelRequest", ["id": id])
        try session.call(id, "echo")
        #expect(try session.line().map(brief) == "\(id.text) ok {}")
      }
      gate.open()
      let answers = try (0..<3).map { _ in try session.line().map(brief) ?? "" }
      #expect(Set(answers) == Set(ids.map { "\($0.text) ok \"done\"" }))
    }
  }

  @Test func `Requests that wait share one deadline, counted from their arrival`() async throws {
    let deadlines = Lock<[Int64]>([])
    let stalled = Method(
      MethodDescriptor("stall", .immediate, "", result: .any),
      .immediate { _, _, deadline throws(RPCError) in
        guard let deadline else { return nil }
        deadlines.withLock { $0.append(deadline.monotonicMilliseconds) }
        while deadline.millisecondsLeft > 0 { usleep(1000) }
        throw RPCError(.overloaded)
      })
    try await Session.with([stalled]) { session in
      try session.send(
        (1...3).map { #"{"jsonrpc":"2.0","id":\#($0),"method":"stall"}"# + "\n" }.joined())
      for id in 1...3 {
        #expect(try session.line().map(brief)?.hasPrefix("\(id) -32001") == true)
      }
    }
    let found = deadlines.withLock { $0 }
    // With separate deadlines the second would begin when the first has ended.
    #expect(found.count == 3 && found[2] - found[0] < Int64(Limits.immediateWaitMilliseconds))
  }

  @Test func `A request behind one that got its turn has two seconds from that turn`() async throws
  {
    let left = Lock<[Int32]>([])
    let patient = Method(
      MethodDescriptor("wait", .immediate, "", result: .any),
      .immediate { params, _, deadline throws(RPCError) in
        guard let deadline else { return nil }
        left.withLock { $0.append(deadline.millisecondsLeft) }
        usleep(useconds_t(params["milliseconds"]?.int64 ?? 0) * 1000)
        return [:]
      })
    try await Session.with([patient]) { session in
      let waits = [2100, 1800, 0]
      try session.send(
        waits.enumerated().map { id, wait in
          #"{"jsonrpc":"2.0","id":\#(id),"method":"wait","params":{"milliseconds":\#(wait)}}"#
            + "\n"
        }.joined())
      for id in waits.indices { #expect(try session.line().map(brief) == "\(id) ok {}") }
    }
    #expect(left.withLock { $0 }.allSatisfy { $0 > 1500 })
  }

  @Test(
    "Immediate requests keep their order behind a waiting one; urgent ones and tasks do not wait")
  func order() async throws {
    let (gate, tasks) = (Gate(), Gate())
    let hurry = Method(
      MethodDescriptor("hurry", .immediate, ""), .urgent { _, _ in [:] })
    tasks.open()
    try await Session.with([storing(at: gate), echo, hurry, waiting(at: tasks)]) { session in
      try session.call(1, "store")
      try gate.awaitArrivals()
      for id in 2...4 { try session.call(JSONValue(Int64(id)), "echo") }
      try session.call(5, "hurry")
      #expect(try session.line().map(brief) == "5 ok {}")
      try session.call(6, "wait")
      #expect(try session.line().map(brief) == #"6 ok "done""#)
      try session.call(nil, "$/cancelRequest", ["id": 3])
      #expect(try session.line().map(brief) == "3 -32800 cancelled by client")
      gate.open()
      #expect(try session.line().map(brief) == #"1 ok "stored""#)
      #expect(try session.line().map(brief) == "2 ok {}")
      #expect(try session.line().map(brief) == "4 ok {}")
      try session.call(7, "echo")
      #expect(try session.line().map(brief) == "7 ok {}")
    }
  }

  @Test("A batch is answered in its own order when its last request is")
  func batch() async throws {
    let gate = Gate()
    try await Session.with([waiting(at: gate), storing(at: gate), echo]) { session in
      try session.send(
        #"[{"jsonrpc":"2.0","id":1,"method":"wait"},{"jsonrpc":"2.0","method":"echo"},"#
          + #"{"jsonrpc":"2.0","id":2,"method":"echo"},1]"# + "\n")
      try gate.awaitArrivals()
      try session.call(3, "echo")
      #expect(try session.line().map(brief) == "3 ok {}")
      gate.open()
      #expect(
        try session.line().map(brief) == #"[1 ok "done", 2 ok {}, null -32600 invalidRequest]"#)
    }
  }

  @Test(
    "Answers wait for the rest of their batches up to a limit; above it batches are overloaded")
  func heldAnswers() async throws {
    let gate = Gate()
    var options = Peer.Options()
    #expect(options.heldAnswerBytes == 32 << 20)
    options.heldAnswerBytes = 32 << 10
    try await Session.with([waiting(at: gate), large(1 << 10)], options) { session in
      func requests(_ ids: ClosedRange<Int>) -> String {
        ids.map { #"{"jsonrpc":"2.0","id":\#($0),"method":"large"}"# }.joined(separator: ",")
      }
      try session.send(#"[{"jsonrpc":"2.0","id":1,"method":"wait"},\#(requests(10...40))]"# + "\n")
      try gate.awaitArrivals()
      for _ in 1...2 {
        try session.send("[\(requests(80...82))]\n")
        let answers = try #require(try session.message()?.array)
        #expect(answers.map { $0["result"] != nil } == [true, true, false])
        #expect(answers.last?["error"]?["data"] == Self.overloaded)
      }
      try session.send(requests(80...80) + "\n")
      #expect(try session.message()?["result"] != nil)
    }
  }

  @Test("64 flows run; one more is refused until one has ended")
  func flows() async throws {
    let gate = Gate()
    try await Session.with([waiting("flow", .interactive, at: gate), waiting(at: gate), echo]) {
      session in
      for id in 1...64 { try session.call(JSONValue(Int64(id)), "flow") }
      try gate.awaitArrivals(64)
      try session.call(65, "flow")
      let refusal = try session.message()
      #expect(refusal?["error"]?["code"] == -32001)
      #expect(refusal?["error"]?["data"] == Self.overloaded)
      // Network requests have a separate limit.
      try session.call(66, "wait")
      try gate.awaitArrivals()
      try session.call(nil, "$/cancelRequest", ["id": 7])
      #expect(try session.line().map(brief) == "7 -32800 cancelled by client")
      try session.call(67, "flow")
      try gate.awaitArrivals()
      gate.open()
      let answers = try (0..<65).map { _ in try session.line().map(brief) ?? "" }
      #expect(
        Set(answers) == Set((1...67).filter { $0 != 7 && $0 != 65 }.map { "\($0) ok \"done\"" }))
    }
  }

  @Test("64 network requests run and 1024 wait; one more is refused")
  func queue() async throws {
    let gate = Gate()
    try await Session.with([waiting(at: gate), echo]) { session in
      for id in 1...1088 { try session.call(JSONValue(Int64(id)), "wait") }
      try gate.awaitArrivals(64)
      try session.call(1089, "wait")
      #expect(try session.line().map(brief) == "1089 -32001 overloaded")
      try session.call(nil, "$/cancelRequest", ["id": 1000])
      #expect(try session.line().map(brief) == "1000 -32800 cancelled by client")
      try session.call(1090, "wait")
      gate.open()
      let answers = try (0..<1088).map { _ in try session.line().map(brief) ?? "" }
      #expect(
        Set(answers)
          == Set(([Int](1...1088) + [1090]).filter { $0 != 1000 }.map { "\($0) ok \"done\"" }))
    }
  }

  @Test("1024 immediate requests wait for the store; one more is refused")
  func line() async throws {
    let gate = Gate()
    try await Session.with([storing(at: gate), echo]) { session in
      try session.call(1, "store")
      try gate.awaitArrivals()
      for id in 2...1025 { try session.call(JSONValue(Int64(id)), "echo") }
      #expect(try session.line().map(brief) == "1025 -32001 overloaded")
      try session.call(nil, "$/cancelRequest", ["id": 500])
      #expect(try session.line().map(brief) == "500 -32800 cancelled by client")
      try session.call(1026, "echo")
      gate.open()
      let expected = ([Int](2...1024) + [1026]).filter { $0 != 500 }.map { "\($0) ok {}" }
      let answers = try (0...expected.count).map { _ in try session.line().map(brief) ?? "" }
      #expect(answers == [#"1 ok "stored""#] + expected)
    }
  }

  @Test("The bytes of waiting requests are limited")
  func bytes() async throws {
    let gate = Gate()
    try await Session.with([waiting(at: gate)]) { session in
      let params: JSONObject = ["x": .string(String(repeating: "x", count: 1_000_000))]
      for id in 1...9 { try session.call(JSONValue(Int64(id)), "wait", params) }
      #expect(try session.line().map(brief) == "9 -32001 overloaded")
      gate.open()
      let answers = try (0..<8).map { _ in try session.line().map(brief) ?? "" }
      #expect(Set(answers) == Set((1...8).map { "\($0) ok \"done\"" }))
    }
  }

  @Test("A handler knows the first request of the connection; notifications do not count")
  func firstRequest() async throws {
    let first = Method(
      MethodDescriptor("first", .immediate, "", result: .boolean),
      .immediate { _, call, _ in .bool(call.isFirstRequest) })
    try await Session.with([first]) { session in
      try session.call(nil, "first")
      try session.send("garbage\n")
      _ = try session.line()
      try session.call(1, "first")
      try session.call(2, "first")
      #expect(try session.line().map(brief) == "1 ok true")
      #expect(try session.line().map(brief) == "2 ok false")
    }
  }

  @Test("Answers and notifications of 60 KiB are written whole, and not a byte more")
  func outboundEdge() async throws {
    let text = Method(
      MethodDescriptor(
        "text", .immediate, "", params: [.required("of", .integer(), "")], result: .any),
      .immediate { params, call, _ in
        func line(_ frame: String) -> JSONValue {
          .string(String(repeating: "x", count: Int(params["of"]?.int64 ?? 0) - frame.utf8.count))
        }
        call.peer.notify(
          "news", ["x": line(#"{"jsonrpc":"2.0","method":"news","params":{"x":""}}"#)])
        return line(#"{"jsonrpc":"2.0","id":1,"result":""}"#)
      })
    try await Session.with([text]) { session in
      try session.call(1, "text", ["of": 61_440])
      #expect(try session.line().map { $0.utf8.count } == 61_440)
      #expect(try session.line().map { $0.utf8.count } == 61_440)
      try session.call(1, "text", ["of": 61_441])
      #expect(try session.line().map(brief) == "1 -32603 internal")
    }
  }

  @Test("An answer over 60 KiB is an internal error unless its method may; so is a notification")
  func outboundLimit() async throws {
    func big(_ name: String, isLineLimited: Bool) -> Method {
      Method(
        MethodDescriptor(name, .immediate, "", result: .any, isLineLimited: isLineLimited),
        .immediate { _, call, _ in
          let text = JSONValue.string(String(repeating: "x", count: 61_440))
          call.peer.notify("news", ["text": text])
          return text
        })
    }
    try await Session.with([big("big", isLineLimited: true), big("document", isLineLimited: false)])
    {
      session in
      try session.call(1, "big")
      #expect(try session.line().map(brief) == "1 -32603 internal")
      try session.call(2, "document")
      #expect(try session.line().map { $0.utf8.count > 61_440 } == true)
      try session.send(#"[{"jsonrpc":"2.0","id":3,"method":"big"}]"# + "\n")
      #expect(try session.line().map { $0.utf8.count > 61_440 } == true)
    }
  }
}

extension Double {
  fileprivate var json: JSONValue {
    (try? JSONReader.read(Array("\(self)".utf8))) ?? .null
  }
}

/// A descriptor that a test makes readable.
private final class RungBell: Sendable {
  private let wakeUp: WakeUp
  var number: Int32 { wakeUp.number }

  init() throws { wakeUp = try WakeUp() }

  func ring() { wakeUp.ring() }
  func clear() { wakeUp.clear() }
}
