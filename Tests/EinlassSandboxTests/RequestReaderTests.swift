import Testing

@testable import EinlassSandbox

struct RequestReaderTests {
  /// Returns the requests of a text that arrives in pieces of this size.
  private func read(_ text: String, pieces: Int = .max, bodyLimit: Int = 100) throws
    -> [RequestReader.Received]
  {
    var reader = RequestReader(bodyLimit: bodyLimit)
    var received: [RequestReader.Received] = []
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      reader.append(Array(rest.prefix(pieces)))
      rest = rest.dropFirst(pieces)
      while let next = try reader.next() { received.append(next) }
    }
    return received
  }

  @Test("Requests are the same for any division of the bytes", arguments: [1, 2, 3, 7, 1000])
  func pieces(size: Int) throws {
    let text =
      "POST /a%2Fb?c=d&e HTTP/1.1\r\nHost: x\r\nContent-length:3\r\n\r\nabc"
      + "PUT /chunks HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
      + "3;x=y\r\nabc\r\n0a\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n"
      + "GET http://example.org?q HTTP/1.0\r\n\r\n"
    let requests = try read(text, pieces: size)
    #expect(requests.map(\.request.method) == ["POST", "PUT", "GET"])
    #expect(requests.map(\.request.path) == ["/a%2Fb", "/chunks", "/"])
    #expect(requests.map(\.request.rawQuery) == ["c=d&e", "", ""])
    #expect(requests.map(\.isLast) == [false, false, true])
    #expect(requests[0].request.header("HOST") == "x")
    #expect(requests[0].request.body == Array("abc".utf8))
    #expect(requests[1].request.body == Array("abc0123456789".utf8))
  }

  @Test(
    "A malformed request is refused with its status",
    arguments: [
      ("GET /\r\n\r\n", 400), ("GET  / HTTP/1.1\r\n\r\n", 400), (" GET / HTTP/1.1\r\n\r\n", 400),
      ("GET x HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/2.0\r\n\r\n", 505),
      ("GET / HTTP/1.1\r\nx\r\n\r\n", 400), ("GET / HTTP/1.1\r\n: x\r\n\r\n", 400),
      ("GET / HTTP/1.1\r\nx : y\r\n\r\n", 400),
      ("GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
      ("GET / HTTP/1.1\r\nContent-Length: +1\r\n\r\n", 400),
      ("GET / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", 400),
      ("GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", 400),
      ("GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
      ("GET / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 400),
      ("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", 400),
      ("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", 400),
      ("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", 400),
      ("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n", 413),
      ("GET / HTTP/1.1\r\nContent-Length: 101\r\n\r\n" + String(repeating: "a", count: 101), 413),
    ])
  func flaws(text: String, status: Int) throws {
    let flaw = try #require(throws: RequestReader.Flaw.self) { try read(text) }
    #expect(flaw.status == status)
  }

  @Test("A head may be as long as the limit and no longer")
  func headLimit() throws {
    let start = "GET / HTTP/1.1\r\nX: "
    let fits = start + String(repeating: "a", count: RequestReader.headLimit - start.utf8.count)
    #expect(try read(fits + "\r\n\r\n", pieces: 4096).count == 1)
    let flaw = try #require(throws: RequestReader.Flaw.self) {
      try read(fits + "a\r\n\r\n", pieces: 4096)
    }
    #expect(flaw.status == 431)
  }

  @Test("An announced body that never arrives gives no request")
  func missingBody() throws {
    #expect(
      try read("GET / HTTP/1.1\r\nContent-Length: 9223372036854775807\r\n\r\nabc").isEmpty)
  }

  @Test("A client that expects 100-continue gets it once")
  func expectation() throws {
    var reader = RequestReader(bodyLimit: 100)
    reader.append(
      Array("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n".utf8))
    #expect(try reader.next()?.request.path == nil)
    let expectations = [reader.takeExpectation(), reader.takeExpectation()]
    #expect(expectations == [true, false])
    reader.append([0])
    #expect(try reader.next()?.request.body == [0])
  }

  @Test("A repeated header is not read as either of its values")
  func duplicateHeaders() throws {
    let request = try read("GET / HTTP/1.1\r\nauthorization: a\r\nAuthorization: b\r\n\r\n")[0]
    #expect(request.request.header("Authorization") == nil)
    #expect(request.request.headers.count == 2)
  }

  @Test("A connection serves several requests, and HEAD gets no body")
  func keepAlive() async throws {
    try await TestSandbox.run { sandbox async throws in
      let bytes = try await sandbox.providers.exchange(
        Array(
          "GET /1.1/x HTTP/1.1\r\n\r\nHEAD /1.1/x HTTP/1.1\r\nConnection: close\r\n\r\n".utf8))
      let text = String(decoding: bytes, as: UTF8.self)
      #expect(text.split(separator: "HTTP/1.1 404 Not Found\r\n").count == 2)
      #expect(text.split(separator: "Sorry").count == 2, "one body")
      #expect(text.hasSuffix("\r\n\r\n"))
    }
  }
}
