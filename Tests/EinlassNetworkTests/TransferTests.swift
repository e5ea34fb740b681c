import Einlass
import EinlassNetwork
import Foundation
import Testing

extension Network {
  @Suite struct TransferTests {
    private struct Echo: Decodable {
      var method: String
      var target: String
      var headers: [[String]]
      var body: String

      var names: [String] { headers.map { $0[0].lowercased() } }
    }

    private func echo(_ request: HTTPRequest) async throws -> Echo {
      try JSONDecoder().decode(Echo.self, from: Data(try await CurlClient().send(request).body))
    }

    @Test func `The server receives exactly the requested headers and body, and nothing besides`()
      async throws
    {
      let server = try await HostileServer.fresh()
      var address = server.address("plain", "/echo/a%20b/../%7Ec")
      address.query = "x=1&y=%2F%3f"
      let get = try await echo(
        HTTPRequest(.get, address, headers: [.init("X-One", "1"), .init("X-Empty", "")]))
      #expect(get.method == "GET")
      #expect(get.target == "/echo/a%20b/../%7Ec?x=1&y=%2F%3f")
      #expect(get.names == ["host", "user-agent", "accept", "accept-encoding", "x-one", "x-empty"])
      #expect(get.headers[4] == ["X-One", "1"])

      let post = try await echo(
        HTTPRequest(
          .post, server.address("plain", "/echo"), headers: [.init("Content-Type", "text/plain")],
          body: Array("a=b&c=d".utf8)))
      #expect(post.method == "POST" && post.body == "a=b&c=d")
      #expect(
        post.names == [
          "host", "user-agent", "accept", "accept-encoding", "content-type", "content-length",
        ])

