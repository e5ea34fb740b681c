import EinlassJSON
import EinlassRPC
import EinlassSystem
import Foundation
import Testing

struct TraceAndLogTests {
  @Test("A trace has every message both ways, with the same number in place of the same secret")
  func trace() async throws {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).jsonl").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    var options = Peer.Options()
    options.trace = Trace(to: try CappedFile(path)) { 1_763_712_345 }
    options.notifications = {
      [
        NotificationDescriptor(
          "news", "",
          params: [
            .required("token", .string(), "", isSecret: true), .required("text", .string(), ""),
          ])
      ]
    }
    let exchange = Method(
      MethodDescriptor(
        "exchange", .immediate, "", params: [.required("secret", .string(), "", isSecret: true)],
        result: .object([
          .required("token", .string(), "", isSecret: true), .required("name", .string(), ""),
          .required("profile", .any, ""), .required("url", .string(), ""),
        ])),
      .immediate { _, call, _ in
        call.peer.notify("news", ["token": "t0ken", "text": "hello"])
        call.peer.notify("other", ["token": "t0ken"])
        return [
          "token": "t0ken", "name": "ada", "profile": ["mails": ["a@b"], "verified": true],
          "url": "https://u:p@p.example/x?client_id=i&login_hint=a%40b",
        ]
      })
    options.secretErrorMembers = ["pending"]
    options.isPersonal = { _, name, _ in ["email", "profile"].contains(name) }
    let refusal = Method(
      MethodDescriptor("refuse", .immediate, "", result: .object([])),
      .immediate { _, _, _ throws(RPCError) in
        throw RPCError(
          code: 1, reason: "no", "No.",
          data: [
            "pending": "p3nding", "name": "ada", "email": "a@b",
            "hint": ["params": [["pending": "p3nding"]]],
          ])
      })
    try await Session.with([exchange, refusal], options) { session in
      try session.call(0, "refuse")
      try session.call(1, "exchange", ["secret": "s3cret"])
      try session.call("a", "exchagne", ["secret": "s3cret"])
      try session.send(#"{"secret":"s3cret""# + "\n")
      session.closeInput()
      let lines = try session.rest().joined()
      #expect(lines.contains("t0ken") && lines.contains("p3nding"))
      _ = try session.exitCode()
    }
    let text = try String(contentsOfFile: path, encoding: .utf8)
    #expect(!text.contains("t0ken") && !text.contains("s3cret") && !text.contains("p3nding"))
    #expect(
      text.contains(
        #""name":"ada","email":"[hidden 2]","hint":{"params":[{"pending":"[hidden 1]"}]}"#))
    let messages = try text.split(separator: "\n").map { try JSONReader.read(Array($0.utf8)) }
    #expect(messages.allSatisfy { $0["t"] == 1_763_712_345 })
    #expect(
      messages.map { "\($0["dir"]?.string ?? "") \($0["msg"]?.text ?? "")" }.dropFirst(2).prefix(4)
        == [
          #"in {"jsonrpc":"2.0","id":1,"method":"exchange","params":{"secret":"[hidden 3]"}}"#,
          #"out {"jsonrpc":"2.0","method":"news","params":{"token":"[hidden 4]","text":"hello"}}"#,
          #"out {"jsonrpc":"2.0","method":"other","params":{"token":"[hidden 4]"}}"#,
          #"out {"jsonrpc":"2.0","id":1,"result":{"token":"[hidden 4]","name":"ada","profile":{"mails":["[hidden 2]"],"verified":true},"url":"https://hidden5@p.example/x?client_id=i&login_hint=hidden6"}}"#,
        ])
    let permissions = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
    #expect(permissions as? Int == 0o600)
  }

  @Test("A log entry is one line, and only levels up to the configured one are written")
  func log() throws {
    let pipe = Pipe()
    let log = Log(.info, to: try Descriptor.duplicate(pipe.fileHandleForWriting.fileDescriptor)) {
      7
    }
    log.info("rpc", "a\nb\u{1b}[31m\u{2028}\u{85}c")
    log.debug("rpc", "not this")
    log.error("store", "x")
    let text = String(decoding: pipe.fileHandleForReading.availableData, as: UTF8.self)
    #expect(text == "7 info rpc a b [31m  c\n7 error store x\n")
  }

  @Test("A log that nobody reads never blocks, and later reports the number of lost lines")
  func fullLog() throws {
    let pipe = Pipe()
    let log = Log(.info, to: try Descriptor.duplicate(pipe.fileHandleForWriting.fileDescriptor)) {
      7
    }
    for _ in 0..<2000 { log.info("rpc", String(repeating: "x", count: 200)) }
    let first = pipe.fileHandleForReading.availableData
    log.info("rpc", "again")
    var rest = first
    while !String(decoding: rest, as: UTF8.self).hasSuffix("again\n") {
      rest += pipe.fileHandleForReading.availableData
    }
    let lines = String(decoding: rest, as: UTF8.self).split(separator: "\n")
    let lost = try #require(lines.dropLast().last)
    #expect(lost.hasPrefix("7 warning log ") && lost.hasSuffix(" lines were lost"))
    let lostCount = try #require(Int(lost.split(separator: " ")[3]))
    #expect(lines.count - 2 + lostCount == 2000)
  }

  @Test("A closed log pipe is not an error")
  func lostLog() throws {
    signal(SIGPIPE, SIG_IGN)
    let pipe = Pipe()
    let log = Log(.info, to: try Descriptor.duplicate(pipe.fileHandleForWriting.fileDescriptor)) {
      7
    }
    try pipe.fileHandleForReading.close()
    log.info("rpc", "x")
    log.info("rpc", "x")
  }
}
