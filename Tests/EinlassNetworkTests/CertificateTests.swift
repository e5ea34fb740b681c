import Einlass
import EinlassNetwork
import Testing

extension Network {
  @Suite struct CertificateTests {
    @Test func `a private authority is trusted once it is named, by address and by name`()
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
      // The control for the tests below: the server does count what arrives.
      #expect(try await !server.events("bytes", at: "good").isEmpty)
    }

    @Test(
      "a certificate that is not right is refused before a byte of the request is sent",
      arguments: [
        ("expired", true, [-1201]), ("notYet", true, [-1204]), ("wrongHost", true, [-1202]),
        ("unknownAuthority", true, [-1203]), ("selfSigned", true, [-1203]),
        ("good", false, [-1202, -1203]), ("old", true, [-1200]),
      ])
    func wrongCertificates(listener: String, isNamed: Bool, codes: [Int]) async throws {
      let server = try await HostileServer.fresh()
      let request = HTTPRequest(
        .post, server.address(listener), headers: [.init("Authorization", "Bearer t")],
        body: Array("secret".utf8))
      let client = client(caFile: isNamed ? server.caFile : nil)
      let problem = try #require(await problem(request, by: client))
      client.close()
      #expect(problem.reason == .networkFailure)
      #expect(codes.contains(problem.networkCode ?? 0))
      #expect(!problem.isRetryable)
      #expect(problem.message.contains("127.0.0.1") && !problem.message.contains("/ok"))
      #expect(problem.advice == ([-1201, -1204].contains(codes[0]) ? .checkClock : nil))
      #expect(try await server.events("connection", at: listener).count == 1)
      #expect(try await server.events("bytes", at: listener).isEmpty)
    }

    @Test func `a file of certificates that cannot be read is named`() async throws {
      let server = try await HostileServer.fresh()
      let file = server.folder + "/no-such.pem"
      let problem = await problem(
        HTTPRequest(.get, server.address("good")), by: client(caFile: file))
      #expect(problem?.networkCode == -1200)
      #expect(problem?.path == file)
    }
  }
}
