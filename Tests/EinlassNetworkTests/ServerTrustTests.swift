import Einlass
import EinlassNetwork
import Testing

extension Network {
  /// Accepted public keys and the certificates of servers.
  @Suite struct ServerTrustTests {
    private static func request(_ address: WebAddress, _ key: String) -> HTTPRequest {
      var request = HTTPRequest(.get, address)
      request.trust = ServerTrust(publicKey: key)
      return request
    }

    @Test(
      arguments: [
        ("good", "127.0.0.1", nil), ("selfSigned", "127.0.0.1", .selfSigned),
        ("expired", "127.0.0.1", .expired), ("notYet", "127.0.0.1", .notYetValid),
        ("wrongHost", "localhost", .otherHost),
        ("unknownAuthority", "127.0.0.1", .unknownAuthority),
        ("sha1", "127.0.0.1", .untrusted),
      ] as [(String, String, ServerCertificate.Fault?)])
    func `A certificate is read with its fault, without a request`(
      listener: String, host: String, fault: ServerCertificate.Fault?
    ) async throws {
      let server = try await HostileServer.fresh()
      let client = client(caFile: server.caFile)
      let address = server.address(listener, host: host)
      let certificate = try #require(try await client.certificate(at: address, ServerTrust()))
      #expect(certificate.fault == fault && ServerTrust.isPublicKey(certificate.publicKey))
      #expect(try await server.events("bytes", at: listener).isEmpty)
    }

    @Test func `A server with the accepted key gets the request, another one gets no byte`()
      async throws
    {
      let server = try await HostileServer.fresh()
      let client = client()
      let (own, other) = (server.address("selfSigned"), server.address("unknownAuthority"))
      let key = try #require(try await client.certificate(at: own, ServerTrust())).publicKey
      #expect(try await client.send(Self.request(own, key)).status == 200)
      let problem = await #expect(throws: Problem.self) {
        try await client.send(Self.request(other, key))
      }
      #expect(problem?.networkCode == -1202 && problem?.mayHaveArrived == false)
      #expect(try await server.events("bytes", at: "unknownAuthority").isEmpty)
      // The control: with its own key that server gets the request, so the count would notice it.
      let otherKey = try #require(
        try await client.certificate(at: other, ServerTrust())
      ).publicKey
      #expect(try await client.send(Self.request(other, otherKey)).status == 200)
      #expect(try await !server.events("bytes", at: "unknownAuthority").isEmpty)
    }

    @Test func `A connection of an accepted key does not serve a request without it`() async throws
    {
      let server = try await HostileServer.fresh()
      let client = client()
      let own = server.address("selfSigned")
      let key = try #require(try await client.certificate(at: own, ServerTrust())).publicKey
      #expect(try await client.send(Self.request(own, key)).status == 200)
      let problem = await #expect(throws: Problem.self) {
        try await client.send(HTTPRequest(.get, own))
      }
      #expect(problem?.networkCode == -1203)
    }

    @Test func `The authorities of a request serve it alone`() async throws {
      let server = try await HostileServer.fresh()
      let client = client()
      var request = HTTPRequest(.get, server.address("good"))
      request.trust = ServerTrust(caFile: server.caFile)
      #expect(try await client.send(request).status == 200)
      request.trust = ServerTrust()
      let problem = await #expect(throws: Problem.self) { try await client.send(request) }
      #expect(problem?.networkCode == -1203)
    }

    @Test func `A file of authorities is named with the place that it comes from`() async throws {
      let server = try await HostileServer.fresh()
      let file = server.folder + "/no.pem"
      var request = HTTPRequest(.get, server.address("good"))
      let configured = await problem(request, by: client(caFile: file))
      #expect(configured?.advice == .checkCAFile && configured?.path == file)
      request.trust = ServerTrust(caFile: file)
      let ofServer = await problem(request, by: client(caFile: server.caFile))
      #expect(ofServer?.advice == .checkServerCAFile && ofServer?.path == file)
    }

    @Test func `A server out of reach has no certificate`() async throws {
      let server = try await HostileServer.fresh()
      let problem = await #expect(throws: Problem.self) {
        var address = server.address("good")
        address.port = 1
        return try await client().certificate(at: address, ServerTrust())
      }
      #expect(problem?.networkCode == -1004)
    }
  }
}
