import EinlassJSON
import Testing

@testable import EinlassSandbox

/// Input that no well-behaved client sends.
struct RobustnessTests {
  static let garbage: [String] = [
    "\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    "GET / HTTP/1.1\r\nContent-Length: 9223372036854775807\r\n\r\n",
    "GET / HTTP/1.1\r\nContent-Length: x\r\nTransfer-Encoding: y\r\n\r\n",
    "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFFF\r\n",
    "GET //%00%ff?%&&==&=%zz HTTP/1.1\r\nConnection: close\r\n\r\n",
    "GET \u{0}\u{1} HTTP/1.1\r\n\r\n", "💥 💥 💥\r\n\r\n",
    "GET / HTTP/9.9\r\n: \r\n:\r\nx\r\nConnection: close\r\n\r\n",
    "OPTIONS * HTTP/1.1\r\nConnection: close\r\n\r\n",
    "GET http://[::1 HTTP/1.1\r\nConnection: close\r\n\r\n",
  ]

  @Test("Garbage on one connection does not disturb the others", arguments: garbage)
  func survival(text: String) async throws {
    try await TestSandbox.run { sandbox async throws in
      for client in [sandbox.providers, sandbox.control] {
        try await client.sendOnly(Array(text.utf8))
      }
      #expect(try await sandbox.requestToken()?.status == 200)
      #expect(try await sandbox.control.send("GET", "/state")?.status == 200)
    }
  }

  @Test("A head of more than 256 KiB is refused, and a smaller one is read")
  func hugeHeader() async throws {
    try await TestSandbox.run { sandbox async throws in
      let long = String(repeating: "a", count: 100_000)
      let fits = try await sandbox.providers.send(
        "GET", "/me", headers: [("Authorization", "OAuth \(long)"), ("X-\(long)", "b")])
      #expect(fits?.facebookCode == [2500])
      // The connection closes with unread input, so the answer can be lost.
      let tooMuch = try await sandbox.providers.send(
        "GET", "/me", headers: Array(repeating: ("X", long), count: 10))
      #expect(tooMuch == nil || tooMuch?.status == 431)
      #expect(try await sandbox.requestToken()?.status == 200)
    }
  }

  @Test("A body of more than a megabyte is refused")
  func hugeBody() async throws {
    try await TestSandbox.run { sandbox async throws in
      let fits = [UInt8](repeating: UInt8(ascii: "%"), count: 1 << 20)
      let form = [("Content-Type", "application/x-www-form-urlencoded")]
      let reply = try await sandbox.providers.send(
        "POST", "/oauth/request_token", headers: form, body: fits)
      #expect(reply?.twitterCode == 215)
      let tooMuch = try await sandbox.providers.send(
        "POST", "/oauth/request_token", headers: form, body: fits + [1])
      #expect(tooMuch?.status == 413)
      let state = try await sandbox.control.send("PUT", "/state", body: fits)
      #expect(state?.status == 400)
    }
  }

  @Test(
    "Forms that cannot be decoded are refused",
    arguments: [[0xFF], [0x25], Array("a=%C3".utf8)] as [[UInt8]])
  func badForms(body: [UInt8]) async throws {
    try await TestSandbox.run { sandbox async throws in
      let form = ("Content-Type", "application/x-www-form-urlencoded")
      let port = sandbox.providers.port
      let signed = try await sandbox.providers.send(
        "POST", "/oauth/request_token",
        headers: [form, TestSigner().header("POST", "/oauth/request_token", port: port)],
        body: body)
      #expect(signed?.twitterCode == 215)
      let bearer = try await sandbox.providers.send(
        "POST", "/oauth/access_token",
        headers: [form, ("Authorization", "Bearer 2001-system-token")], body: body)
      #expect(bearer?.facebookCode == [100])
      #expect(try await sandbox.log().map { $0["form"] } == [.null, .null])
    }
  }

  @Test("An empty state does not crash a provider")
  func emptyState() async throws {
    try await TestSandbox.run(state: [:]) { sandbox async throws in
      #expect(try await sandbox.requestToken()?.twitterCode == 32)
      let reply = try await sandbox.providers.send(
        "GET", "/me", headers: [("Authorization", "Bearer x")])
      #expect(reply?.facebookCode == [190])
    }
  }
}
