import EinlassJSON
import Testing

@testable import EinlassSandbox

struct FaultTests {
  private func reply(_ fault: JSONValue, _ path: String = "/1.1/x") async throws -> Reply? {
    var reply: Reply?
    try await TestSandbox.run { sandbox async throws in
      try await sandbox.patch(["faults": ["fault": fault]])
      reply = try await sandbox.providers.send("GET", path)
    }
    return reply
  }

  @Test("Without a fault the answer is complete")
  func control() async throws {
    for fault in [["remaining": 0], ["path": "/other"], ["method": "PUT"]] as [JSONValue] {
      var spoilt = fault
      spoilt[at: "answer"] = "close"
      let reply = try await reply(spoilt)
      #expect(reply?.twitterCode == 34)
      #expect(reply?.header("content-length") == reply.map { String($0.body.count) })
    }
  }

  @Test("A fault sets status, body, content type and headers")
  func status() async throws {
    let reply = try #require(
      try await reply([
        "answer": "status", "status": 503, "body": "later", "contentType": "text/x",
        "headers": ["Retry-After": "7"],
      ]))
    #expect(reply.status == 503)
    #expect(reply.text == "later")
    #expect(reply.header("content-type") == "text/x")
    #expect(reply.header("retry-after") == "7")
  }

  @Test("A body can be an HTML page, invalid UTF-8 or unexpected JSON")
  func bodies() async throws {
    let page = try await reply(["answer": "html"])
    #expect(page?.status == 200)
    #expect(page?.text.hasPrefix("<!DOCTYPE html>") == true)
    let bytes = try #require(try await reply(["answer": "notUTF8"])).body
    #expect(String(validating: bytes, as: UTF8.self) == nil)
    let json = try await reply(["answer": "wrongJSON", "status": 403])
    #expect(json?.status == 403)
    #expect(json?.json?.array != nil)
  }

  @Test("A cut answer announces the full length and has half of the bytes")
  func cut() async throws {
    let whole = try #require(try await reply([:])).body
    let reply = try #require(try await reply(["answer": "cut"]))
    #expect(reply.status == 404)
    #expect(reply.header("content-length") == String(whole.count))
    #expect(reply.body == Array(whole.prefix(whole.count / 2)))
  }

  @Test("A closed connection has no byte of an answer")
  func close() async throws {
    try await TestSandbox.run { sandbox async throws in
      try await sandbox.patch(["faults": ["fault": ["answer": "close"]]])
      let request = Array("GET / HTTP/1.1\r\nHost: x\r\n\r\n".utf8)
      #expect(try await sandbox.providers.exchange(request).isEmpty)
      #expect(try await sandbox.log().map { $0["fault"] } == ["fault"])
    }
  }

  @Test("A huge body has the configured number of bytes")
  func huge() async throws {
    let reply = try #require(try await reply(["answer": "huge", "bytes": 3_000_000]))
    #expect(reply.header("content-length") == "3000000")
    #expect(reply.body.count == 3_000_000)
    let chunked = try #require(try await self.reply(["answer": "hugeChunked", "bytes": 100_000]))
    #expect(chunked.header("transfer-encoding") == "chunked")
    #expect(chunked.body.count { $0 == UInt8(ascii: " ") } == 100_000)
    #expect(chunked.text.hasSuffix("\r\n0\r\n\r\n"))
  }

  @Test("A fault skips requests, then counts down, and the first matching fault applies")
  func counting() async throws {
    try await TestSandbox.run { sandbox async throws in
      try await sandbox.patch([
        "faults": [
          "first": ["path": "/me", "skip": 1, "remaining": 2, "answer": "status", "status": 501],
          "second": ["answer": "status", "status": 502],
        ]
      ])
      var statuses: [Int?] = []
      for _ in 0..<4 {
        statuses.append(try await sandbox.providers.send("GET", "/me?a=b")?.status)
      }
      #expect(statuses == [502, 501, 501, 502])
      #expect(try await sandbox.state().at(pointer: "/faults/first/remaining") == 0)
    }
  }

  @Test("With worksFirst a provider handles the request before it closes the connection")
  func worksFirst() async throws {
    try await TestSandbox.run { sandbox async throws in
      for (fault, isUsed) in [
        (["answer": "close"], false), (["answer": "close", "worksFirst": true], true),
        (["answer": "cut"], true),
      ] as [(JSONValue, Bool)] {
        let line = try #require(try await sandbox.requestToken()).text
        try await sandbox.patch(["faults": ["fault": fault]])
        _ = try await sandbox.accessToken(line)
        try await sandbox.patch(["faults": ["fault": .null]])
        let again = try await sandbox.accessToken(line)
        #expect(again?.status == (isUsed ? 401 : 200))
      }
    }
  }

  @Test("A slow answer does not delay others")
  func slow() async throws {
    try await TestSandbox.run { sandbox async throws in
      try await sandbox.patch([
        "faults": ["fault": ["path": "/me", "delayMilliseconds": 3_600_000]]
      ])
      let slow = Task { try await sandbox.providers.send("GET", "/me") }
      while try await sandbox.log().isEmpty { await Task.yield() }
      #expect(try await sandbox.providers.send("GET", "/other")?.status == 404)
      slow.cancel()
    }
  }
}
