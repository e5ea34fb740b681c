import Einlass
import EinlassNetwork
import Testing

extension Network {
  @Suite struct FaultTests {
    @Test func `A host that refuses, does not exist or cannot be reached has its own error code`()
      async throws
    {
      let server = try await HostileServer.fresh()
      let refused = await problem(HTTPRequest(.get, server.address("refused")))
      #expect(refused?.networkCode == -1004)
      #expect(refused?.isRetryable == true && refused?.mayHaveArrived == false)
      // A label of the DNS has at most 63 bytes, so no name server is asked.
      let nowhere = WebAddress(scheme: .https, host: String(repeating: "a", count: 64) + ".test")
      #expect(await problem(HTTPRequest(.get, nowhere))?.networkCode == -1003)
      // The kernel reports the broadcast address as unreachable.
      let broadcast = WebAddress(scheme: .https, host: "255.255.255.255")
      #expect(await problem(HTTPRequest(.get, broadcast))?.networkCode == -1009)
      // Negative control: a host that listens.
      #expect(await problem(server.request("/ok")) == nil)
    }

    @Test(
      "An answer that does not end in time fails with −1001",
      arguments: ["/drip-head", "/drip-body", "/silence"])
    func slow(path: String) async throws {
      let server = try await HostileServer.fresh()
      let impatient = client { $0.total = .milliseconds(300) }
      let first = await problem(server.request(path), by: impatient)
      #expect(first?.networkCode == -1001)
      #expect(first?.isRetryable == true && first?.mayHaveArrived == true)

      // The limit for slow transfers ends a transfer of a few bytes a second before the 20 s in
      // total.
      let strict = client { $0.slow = .seconds(1) }
      #expect(await problem(server.request(path), by: strict)?.networkCode == -1001)

      var short = server.request(path)
      short.timeout = .milliseconds(200)
      #expect(await problem(short)?.networkCode == -1001)
      // Negative control: the same limits are enough for an ordinary answer.
      #expect(await isAnswered(server.request("/ok"), by: impatient))
    }

    @Test func `A TLS handshake that never begins fails with −1001 after the time for connecting`()
      async throws
    {
      let server = try await HostileServer.fresh()
      let impatient = client(caFile: server.caFile) { $0.connect = .milliseconds(300) }
      let stalled = HTTPRequest(.get, server.address("stalled"))
      let problem = await problem(stalled, by: impatient)
      #expect(problem?.networkCode == -1001 && problem?.mayHaveArrived == false)
      // Negative control: a connection is possible in that time.
      #expect(await isAnswered(HTTPRequest(.get, server.address("good")), by: impatient))
    }

    /// Tries several times, because a busy machine can exceed the short limits.
    private func isAnswered(_ request: HTTPRequest, by client: CurlClient) async -> Bool {
      for _ in 0..<10 where await problem(request, by: client) == nil { return true }
      return false
    }

    @Test func `No request is sent once its time is used up`() async throws {
      let server = try await HostileServer.fresh()
      var request = server.request("/ok")
      request.timeout = .zero
      #expect(await problem(request)?.networkCode == -1001)
      #expect(try await server.events("request", at: "plain").isEmpty)
    }

    @Test(
      "Answers without end are cut off at the limit",
      arguments: [
        "/body-without-end", "/body-until-close", "/body-announced", "/header-without-end",
        "/headers-without-end", "/interim-without-end", "/trailers-without-end",
        "/bomb-without-end",
      ])
    func endless(path: String) async throws {
      let server = try await HostileServer.fresh()
      #expect(await problem(server.request(path))?.networkCode == -1103)
      try await server.wait(for: "stopped")
      // The server can only have sent as much as the socket buffers hold.
      #expect(try #require(try await server.events("stopped").first?.sent) < 16 << 20)
    }

