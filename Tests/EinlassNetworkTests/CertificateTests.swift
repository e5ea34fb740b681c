import Einlass
import EinlassNetwork
import Testing

extension Network {
  @Suite struct CertificateTests {
    @Test func `A configured certificate authority is trusted, for an address and for a name`()
      async throws
    {
      let server = try await HostileServer.fresh()
      let client = client(caFile: server.caFile)
      for host in ["127.0.0.1", "localhost"] {
        let address = server.address("good", host: host)
        let answer = try await client.send(HTTPRequest(.get, address))
        #expect(answer.status == 200)
        #expect(answer.body == Array("hello".utf8))
      }
      // Negative control for the tests below: the server does count received bytes.
      #expect(try await !server.events("bytes", at: "good").isEmpty)
    }

    @Test(
      "The generators of the wrong certificates below also make good ones",
      arguments: ["rsa", "chained", "renamed", "renamedCommonName"])
    func goodCertificates(listener: String) async throws {
      let server = try await HostileServer.fresh()
      let request = HTTPRequest(.get, server.address(listener, host: "localhost"))
      #expect(try await client(caFile: server.caFile).send(request).status == 200)
    }

    @Test(
      "An invalid certificate is refused before a byte of the request is sent",
      arguments: [
        ("expired", "127.0.0.1", [-1201]), ("notYet", "127.0.0.1", [-1204]),
        ("wrongHost", "127.0.0.1", [-1202]), ("wrongHost", "localhost", [-1202]),
        ("wrongAddress", "127.0.0.1", [-1202]),
        ("unknownAuthority", "127.0.0.1", [-1203]), ("selfSigned", "127.0.0.1", [-1203]),
        ("shortKey", "127.0.0.1", [-1202]), ("sha1", "127.0.0.1", [-1202]),
        ("sha1Authority", "127.0.0.1", [-1202]),
        ("nulInName", "localhost", [-1202]), ("nulInCommonName", "localhost", [-1202]),
        ("old", "127.0.0.1", [-1200]),
      ])
    func wrongCertificates(listener: String, host: String, codes: [Int]) async throws {
      let server = try await HostileServer.fresh()
      try await Self.expectRefusal(of: listener, by: server, host: host, codes: codes)
    }

    @Test func `A private certificate authority is not trusted without being configured`()
      async throws
    {
      let server = try await HostileServer.fresh()
      try await Self.expectRefusal(of: "good", by: server, isNamed: false, codes: [-1202, -1203])
    }

    /// Expects that a request with secrets fails with one of these codes, without a byte of it
    /// sent.
    private static func expectRefusal(
      of listener: String, by server: HostileServer, host: String = "127.0.0.1",
      isNamed: Bool = true, codes: [Int]
    ) async throws {
      let request = HTTPRequest(
        .post, server.address(listener, host: host), headers: [.init("Authorization", "Bearer t")],
        body: Array("secret".utf8))
      let client = client(caFile: isNamed ? server.caFile : nil)
      let problem = try #require(await problem(request, by: client))
      client.close()
      #expect(problem.reason == .networkFailure)
      #expect(codes.contains(problem.networkCode ?? 0))
      #expect(!problem.isRetryable)
      #expect(problem.message.contains(host) && !problem.message.contains("/ok"))
      #expect((problem.advice == .checkClock) == [-1201, -1204].contains(codes[0]))
      #expect(try await server.events("connection", at: listener).count == 1)
      #expect(try await server.events("bytes", at: listener).isEmpty)
    }

    @Test func `A certificate file that cannot be read is named in the problem`() async throws {
      let server = try await HostileServer.fresh()
      let file = server.folder + "/no-such.pem"
      let problem = await problem(
        HTTPRequest(.get, server.address("good")), by: client(caFile: file))
      #expect(problem?.networkCode == -1200)
      #expect(problem?.path == file)
    }
  }
}
