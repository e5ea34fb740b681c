import Einlass
import EinlassNetwork
import Foundation
import Testing

/// RFC 8705 section 2, RFC 8446 section 4.4.2: the client presents a certificate.
extension Network {
  @Suite struct ClientCertificateTests {
    /// Both listeners demand a certificate of the authority. With TLS 1.3 the refusal follows the
    /// handshake.
    private static let listeners = ["mutual", "mutual12"]

    private static func identity(
      _ name: String, key: String? = nil, of server: HostileServer
    ) throws -> ClientIdentity {
      func text(_ file: String) throws -> String {
        try String(contentsOfFile: "\(server.folder)/\(file)", encoding: .utf8)
      }
      return ClientIdentity(
        certificate: try text("\(name).pem"), privateKey: Secret(try text("\(key ?? name).key")))
    }

    private static func request(
      _ listener: String, _ identity: ClientIdentity?, of server: HostileServer
    ) -> HTTPRequest {
      var request = HTTPRequest(
        .post, server.address(listener, "/ok"), body: Array("secret".utf8))
      request.identity = identity
      return request
    }

    @Test(
      "A server that demands a certificate gets it", arguments: listeners,
      ["good", "rsa", "chained"])
    func accepted(listener: String, name: String) async throws {
      let server = try await HostileServer.fresh()
      let request = Self.request(listener, try Self.identity(name, of: server), of: server)
      #expect(try await client(caFile: server.caFile).send(request).status == 200)
      #expect(try await server.events("peer").map(\.host) == [name])
    }

    @Test func `A connection is reused for the same certificate alone`() async throws {
      let server = try await HostileServer.fresh()
      let client = client(caFile: server.caFile)
      let names = ["good", "good", "rsa", "rsa", "good"]
      for name in names {
        let request = Self.request("mutual", try Self.identity(name, of: server), of: server)
        #expect(try await client.send(request).status == 200)
      }
      let plain = await problem(Self.request("mutual", nil, of: server), by: client)
      #expect(plain?.networkCode == -1206)
      client.close()
      // One connection for each certificate, and one without.
      #expect(try await server.events("peer").map(\.host) == ["good", "rsa"])
      let connections = try await server.events("request").map { $0.connection ?? 0 }
      try #require(connections.count == names.count)
      #expect(connections[0] == connections[1] && connections[0] == connections[4])
      #expect(connections[2] == connections[3] && connections[0] != connections[2])
    }

    @Test("A refused certificate and a missing one have numbers of their own", arguments: listeners)
    func refused(listener: String) async throws {
      let server = try await HostileServer.fresh()
      for (name, code) in [("unknownAuthority", -1205), ("expired", -1205), (nil, -1206)] {
        let identity = try name.map { try Self.identity($0, of: server) }
        let problem = await problem(
          Self.request(listener, identity, of: server), by: client(caFile: server.caFile))
        // TLS 1.2 has no alert for a missing certificate.
        let expected = listener == "mutual12" && identity == nil ? -1200 : code
        #expect(problem?.networkCode == expected)
        #expect(problem?.reason == .networkFailure && problem?.isRetryable == false)
        #expect(problem?.mayHaveArrived == false)
        #expect(problem?.message.contains("127.0.0.1") == true)
      }
      #expect(try await server.events("request").isEmpty)
    }

    @Test func `A server that demands no certificate takes a request with one`() async throws {
      let server = try await HostileServer.fresh()
      let request = Self.request(
        "good", try Self.identity("unknownAuthority", of: server), of: server)
      #expect(try await client(caFile: server.caFile).send(request).status == 200)
    }

    @Test func `A key of another certificate and an encrypted key fail without a request`()
      async throws
    {
      let server = try await HostileServer.fresh()
      let text = try String(contentsOfFile: "\(server.folder)/good.pem", encoding: .utf8)
      let encrypted = try String(contentsOfFile: "\(server.folder)/encrypted.key", encoding: .utf8)
      for identity in [
        try Self.identity("good", key: "rsa", of: server),
        ClientIdentity(certificate: text, privateKey: Secret(encrypted)),
      ] {
        let problem = await problem(
          Self.request("mutual", identity, of: server), by: client(caFile: server.caFile))
        #expect(problem?.networkCode == -1 && problem?.mayHaveArrived == false)
      }
      #expect(try await server.events("handshake").isEmpty)
    }
  }
}
