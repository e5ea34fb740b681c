import Einlass
import EinlassSystem
import Glibc
import Testing

@testable import EinlassNetwork

/// Requests of browsers, and of other programs on the same machine, to the redirect address.
@Suite struct RedirectListenerTests {
  private static func open(
    _ path: String = "/back", ports: [UInt16] = [], takesFragment: Bool = false
  ) throws -> OpenRedirect {
    let open = try RedirectListener.open(
      RedirectPlace(ports: ports, path: path, takesFragment: takesFragment))
    open.expect(.all)
    return open
  }

  @Test func `An authorization response reaches the flow, and its page reaches the browser`()
    async throws
  {
    let open = try Self.open()
    defer { open.close() }
    #expect(open.address == "http://127.0.0.1:\(open.port)/back")
    let client = try Client(open.port)
    client.send("GET /back?code=C&state=S HTTP/1.1\r\nHost: 127.0.0.1:\(open.port)\r\n\r\n")
    let answer = try await open.next()
    #expect(answer.parameters.text == "code=C&state=S")
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
    let open = try Self.open()
    let client = try Client(open.port)
    client.send("GET /back?x=1 HTTP/1.1\r\nHost: 127.0.0.1:\(open.port)\r\n\r\n")
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
      ("PUT /back?code=C HTTP/1.1\r\nHost: HOST\r\nContent-Length: 0\r\n\r\n", 405),
      ("OPTIONS /back?code=C HTTP/1.1\r\nHost: HOST\r\n\r\n", 405),
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
    let open = try Self.open()
    defer { open.close() }
    let client = try Client(open.port)
    client.send(request.replacing("HOST", with: "127.0.0.1:\(open.port)"))
    #expect(client.receiveAnswer().hasPrefix("HTTP/1.1 \(status) "))
    let browser = try Client(open.port)
    browser.send("GET /back?x=1 HTTP/1.1\r\nHost: 127.0.0.1:\(open.port)\r\n\r\n")
    #expect(try await open.next().parameters.text == "x=1")
  }