      let empty = try await echo(HTTPRequest(.post, server.address("plain", "/echo")))
      #expect(empty.names == ["host", "user-agent", "accept", "accept-encoding", "content-length"])
      let delete = try await echo(HTTPRequest(.delete, server.address("plain", "/echo")))
      #expect(
        delete.method == "DELETE"
          && delete.names == ["host", "user-agent", "accept", "accept-encoding"])
    }

    @Test func `A big body arrives whole`() async throws {
      let server = try await HostileServer.fresh()
      let body = (0..<300_000).map { UInt8(97 + $0 % 26) }
      var request = HTTPRequest(.post, server.address("plain", "/echo"), body: body)
      request.responseLimitBytes = 4 << 20
      #expect(Array(try await echo(request).body.utf8) == body)
    }

    @Test func `Headers come in order, in lower case and without those of interim answers`()
      async throws
    {
      let server = try await HostileServer.fresh()
      let answer = try await CurlClient().send(server.request("/interim"))
      #expect(answer.status == 200)
      #expect(
        answer.headers == [
          .init("x-late", "yes"), .init("x-late", "twice"), .init("content-length", "4"),
        ])
    }

    /// `same` redirects to itself without end.
    @Test(
      "Redirects are returned and not followed", arguments: [301, 302, 303, 307, 308],
      ["http", "https", "file", "same"])
    func redirects(status: Int, place: String) async throws {
      let server = try await HostileServer.fresh()
      let request = HTTPRequest(
        .post, server.address("plain", "/redirect/\(status)/\(place)"),
        headers: [.init("Authorization", "Bearer t")], body: [1])
      let client = client(caFile: server.caFile)
      let answer = try await client.send(request)
      #expect(answer.status == status)
      #expect(answer.header("location")?.hasSuffix(place == "same" ? "/same" : "/stolen") == true)
      #expect(try await server.events("request").count == 1)
      // Negative control: the targets exist and log their requests.
      for listener in ["second", "good"] {
        _ = try await client.send(HTTPRequest(.get, server.address(listener)))
      }
      #expect(try await server.events("request").count == 3)
    }

    @Test func `Successive requests share a connection`() async throws {
      let server = try await HostileServer.fresh()
      let client = client(caFile: server.caFile)
      for _ in 0..<3 { _ = try await client.send(HTTPRequest(.get, server.address("good"))) }
      #expect(try await server.events("connection", at: "good").count == 1)
      // Negative control: each request has its own connection if the server closes it.
      for _ in 0..<2 { _ = try await client.send(server.request("/closing")) }
      #expect(try await server.events("connection", at: "plain").count == 2)
    }

    @Test func `Idle connections are closed after a while, and later requests work`()
      async throws
    {
      let server = try await HostileServer.fresh()
      let client = client { $0.idle = .milliseconds(50) }
      _ = try await client.send(server.request("/ok"))
      try await server.wait(for: "gone")
      _ = try await client.send(server.request("/ok"))
      #expect(try await server.events("connection", at: "plain").count == 2)
    }

    @Test func `A body is not sent again when a kept connection dies under it`() async throws {
      let server = try await HostileServer.fresh()
      let client = CurlClient()
      _ = try await client.send(server.request("/ok"))
      let address = server.address("plain", "/drop-kept")
      let lost = await problem(HTTPRequest(.post, address, body: [1]), by: client)
      #expect(lost?.networkCode == -1005)
      #expect(try await server.events("request").filter { $0.method == "POST" }.count == 1)
      // Negative control: libcurl repeats a request without a body by itself.
      _ = try await client.send(server.request("/ok"))
      #expect(await problem(HTTPRequest(.get, address), by: client) == nil)
      #expect(
        try await server.events("request").filter { $0.path == "/drop-kept" && $0.method == "GET" }
          .count == 2)
    }

    @Test func `Sixty-four transfers run at once`() async throws {
      let server = try await HostileServer.fresh()
      let client = CurlClient()
      let bodies = try await withThrowingTaskGroup(of: [UInt8].self) { group in
        for _ in 0..<64 {
          group.addTask { try await client.send(server.request("/barrier/64")).body }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(bodies == Array(repeating: Array("together".utf8), count: 64))
    }

    @Test(
      "A header that would inject another is refused, and no request is sent",
      arguments: [
        ("X", "a\r\nEvil: yes"), ("X", "a\nEvil: yes"), ("X", "a\rb"), ("X", "a\0b"),
        ("X\r\nEvil", "yes"), ("X:", "y"), ("X Y", "z"), ("", "z"),
      ])
    func injection(name: String, value: String) async throws {
      let server = try await HostileServer.fresh()
      let request = HTTPRequest(
        .get, server.address("plain", "/echo"), headers: [.init(name, value)])
      let problem = try #require(await problem(request))
      #expect(problem.networkCode == -1)
      #expect(!problem.message.contains("Evil"))
      #expect(try await server.events("connection", at: "plain").isEmpty)
      // Negative control: a well-formed header arrives.
      let decent = HTTPRequest(
        .get, server.address("plain", "/echo"), headers: [.init("X", "a\tb")])
      #expect(try await echo(decent).headers.contains(["X", "a\tb"]))
    }

    @Test(
      "An address that libcurl would read differently is refused",
      arguments: [
        WebAddress(scheme: .https, host: "127.1"), WebAddress(scheme: .https, host: "2130706433"),
        WebAddress(scheme: .https, host: "a@b"), WebAddress(scheme: .https, host: "a.test/b"),
        WebAddress(scheme: .https, host: "a.test:1"), WebAddress(scheme: .https, host: ""),
        WebAddress(scheme: .https, host: "a%2etest"), WebAddress(scheme: .https, host: "a b"),
        WebAddress(scheme: .https, host: "a.test", path: "b"),
        WebAddress(scheme: .https, host: "a.test", path: "/?b"),
        WebAddress(scheme: .https, host: "a.test", path: "/#b"),
        WebAddress(scheme: .https, host: "a.test", path: "/ b"),
        WebAddress(scheme: .https, host: "a.test", path: "/", query: "b#c"),
        WebAddress(scheme: .https, host: "a.test", path: "/", query: "b\r\nc"),
      ])
    func strangeAddresses(address: WebAddress) async {
      #expect(await problem(HTTPRequest(.get, address))?.networkCode == -1000)
    }

    @Test(
      "Plain http is refused for any host but a loopback address",
      arguments: ["localhost", "127.0.0.1.test", "a.test", "192.0.2.1", "[::2]"])
    func plainHTTP(host: String) async throws {
      let server = try await HostileServer.fresh()
      let request = HTTPRequest(.get, server.address("plain", host: host))
      #expect(await problem(request)?.networkCode == -1022)
    }
  }
}
