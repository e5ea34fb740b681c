import Einlass
import EinlassNetwork
import Testing

extension Network {
  @Suite struct FaultTests {
    @Test func `a host that does not listen, does not exist or is out of reach has its number`()
      async throws
    {
      let server = try await HostileServer.fresh()
      let refused = await problem(HTTPRequest(.get, server.address("refused")))
      #expect(refused?.networkCode == -1004)
      #expect(refused?.isRetryable == true && refused?.mayHaveArrived == false)
      // Too long for a label of the DNS, so that nobody is asked.
      let nowhere = WebAddress(scheme: .https, host: String(repeating: "a", count: 64) + ".test")
      #expect(await problem(HTTPRequest(.get, nowhere))?.networkCode == -1003)
      // Nothing can be connected to the broadcast address: the kernel says that the network is unreachable.
      let broadcast = WebAddress(scheme: .https, host: "255.255.255.255")
      #expect(await problem(HTTPRequest(.get, broadcast))?.networkCode == -1009)
      // The control: one that listens.
      #expect(await problem(server.request("/ok")) == nil)
    }

    @Test(
      "an answer that does not come to its end ends in −1001",
      arguments: ["/drip-head", "/drip-body", "/silence"])
    func slow(path: String) async throws {
      let server = try await HostileServer.fresh()
      let impatient = client { $0.total = .milliseconds(300) }
      let first = await problem(server.request(path), by: impatient)
      #expect(first?.networkCode == -1001)
      #expect(first?.isRetryable == true && first?.mayHaveArrived == true)

      // A few bytes a second do not keep a transfer alive until the limit of 20 s.
      let strict = client { $0.slow = .seconds(1) }
      #expect(await problem(server.request(path), by: strict)?.networkCode == -1001)

      var short = server.request(path)
      short.timeout = .milliseconds(200)
      #expect(await problem(short)?.networkCode == -1001)
      // The control: the same patience is enough for an honest answer.
      #expect(await isAnswered(server.request("/ok"), by: impatient))
    }

    @Test func `TLS that never begins ends in −1001 after the time for connecting`() async throws {
      let server = try await HostileServer.fresh()
      let impatient = client(caFile: server.caFile) { $0.connect = .milliseconds(300) }
      let stalled = HTTPRequest(.get, server.address("stalled"))
      let problem = await problem(stalled, by: impatient)
      #expect(problem?.networkCode == -1001 && problem?.mayHaveArrived == false)
      // The control: connecting itself is possible in that time.
      #expect(await isAnswered(HTTPRequest(.get, server.address("good")), by: impatient))
    }

    /// On a busy machine not always at once.
    private func isAnswered(_ request: HTTPRequest, by client: CurlClient) async -> Bool {
      for _ in 0..<10 where await problem(request, by: client) == nil { return true }
      return false
    }

    @Test func `nothing is sent once the time is used up`() async throws {
      let server = try await HostileServer.fresh()
      var request = server.request("/ok")
      request.timeout = .zero
      #expect(await problem(request)?.networkCode == -1001)
      #expect(try await server.events("request", at: "plain").isEmpty)
    }

    @Test(
      "answers without end are cut off at the limit",
      arguments: [
        "/body-without-end", "/body-until-close", "/body-announced", "/header-without-end",
        "/headers-without-end", "/interim-without-end", "/trailers-without-end",
        "/bomb-without-end",
      ])
    func endless(path: String) async throws {
      let server = try await HostileServer.fresh()
      #expect(await problem(server.request(path))?.networkCode == -1103)
      try await server.wait(for: "stopped")
      // What did not fit into the sockets' buffers was never sent.
      #expect(try #require(try await server.events("stopped").first?.sent) < 16 << 20)
    }