  @Test func `A path compares as bytes`() {
    for (path, isOurs) in [("/K", true), ("/\u{212A}", false), ("/k", false)] {
      let request = Array("GET \(path)?x=1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".utf8)
      let place = RedirectPlace(path: "/K")
      #expect(
        RedirectRequest.verdict(on: request, at: [place], port: 80)
          == (isOurs ? .answer(place, RedirectParameters("x=1")) : .refused(404)))
    }
  }

  @Test(arguments: [
    ("/back?x=1", "J\u{FC}rgen", true), ("/back?x=1", "plain", true),
    ("/back?x=J\u{FC}rgen", "plain", false),
  ])
  func `Bytes that are no UTF-8 refuse a request only in its first line`(
    target: String, cookie: String, isOurs: Bool
  ) {
    let head = "GET \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: name=\(cookie)\r\n\r\n"
    let latin1 = head.unicodeScalars.map { UInt8($0.value) }
    let place = RedirectPlace(path: "/back")
    #expect(
      RedirectRequest.verdict(on: latin1, at: [place], port: 80)
        == (isOurs ? .answer(place, RedirectParameters("x=1")) : .refused(400)))
  }

  /// A browser sends the cookies of all programs of a host to each of its ports.
  @Test func `64 KiB of head are read, and not a byte more`() async throws {
    let open = try Self.open()
    defer { open.close() }
    func head(_ count: Int) -> String {
      let before = "GET /back HTTP/1.1\r\nHost: 127.0.0.1:\(open.port)\r\nCookie: "
      return before + String(repeating: "a", count: count - before.utf8.count - 4) + "\r\n\r\n"
    }
    let tooLong = try Client(open.port)
    tooLong.send(head(RedirectRequest.headLimitBytes + 1))
    let page = tooLong.receiveAnswer()
    #expect(page.hasPrefix("HTTP/1.1 431 ") && page.contains("cookies of other programs"))
    let fits = try Client(open.port)
    fits.send(head(RedirectRequest.headLimitBytes))
    #expect(try await open.next().parameters.text.isEmpty)
  }

  @Test func `Spare connections, garbage and slow requests do not keep a response out`()
    async throws
  {
    let open = try Self.open()
    defer { open.close() }
    // Fewer than the limit. Browsers open such connections in advance and send nothing over them.
    let spare = try (0..<6).map { _ in try Client(open.port) }
    for _ in 0..<200 {
      let garbage = try Client(open.port)
      garbage.send("\u{16}\u{3}\u{1} nonsense\r\n\r\n")
      #expect(garbage.receiveAnswer().hasPrefix("HTTP/1.1 400 "))
    }
    let dribble = try Client(open.port)
    for byte in "GET /back?slow=1 HTTP/1.1\r\nHost: 127.0.0.1:\(open.port)\r\n\r\n".utf8 {
      dribble.send(String(UnicodeScalar(byte)))
    }
    #expect(try await open.next().parameters.text == "slow=1")
    withExtendedLifetime(spare) {}
  }

  @Test(.timeLimit(.minutes(1)), arguments: [false, true])
  func `Eight slow requests make a further one wait, and eight silent connections do not`(
    isSilent: Bool
  ) async throws {
    let open = try Self.open()
    defer { open.close() }
    let others = try (0..<8).map { _ in try Client(open.port) }
    if !isSilent { for other in others { other.send("GET /") } }
    let browser = try Client(open.port)
    let start = ContinuousClock.now
    defer { withExtendedLifetime(others) {} }
    browser.send("GET /back?x=1 HTTP/1.1\r\nHost: 127.0.0.1:\(open.port)\r\n\r\n")
    if isSilent {
      // The oldest connection gave way. The others are still served, so nothing has waited for them.
      for other in others.dropFirst() {
        other.send("GET / HTTP/1.1\r\nHost: 127.0.0.1:\(open.port)\r\n\r\n")
        #expect(other.receiveAnswer().hasPrefix("HTTP/1.1 404 "))
      }
      #expect(others[0].receiveAnswer().isEmpty)
    }
    #expect(try await open.next().parameters.text == "x=1")
    // A slow request ends after five seconds.
    #expect(isSilent || start.duration(to: .now) > .seconds(3))
  }

  @Test(arguments: [64, 71])
  func `Answers that wait for their page keep no other request out`(count: Int) async throws {
    let open = try Self.open()
    defer { open.close() }
    let host = "127.0.0.1:\(open.port)"
    let waiting = try (0..<count).map { _ in
      let client = try Client(open.port)
      client.send("GET /back?x=1 HTTP/1.1\r\nHost: \(host)\r\n\r\n")
      return client
    }
    let answer = try await open.next()
    let other = try Client(open.port)
    other.send("GET /favicon.ico HTTP/1.1\r\nHost: \(host)\r\n\r\n")
    #expect(other.receiveAnswer().hasPrefix("HTTP/1.1 404 "))
    other.end()
    await answer.show(RedirectPage(.denied))
    for client in waiting { #expect(client.receiveAnswer().hasPrefix("HTTP/1.1 200 ")) }
  }

  /// The bytes of a slow request may arrive while the listener accepts the next connection.
  @Test func `A further connection cuts off no request that has begun`() throws {
    for _ in 0..<200 {
      let open = try Self.open()
      defer { open.close() }
      let others = try (0..<8).map { _ in try Client(open.port) }
      for other in others { other.send("GET /") }
      let further = try Client(open.port)
      for other in others {
        other.send(" HTTP/1.1\r\nHost: 127.0.0.1:\(open.port)\r\n\r\n")
        #expect(other.receiveAnswer().hasPrefix("HTTP/1.1 404 "))
      }
      withExtendedLifetime(further) {}
    }
  }

  @Test func `Closing frees the port and answers the requests that still wait`() async throws {
    let open = try Self.open()
    let waiting = try Client(open.port)
    waiting.send("GET /back?x=1 HTTP/1.1\r\nHost: 127.0.0.1:\(open.port)\r\n\r\n")
    _ = try await open.next()
    open.close()
    #expect(waiting.receiveAnswer().hasPrefix("HTTP/1.1 400 "))
    await #expect(throws: Problem.self) { _ = try await open.next() }
    waiting.end()
    // Old connections do not block the port for the next sign-in.
    try Self.open("/", ports: [open.port]).close()
    #expect(throws: Client.Refused.self) { try Client(open.port) }
  }

  @Test func `A port is free as soon as it is closed, even while a browser still has its page`()
    async throws
  {
    let open = try Self.open()
    let client = try Client(open.port)
    client.send("GET /back?x=1 HTTP/1.1\r\nHost: 127.0.0.1:\(open.port)\r\n\r\n")
    try await open.next().show(RedirectPage(.denied))
    #expect(client.receiveAnswer().hasPrefix("HTTP/1.1 200 "))
    open.close()
    // The thread of the previous listener may still wait for browsers when the next one opens.
    for _ in 0..<200 {
      try Self.open("/", ports: [open.port]).close()
    }
    withExtendedLifetime(client) {}
  }

  @Test func `The first free port of several is taken, and none that another program has`()
    async throws
  {
    let taken = try LoopbackSocket(port: 0)
    let free = try LoopbackSocket(port: 0).port
    let chosen = try Self.open(ports: [taken.port, free])
    defer { chosen.close() }
    #expect(chosen.port == free)
    #expect(throws: SystemError.self) { try Self.open(ports: [taken.port]) }
  }

  @Test(.timeLimit(.minutes(1)))
  func `The port of another program is worth another try, and one that is never permitted is not`()
    async throws
  {
    // This program accepts connections and answers nothing.
    let taken = try LoopbackSocket(port: 0)
    let place = RedirectPlace(ports: [taken.port], path: "/")
    let start = ContinuousClock.now
    let problem = await #expect(throws: Problem.self) {
      try await LiveEffects.make().openRedirect(place)
    }
    // It is asked twice.
    #expect(start.duration(to: .now) > .seconds(2) && start.duration(to: .now) < .seconds(10))
    #expect(problem?.reason == .flowNotSupported && problem?.isRetryable == true)
    #expect(problem?.detail == nil && problem?.message.contains("\(taken.port)") == true)
    let refused = Problem.nothingToListenOn(place, SystemError(number: EACCES))
    #expect(refused.reason == .flowNotSupported && !refused.isRetryable)
    #expect(refused.message != problem?.message)
  }

  @Test func `Each answer says that the port is a sign-in's, for the other processes`() throws {
    let open = try Self.open()
    defer { open.close() }
    let other = try Client(open.port)
    other.send("GET \(RedirectRequest.probePath) HTTP/1.1\r\nHost: 127.0.0.1:\(open.port)\r\n\r\n")
    #expect(other.receiveAnswer().contains("\r\nServer: einlass\r\n"))
  }
}

/// A browser that sends raw bytes over a socket.
final class Client {
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

extension OpenRedirect {
  /// The port in the address.
  var port: UInt16 {
    address.firstMatch(of: /:(\d+)\//).flatMap { UInt16($0.1) } ?? 80
  }
}

extension RedirectClaim {
  /// Claims every response.
  static let all = RedirectClaim(isOurs: { _ in true }, refused: { _ in })
}