    /// The limits of one request: 30 s to connect and transfer, 64 KiB of head and 1 MiB of body.
    @Test func `The default limits of a transfer are the documented ones`() async throws {
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

    @Test func `Bytes after the announced length belong to no answer`() async throws {
      let server = try await HostileServer.fresh()
      let client = client()
      for _ in 0..<3 {
        let cut = try await client.send(server.request("/too-much"))
        #expect(cut.body == Array("hel".utf8) && cut.status == 200)
        // They are not part of the next answer on the same connection either.
        #expect(try await client.send(server.request("/ok")).body == Array("hello".utf8))
      }
    }

    @Test func `The limits are exact`() async throws {
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
      // Status line, the configured headers, Content-Length and the empty line make 20 lines.
      #expect(await problem(server.request("/headers-of/17"), by: client) == nil)
      #expect(await problem(server.request("/headers-of/18"), by: client)?.networkCode == -1103)
      let besides = "HTTP/1.1 200 OK\r\nX-Long: \r\nContent-Length: 0\r\n\r\n".utf8.count
      let exact = "/header-of/\(1000 - besides)"
      #expect(await problem(server.request(exact), by: client) == nil)
      let over = "/header-of/\(1001 - besides)"
      #expect(await problem(server.request(over), by: client)?.networkCode == -1103)
    }

    @Test(
      "An answer that breaks off or is not HTTP has its error code",
      arguments: [
        ("/truncated", -1005), ("/truncated-chunk", -1005), ("/nothing", -1011),
        ("/garbage", -1011), ("/old-http", -1011),
      ])
    func broken(path: String, code: Int) async throws {
      let server = try await HostileServer.fresh()
      let problem = await problem(server.request(path))
      #expect(problem?.networkCode == code && problem?.mayHaveArrived == true)
    }

    @Test func `A reset after any number of bytes is a failure and never half an answer`()
      async throws
    {
      let server = try await HostileServer.fresh()
      let client = client()
      for offset in 0..<200 {
        let problem = await problem(server.request("/reset/\(offset)"), by: client)
        #expect([-1005, -1011].contains(problem?.networkCode), "after \(offset) bytes")
      }
      // Negative control: the same client goes on working.
      #expect(await self.problemOfOk(server, client) == nil)
    }

    @Test func `An answer that the server closes early is a failure and never an empty answer`()
      async throws
    {
      let server = try await HostileServer.fresh()
      let client = client()
      let length = "HTTP/1.1 200 OK\r\nX-One: 1\r\nContent-Length: 5\r\n\r\nhello".utf8.count
      for count in 0..<length {
        let problem = await problem(server.request("/cut/\(count)"), by: client)
        #expect([-1005, -1011].contains(problem?.networkCode), "after \(count) bytes")
      }
      // Negative control: the complete answer is accepted.
      let answer = try await client.send(server.request("/cut/\(length)"))
      #expect(answer.body == Array("hello".utf8))
    }

    private func problemOfOk(_ server: HostileServer, _ client: CurlClient) async -> Problem? {
      await problem(server.request("/ok"), by: client)
    }

    @Test(
      "One layer of gzip or deflate is decoded, and any other coding is refused",
      arguments: [
        ("declared", nil), ("x-gzip", nil), ("identity", nil), ("undeclared", nil),
        ("br", "is compressed with br"), ("zstd", "is compressed with zstd"),
        ("gzip,gzip", "is compressed with gzip,gzip"),
        // libcurl refuses more than five layers by itself.
        ("stacked", "cannot be decoded"),
        ("transfer", "cannot be decoded"), ("br!", "is compressed with an unknown coding"),
      ] as [(String, String?)])
    func compressed(how: String, words: String?) async throws {
      let server = try await HostileServer.fresh()
      var request = server.request("/compressed/1000000/\(how)")
      request.responseLimitBytes = 1_000_000
      switch await Result({ try await CurlClient().send(request) }) {
      case .success(let answer):
        let sent = try await server.events("compressed").first?.size
        let isDecoded = ["declared", "x-gzip"].contains(how)
        #expect(words == nil && answer.body.count == (isDecoded ? 1_000_000 : sent))
      case .failure(let error):
        #expect((error as? Problem)?.networkCode == -1016)
        #expect((error as? Problem)?.message.contains(words ?? "no refusal") == true)
      }
    }

    /// The limit counts decoded bytes as they come: ten million in ten thousand.
    @Test(arguments: [0, 1])
    func `A compressed answer is cut at the limit of its decoded body`(excess: Int) async throws {
      let server = try await HostileServer.fresh()
      var request = server.request("/compressed/10000000/declared")
      request.responseLimitBytes = 10_000_000 - excess
      let problem = await problem(request, by: CurlClient())
      #expect(problem?.networkCode == (excess == 0 ? nil : -1103))
      #expect(try await server.events("compressed").first?.size ?? .max < 10_000_000 / 900)
    }
  }
}

extension Result where Failure == any Error {
  init(_ body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}
