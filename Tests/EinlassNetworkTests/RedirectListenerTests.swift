import Einlass
import EinlassSystem
import Glibc
import Testing

@testable import EinlassNetwork

/// Requests of browsers, and of other programs on the same machine, to the redirect address.
@Suite struct RedirectListenerTests {
  private static func listener(_ path: String = "/back") throws -> RedirectListener {
    try RedirectListener(RedirectPlace(path: path))
  }

  @Test func `An authorization response reaches the flow, and its page reaches the browser`()
    async throws
  {
    let listener = try Self.listener()
    let open = listener.open
    defer { open.close() }
    #expect(open.address == "http://127.0.0.1:\(listener.port)/back")
    let client = try Client(listener.port)
    client.send("GET /back?code=C&state=S HTTP/1.1\r\nHost: 127.0.0.1:\(listener.port)\r\n\r\n")
    let answer = try await open.next()
    #expect(answer.query == "code=C&state=S")
    await answer.show(
      RedirectPage(
        .signedIn(person: "Ada <b>", isGranted: true), provider: "Example",
        application: "Editor & Co"))
    let page = client.receiveAnswer()
    #expect(page.hasPrefix("HTTP/1.1 200 OK\r\n"))
    #expect(page.contains("Ada &lt;b&gt;") && page.contains("Editor &amp; Co"))
    #expect(!page.contains("code=C") && !page.contains("<script"))
    for header in [
      "Content-Security-Policy: default-src 'none'; style-src 'sha256-", "Cache-Control: no-store",
      "Referrer-Policy: no-referrer", "X-Content-Type-Options: nosniff", "Connection: close",
    ] {
      #expect(page.contains(header), "\(header)")
    }
  }

  @Test func `A page is on its way when show returns, because the process may end then`()
    async throws
  {
    let open = try Self.listener().open
    let port = try #require(open.address.firstMatch(of: /:(\d+)\//).flatMap { UInt16($0.1) })
    let client = try Client(port)
    client.send("GET /back?x=1 HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n")
    let answer = try await open.next()
    #expect(!client.hasReceived)
    await answer.show(RedirectPage(.denied))
    #expect(client.hasReceived)
    open.close()
    client.end()
    await #expect(throws: Problem.self) { _ = try await open.next() }
    // The thread of the listener has ended.
    await answer.show(RedirectPage(.denied))
  }

