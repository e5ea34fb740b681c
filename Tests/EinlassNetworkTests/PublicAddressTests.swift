import Einlass
import Foundation
import Testing

@testable import EinlassNetwork

extension Network {
  /// The addresses that a stranger's text may lead to.
  @Suite struct PublicAddressTests {
    static let refused = [
      "0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255",
      "127.0.0.1", "127.255.255.255", "169.254.0.0", "169.254.169.254", "172.16.0.0",
      "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.0.0", "192.168.255.255",
      "198.18.0.0", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1",
      "239.255.255.255", "240.0.0.1", "255.255.255.255",
      "::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:8.8.8.8",
      "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808", "100::1", "2001::1",
      "2001:1ff:ffff::1", "2001:db8::1", "2002:7f00:1::", "2002:808:808::", "3fff::1",
      "3fff:fff::1", "4000::1", "fc00::1", "fdff::1", "fe80::1", "febf::1", "fec0::1", "ff02::1",
    ]
    static let accepted = [
      "1.0.0.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
      "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.1",
      "192.0.3.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0",
      "223.255.255.255",
      "2001:200::1", "2003::1", "2606:4700:4700::1111", "2a00:1450::1", "3ffe:ffff::1",
      "3fff:1000::1", "64:ff9b::808:808",
    ]

    /// The addresses of this machine and of its network. Others of `refused` are unusual, and give their
    /// servers no right.
    static let inner = [
      "0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255",
      "127.0.0.1", "127.255.255.255", "169.254.0.0",
      "169.254.169.254", "172.16.0.0", "172.31.255.255", "192.168.0.0", "192.168.255.255",
      "198.18.0.0", "198.19.255.255", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "fc00::1",
      "fdff::1", "fe80::1", "febf::1",
    ]

    private static func bytes(_ text: String) throws -> [UInt8] {
      let bytes = AddressBlock.address(text)
      try #require(bytes.count == (text.contains(":") ? 16 : 4))
      return bytes
    }

    @Test(arguments: refused + accepted)
    func `The addresses of the own network are a part of those that are not public`(
      text: String
    ) throws {
      #expect(try PublicAddress.isInternal(Self.bytes(text)) == Self.inner.contains(text))
    }

    @Test func `Only the text of an address is one`() {
      #expect(AddressBlock.address("10.0.0.5") == [10, 0, 0, 5])
      #expect(AddressBlock.address("[fd00::1]") == [0xFD] + [UInt8](repeating: 0, count: 14) + [1])
      for text in ["", "[", "[]", "10.0.0", "10.0.0.5:80", "login.example.com", "fd00::1%lo"] {
        #expect(AddressBlock.address(text).isEmpty, "\(text)")
      }
    }

    @Test(arguments: refused)
    func `An address of this machine or of its network is not public`(text: String) throws {
      #expect(try !PublicAddress.contains(Self.bytes(text)))
    }

    @Test(arguments: accepted)
    func `Every other address is public`(text: String) throws {
      #expect(try PublicAddress.contains(Self.bytes(text)))
    }

    @Test(arguments: [0, 3, 5, 15, 17])
    func `Another number of bytes is no address`(count: Int) {
      #expect(!PublicAddress.contains([UInt8](repeating: 8, count: count)))
    }

    private static func request(_ address: WebAddress) -> HTTPRequest {
      var request = HTTPRequest(.get, address)
      request.needsPublicAddress = true
      return request
    }

    @Test(arguments: ["localhost", "127.0.0.1"])
    func `No connection is made to a host that is not public`(host: String) async throws {
      let server = try await HostileServer.fresh()
      let client = client(caFile: server.caFile, proxy: "")
      let address = server.address("good", host: host)
      let refusal = await problem(Self.request(address), by: client)
      #expect(refusal?.reason == .unsafeURL && refusal?.detail == "notPublic")
      #expect(try await server.events("connection", at: "good").isEmpty)
      // Control: the server is there for another request, and its open connection is not used.
      #expect(try await client.send(HTTPRequest(.get, address)).status == 200)
      #expect(await problem(Self.request(address), by: client)?.detail == "notPublic")
      #expect(try await server.events("request", at: "good").count == 1)
    }

    @Test func `A host that the configuration names needs no public address`() async throws {
      let server = try await HostileServer.fresh()
      var configuration = CurlClient.Configuration(caFile: server.caFile, proxy: "")
      configuration.internalHosts = ["localhost"]
      let client = CurlClient(configuration)
      let admitted = Self.request(server.address("good", host: "localhost"))
      #expect(try await client.send(admitted).isFromInternalAddress)
      #expect(
        await problem(Self.request(server.address("good")), by: client)?.detail == "notPublic")
    }

    @Test func `Behind a proxy a literal and a name without a dot are not asked for`() async throws
    {
      let server = try await HostileServer.fresh()
      let client = client(caFile: server.caFile, proxy: server.address("proxy", "").text)
      for host in ["localhost", "10.0.0.5", "[fd00::1]", "127.0.0.1"] {
        let request = Self.request(server.address("good", host: host))
        #expect(await problem(request, by: client)?.detail == "notPublic")
      }
      #expect(try await server.events("tunnel").isEmpty)
      // Control: the proxy is asked for a name with a dot. The address of the server is not known.
      let named = Self.request(server.address("good", host: "good.example"))
      #expect(await problem(named, by: client)?.detail != "notPublic")
      #expect(try await server.events("tunnel").map(\.host) == ["good.example"])
      let response = try await client.send(
        HTTPRequest(.get, server.address("good", host: "localhost")))
      #expect(!response.isFromInternalAddress)
    }
  }
}