    /// Within what a request may take: 30 s, 64 KiB of head and 1 MiB of body. C-92.
    @Test func `the usual limits are those of the threat model`() async throws {
      let limits = TransferLimits()
      #expect(
        (limits.connect, limits.total, limits.slow) == (.seconds(10), .seconds(20), .seconds(10)))
      #expect(limits.slowBytesPerSecond == 100)
      #expect((limits.headerBytes, limits.headerLines) == (64 << 10, 200))
      let server = try await HostileServer.fresh()
      #expect(
        try await CurlClient().send(server.request("/body-of/\(1 << 20)")).body.count == 1 << 20)
      #expect(await problem(server.request("/body-of/\(1 << 20 + 1)"))?.networkCode == -1103)
    }

    @Test func `what comes behind the announced length is nobody's answer`() async throws {
      let server = try await HostileServer.fresh()
      let client = client()
      for _ in 0..<3 {
        let cut = try await client.send(server.request("/too-much"))
        #expect(cut.body == Array("hel".utf8) && cut.status == 200)
        // Nor the next one's, on the connection that was kept.
        #expect(try await client.send(server.request("/ok")).body == Array("hello".utf8))
      }
    }

    @Test func `the limits are exact`() async throws {
      let server = try await HostileServer.fresh()
      let client = client {
        $0.headerBytes = 1000
        $0.headerLines = 20
      }
      var request = server.request("/body-of/5000")
      request.responseLimitBytes = 5000
      #expect(try await client.send(request).body.count == 5000)
      request.responseLimitBytes = 4999
      #expect(await problem(request, by: client)?.networkCode == -1103)
      // Status line, the header asked for, Content-Length and the empty line.
      #expect(await problem(server.request("/headers-of/17"), by: client) == nil)
      #expect(await problem(server.request("/headers-of/18"), by: client)?.networkCode == -1103)
      let besides = "HTTP/1.1 200 OK\r\nX-Long: \r\nContent-Length: 0\r\n\r\n".utf8.count
      let exact = "/header-of/\(1000 - besides)"
      #expect(await problem(server.request(exact), by: client) == nil)
      let over = "/header-of/\(1001 - besides)"
      #expect(await problem(server.request(over), by: client)?.networkCode == -1103)
    }

    @Test(
      "an answer that breaks off or is none has its number",
      arguments: [
        ("/truncated", -1005), ("/truncated-chunk", -1005), ("/nothing", -1011),
        ("/garbage", -1011), ("/old-http", -1011),
      ])
    func broken(path: String, code: Int) async throws {
      let server = try await HostileServer.fresh()
      let problem = await problem(server.request(path))
      #expect(problem?.networkCode == code && problem?.mayHaveArrived == true)
    }

    @Test func `a reset after any number of bytes is a failure and never half an answer`()
      async throws
    {
      let server = try await HostileServer.fresh()
      let client = client()
      for offset in 0..<200 {
        let problem = await problem(server.request("/reset/\(offset)"), by: client)
        #expect([-1005, -1011].contains(problem?.networkCode), "after \(offset) bytes")
      }
      // The control: the same client goes on working.
      #expect(await self.problemOfOk(server, client) == nil)
    }

    @Test func `an answer that ends early as if all were well is never an empty one`() async throws
    {
      let server = try await HostileServer.fresh()
      let client = client()
      let length = "HTTP/1.1 200 OK\r\nX-One: 1\r\nContent-Length: 5\r\n\r\nhello".utf8.count
      for count in 0..<length {
        let problem = await problem(server.request("/cut/\(count)"), by: client)
        #expect([-1005, -1011].contains(problem?.networkCode), "after \(count) bytes")
      }
      // The control: the whole of it is an answer.
      let answer = try await client.send(server.request("/cut/\(length)"))
      #expect(answer.body == Array("hello".utf8))
    }

    private func problemOfOk(_ server: HostileServer, _ client: CurlClient) async -> Problem? {
      await problem(server.request("/ok"), by: client)
    }

    @Test(
      "compressed answers are never unpacked",
      arguments: ["declared", "undeclared", "br", "zstd", "stacked", "transfer"])
    func compressed(how: String) async throws {
      let server = try await HostileServer.fresh()
      let request = server.request("/compressed/10000000/\(how)")
      switch await Result({ try await CurlClient().send(request) }) {
      case .success(let answer):
        #expect(how != "transfer")
        #expect(answer.body.count == (try await server.events("compressed").first?.size))
      case .failure(let error):
        // Such a coding may not be used unasked, and libcurl would unpack it.
        #expect(how == "transfer")
        #expect((error as? Problem)?.networkCode == -1016)
      }
    }
  }
}

extension Result where Failure == any Error {
  init(_ body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}