  @Test(
    "A request that is no authorization response is refused, and the flow goes on waiting",
    arguments: [
      ("GET /favicon.ico HTTP/1.1\r\nHost: HOST\r\n\r\n", 404),
      ("GET /backwards?code=C HTTP/1.1\r\nHost: HOST\r\n\r\n", 404),
      ("GET /BACK HTTP/1.1\r\nHost: HOST\r\n\r\n", 404),
      ("GET http://HOST/back HTTP/1.1\r\nHost: HOST\r\n\r\n", 404),
      ("HEAD /back?code=C HTTP/1.1\r\nHost: HOST\r\n\r\n", 405),
      ("POST /back?code=C HTTP/1.1\r\nHost: HOST\r\nContent-Length: 0\r\n\r\n", 405),
      ("GET /back HTTP/1.1\r\nHost: HOST\r\nContent-Length: 1\r\n\r\nx", 400),
      ("GET /back HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
      ("GET /back HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421),
      ("GET /back HTTP/1.1\r\nHost: localhost\r\n\r\n", 421),
      ("GET /back HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n", 421),
      ("GET /back HTTP/1.1\r\n\r\n", 421),
      ("GET /back HTTP/1.1\r\nHost: HOST\r\nHost: HOST\r\n\r\n", 421),
      ("GET /back HTTP/1.1\r\nHost: HOST\r\nHost:\u{301}HOST\r\n\r\n", 421),
      ("GET /back HTTP/1.1\r\nHost: HOST\r\nSec-Purpose: prefetch\r\n\r\n", 503),
      ("GET /back HTTP/1.1\r\nHost: HOST\r\nPurpose: prefetch;prerender\r\n\r\n", 503),
      ("GET /back\r\n\r\n", 400), ("GET  /back HTTP/1.1\r\n\r\n", 400), ("\r\n\r\n", 400),
      ("\u{0}\u{1}\u{2}\r\n\r\n", 400), ("GET /back HTTP/1.1\r\n: x\r\n\r\n", 400),
    ])
  func refused(request: String, status: Int) async throws {
    let listener = try Self.listener()
    let open = listener.open
    defer { open.close() }
    let client = try Client(listener.port)
    client.send(request.replacing("HOST", with: "127.0.0.1:\(listener.port)"))
    #expect(client.receiveAnswer().hasPrefix("HTTP/1.1 \(status) "))
    let browser = try Client(listener.port)
    browser.send("GET /back?x=1 HTTP/1.1\r\nHost: 127.0.0.1:\(listener.port)\r\n\r\n")
    #expect(try await open.next().query == "x=1")
  }

  @Test func `A path compares as bytes`() {
    for (path, isOurs) in [("/K", true), ("/\u{212A}", false), ("/k", false)] {
      let request = Array("GET \(path)?x=1 HTTP/1.1\r\nHost: h\r\n\r\n".utf8)
      #expect(
        RedirectRequest.verdict(on: request, path: "/K", host: "h")
          == (isOurs ? .answer("x=1") : .refused(404)))
    }
  }

  @Test func `16 KiB of head are read, and not a byte more`() async throws {
    let listener = try Self.listener()
    let open = listener.open
    defer { open.close() }
    func head(_ count: Int) -> String {
      let before = "GET /back HTTP/1.1\r\nHost: 127.0.0.1:\(listener.port)\r\nX: "
      return before + String(repeating: "a", count: count - before.utf8.count - 4) + "\r\n\r\n"
    }
    let tooLong = try Client(listener.port)
    tooLong.send(head(RedirectRequest.limitBytes + 1))
    #expect(tooLong.receiveAnswer().hasPrefix("HTTP/1.1 431 "))
    let fits = try Client(listener.port)
    fits.send(head(RedirectRequest.limitBytes))
    #expect(try await open.next().query.isEmpty)
  }

  @Test func `Spare connections, garbage and slow requests do not keep a response out`()
    async throws
  {
    let listener = try Self.listener()
    let open = listener.open
    defer { open.close() }
    // Fewer than the limit. Browsers open such connections in advance and send nothing over them.
    let spare = try (0..<6).map { _ in try Client(listener.port) }
    for _ in 0..<200 {
      let garbage = try Client(listener.port)
      garbage.send("\u{16}\u{3}\u{1} nonsense\r\n\r\n")
      #expect(garbage.receiveAnswer().hasPrefix("HTTP/1.1 400 "))
    }
    let dribble = try Client(listener.port)
    for byte in "GET /back?slow=1 HTTP/1.1\r\nHost: 127.0.0.1:\(listener.port)\r\n\r\n".utf8 {
      dribble.send(String(UnicodeScalar(byte)))
    }
    #expect(try await open.next().query == "slow=1")
    withExtendedLifetime(spare) {}
  }

  @Test(.timeLimit(.minutes(1)), arguments: [false, true])
  func `Eight slow requests make a further one wait, and eight silent connections do not`(
    isSilent: Bool
  ) async throws {
    let listener = try Self.listener()
    let open = listener.open
    defer { open.close() }
    let others = try (0..<8).map { _ in try Client(listener.port) }
    if !isSilent { for other in others { other.send("GET /") } }
    let browser = try Client(listener.port)
    let start = ContinuousClock.now
    defer { withExtendedLifetime(others) {} }
    browser.send("GET /back?x=1 HTTP/1.1\r\nHost: 127.0.0.1:\(listener.port)\r\n\r\n")
    #expect(try await open.next().query == "x=1")
    // A slow request ends after five seconds.
    guard isSilent else { return #expect(start.duration(to: .now) > .seconds(3)) }
    // The oldest connection gave way. The others are still served, so nothing has waited for them.
    for other in others.dropFirst() {
      other.send("GET / HTTP/1.1\r\nHost: 127.0.0.1:\(listener.port)\r\n\r\n")
      #expect(other.receiveAnswer().hasPrefix("HTTP/1.1 404 "))
    }
    #expect(others[0].receiveAnswer().isEmpty)
  }

  /// The bytes of a slow request may arrive while the listener accepts the next connection.
  @Test func `A further connection cuts off no request that has begun`() throws {
    for _ in 0..<200 {
      let listener = try Self.listener()
      let open = listener.open
      defer { open.close() }
      let others = try (0..<8).map { _ in try Client(listener.port) }
      for other in others { other.send("GET /") }
      let further = try Client(listener.port)
      for other in others {
        other.send(" HTTP/1.1\r\nHost: 127.0.0.1:\(listener.port)\r\n\r\n")
        #expect(other.receiveAnswer().hasPrefix("HTTP/1.1 404 "))
      }
      withExtendedLifetime(further) {}
    }
  }

  @Test func `Closing frees the port and answers the requests that still wait`() async throws {
    let listener = try Self.listener()
    let open = listener.open
    let waiting = try Client(listener.port)
    waiting.send("GET /back?x=1 HTTP/1.1\r\nHost: 127.0.0.1:\(listener.port)\r\n\r\n")
    _ = try await open.next()
    open.close()
    #expect(waiting.receiveAnswer().hasPrefix("HTTP/1.1 400 "))
    await #expect(throws: Problem.self) { _ = try await open.next() }
    waiting.end()
    // Old connections do not block the port for the next sign-in.
    let again = try RedirectListener(RedirectPlace(ports: [listener.port], path: "/"))
    again.open.close()
    #expect(throws: Client.Refused.self) { try Client(listener.port) }
  }

  @Test func `A port is free as soon as it is closed, even while a browser still has its page`()
    async throws
  {
    let listener = try Self.listener()
    let open = listener.open
    let client = try Client(listener.port)
    client.send("GET /back?x=1 HTTP/1.1\r\nHost: 127.0.0.1:\(listener.port)\r\n\r\n")
    try await open.next().show(RedirectPage(.denied))
    #expect(client.receiveAnswer().hasPrefix("HTTP/1.1 200 "))
    open.close()
    // The thread of the previous listener may still wait for browsers when the next one opens.
    for _ in 0..<200 {
      try RedirectListener(RedirectPlace(ports: [listener.port], path: "/")).open.close()
    }
    withExtendedLifetime(client) {}
  }

  @Test func `The first free port of several is taken, and no port is shared`() async throws {
    let first = try Self.listener()
    defer { first.open.close() }
    let second = try Self.listener()
    let free = second.port
    second.open.close()
    let chosen = try RedirectListener(RedirectPlace(ports: [first.port, free], path: "/"))
    defer { chosen.open.close() }
    #expect(chosen.port == free)
    #expect(throws: (any Error).self) {
      try RedirectListener(RedirectPlace(ports: [first.port], path: "/"))
    }
  }

  @Test func `A port in use is worth another try, and a port that is never permitted is not`()
    throws
  {
    let taken = try Self.listener()
    defer { taken.open.close() }
    let place = RedirectPlace(ports: [taken.port], path: "/")
    let problem = #expect(throws: Problem.self) { try LiveEffects.make().openRedirect(place) }
    #expect(problem?.reason == .flowNotSupported && problem?.isRetryable == true)
    let refused = Problem.nothingToListenOn(place, SystemError(number: EACCES))
    #expect(refused.reason == .flowNotSupported && !refused.isRetryable)
    #expect(refused.message != problem?.message)
  }
}

/// A browser that sends raw bytes over a socket.
private final class Client {
  struct Refused: Error {}
  private var number: Int32

