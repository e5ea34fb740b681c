import Einlass
import EinlassNetwork
import Testing

extension Network {
  @Suite struct ProxyTests {
    @Test func `A configured proxy carries the tunnel, and TLS stays end to end`() async throws {
      let server = try await HostileServer.fresh()
      let proxy = server.address("proxy", "").text
      let request = HTTPRequest(.get, server.address("good", host: "localhost"))
      #expect(await problem(request, by: client(caFile: server.caFile, proxy: proxy)) == nil)
      #expect(try await server.events("tunnel").map(\.host) == ["localhost"])
      #expect(
        await problem(request, by: client(proxy: proxy)).map {
          [-1202, -1203].contains($0.networkCode)
        }
          == true)
      // Negative control: without a proxy the connection is direct.
      #expect(await problem(request, by: client(caFile: server.caFile, proxy: "")) == nil)
      #expect(try await server.events("tunnel").count == 2)
    }

    @Test func `Literal loopback addresses never go through a proxy`() async throws {
      let server = try await HostileServer.fresh()
      let proxy = server.address("proxy", "").text
      let request = HTTPRequest(.get, server.address("good"))
      #expect(await problem(request, by: client(caFile: server.caFile, proxy: proxy)) == nil)
      #expect(try await server.events("connection", at: "proxy").isEmpty)
    }

    @Test func `A proxy that refuses or does not exist is named as the cause`() async throws {
      let server = try await HostileServer.fresh(proxy: "refuses")
      let request = HTTPRequest(.get, server.address("good", host: "localhost"))
      let proxy = server.address("proxy", "").text
      let refused = await problem(request, by: client(caFile: server.caFile, proxy: proxy))
      #expect(refused?.networkCode == -1004)
      #expect(refused?.message.contains("proxy") == true)
      let nobody = server.address("refused", "").text
      let absent = await problem(request, by: client(caFile: server.caFile, proxy: nobody))
      #expect(absent?.networkCode == -1004)
      #expect(absent?.message.contains("The proxy for localhost does not accept") == true)
      // The control: without a proxy the server is the cause.
      let unserved = HTTPRequest(.get, server.address("refused", host: "localhost"))
      let direct = await problem(unserved, by: client(caFile: server.caFile, proxy: ""))
      #expect(direct?.message.contains("proxy") == false)
    }
  }
}