  init(_ port: UInt16) throws {
    number = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var limit = timeval(tv_sec: 60, tv_usec: 0)
    setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    let connected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(number, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    guard connected else {
      end()
      throw Refused()
    }
  }

  deinit { end() }

  /// Closes the connection, as a browser does after it has received its page.
  func end() {
    if number >= 0 { close(number) }
    number = -1
  }

  func send(_ text: String) {
    let bytes = Array(text.utf8)
    _ = Glibc.send(number, bytes, bytes.count, Int32(MSG_NOSIGNAL))
  }

  /// Whether bytes have arrived.
  var hasReceived: Bool {
    var byte: UInt8 = 0
    return recv(number, &byte, 1, Int32(MSG_DONTWAIT | MSG_PEEK)) == 1
  }

  /// Returns the head and as much of the body as it announces, or the received part if the
  /// connection ends earlier.
  func receiveAnswer() -> String {
    var all: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 4096)
    while case let count = recv(number, &part, part.count, 0), count > 0 {
      all += part[..<count]
      let text = String(decoding: all, as: UTF8.self)
      guard let head = text.firstRange(of: "\r\n\r\n"),
        let length = text.firstMatch(of: /Content-Length: (\d+)/).flatMap({ Int($0.1) })
      else { continue }
      if text[head.upperBound...].utf8.count >= length { break }
    }
    return String(decoding: all, as: UTF8.self)
  }
}
