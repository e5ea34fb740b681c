import Einlass
import EinlassSystem
import Testing

@testable import EinlassNetwork

/// Several sign-ins at one port, and the ways in which a browser brings a response.
@Suite struct SharedRedirectTests {
  private static func open(_ path: String = "/back", at port: UInt16? = nil) throws -> OpenRedirect
  {
    try RedirectListener.open(RedirectPlace(ports: port.map { [$0] } ?? [], path: path))
  }

  private static func claim(
    _ text: String, refused: @escaping @Sendable (RefusedReturn) -> Void = { _ in }
  ) -> RedirectClaim {
    RedirectClaim(isOurs: { $0.text == text }, refused: refused)
  }

  private static func browser(_ open: OpenRedirect, _ line: String, _ more: String = "") throws
    -> Client
  {
    let client = try Client(open.port)
    client.send("\(line) HTTP/1.1\r\nHost: 127.0.0.1:\(open.port)\r\n\(more)\r\n")
    return client
  }

  private static func form(_ body: String, type: String = "application/x-www-form-urlencoded")
    -> String
  {
    "Content-Type: \(type)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
  }

  private static func waits(_ open: OpenRedirect, _ claim: RedirectClaim)
    -> Task<RedirectAnswer, any Error>
  {
    open.expect(claim)
    return Task { try await open.next() }
  }

  @Test func `Sign-ins at one port and path are told apart by their claims`() async throws {
    let first = try Self.open()
    let others = try (1..<64).map { _ in try Self.open(at: first.port) }
    let all = [first] + others
    #expect(Set(all.map(\.address)).count == 1)
    var tasks: [Task<RedirectAnswer, any Error>] = []
    for (number, open) in all.enumerated() {
      tasks.append(Self.waits(open, Self.claim("state=\(number)")))
    }
    for number in (0..<64).reversed() {
      let client = try Self.browser(first, "GET /back?state=\(number)")
      let answer = try await tasks[number].value
      await answer.show(RedirectPage(.signedIn(person: "p\(number)", isGranted: false)))
      #expect(client.receiveAnswer().contains("account p\(number)."))
      all[number].close()
      // The others still wait.
      guard number > 0 else { break }
      #expect(
        try Self.browser(first, "GET /back?state=x").receiveAnswer().hasPrefix("HTTP/1.1 400 "))
    }
    #expect(throws: Client.Refused.self) { try Client(first.port) }
  }

  @Test func `Sign-ins at one port are told apart by path and host`() async throws {
    let first = try Self.open("/a")
    let second = try Self.open("/b", at: first.port)
    let named = try RedirectListener.open(
      RedirectPlace(host: .name, ports: [first.port], path: "/a"))
    defer { for open in [first, second, named] { open.close() } }
    let tasks = [
      Self.waits(first, .all), Self.waits(second, .all), Self.waits(named, .all),
    ]
    let client = try Client(first.port)
    client.send("GET /a?n HTTP/1.1\r\nHost: localhost:\(first.port)\r\n\r\n")
    #expect(try await tasks[2].value.parameters.text == "n")
    let other = try Self.browser(first, "GET /b?b")
    #expect(try await tasks[1].value.parameters.text == "b")
    let last = try Self.browser(first, "GET /a?a")
    #expect(try await tasks[0].value.parameters.text == "a")
    withExtendedLifetime((client, other, last)) {}
  }

  @Test func `GET and POST of one response count once, and every one of them gets the page`()
    async throws
  {
    let open = try Self.open()
    defer { open.close() }
    let task = Self.waits(open, Self.claim("state=S"))
    let clients = [
      try Self.browser(open, "GET /back?state=S"), try Self.browser(open, "GET /back?state=S"),
      try Self.browser(open, "POST /back", Self.form("state=S")),
    ]
    let answer = try await task.value
    await answer.show(RedirectPage(.signedIn(person: "ada", isGranted: false)))
    let late = try Self.browser(open, "GET /back?state=S")
    for client in clients + [late] { #expect(client.receiveAnswer().contains("account ada.")) }
    let again = Task { try await open.next() }
    again.cancel()
    await #expect(throws: Problem.self) { try await again.value }
  }

  @Test(
    "A posted form is a response if it has the type of a form, a length and no query",
    arguments: [
      ("POST /back", form("state=S"), nil),
      ("POST /back", form("state=S", type: "Application/X-WWW-Form-Urlencoded;charset=UTF-8"), nil),
      ("POST /back?x=1", form("state=S"), 400), ("POST /back?", form("state=S"), 400),
      ("POST /back", form("state=S", type: "text/plain"), 415),
      ("POST /back", form("state=S", type: "application/x-www-form-urlencoded2"), 415),
      ("POST /back", "Content-Length: 7\r\n\r\nstate=S", 415),
      ("POST /back", "Content-Type: application/x-www-form-urlencoded\r\n", 411),
      (
        "POST /back",
        "Content-Type: application/x-www-form-urlencoded\r\nTransfer-Encoding: chunked\r\nContent-Length: 7\r\n",
        411
      ),
      (
        "POST /back", "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: -1\r\n",
        400
      ),
      ("POST /other", form("state=S"), 404),
    ] as [(String, String, Int?)])
  func posted(line: String, more: String, status: Int?) async throws {
    let open = try Self.open()
    defer { open.close() }
    let task = Self.waits(open, Self.claim("state=S"))
    let client = try Self.browser(open, line, more)
    guard let status else {
      #expect(try await task.value.parameters == RedirectParameters("state=S", isForm: true))
      return
    }
    #expect(client.receiveAnswer().hasPrefix("HTTP/1.1 \(status) "))
    task.cancel()
    _ = await task.result
  }

  @Test func `A posted form has at most 64 KiB`() async throws {
    let open = try Self.open()
    defer { open.close() }
    let task = Self.waits(open, .all)
    let body = String(repeating: "a", count: RedirectParameters.formLimitBytes)
    let tooLong = try Self.browser(open, "POST /back", Self.form(body + "a"))
    let page = tooLong.receiveAnswer()
    #expect(page.hasPrefix("HTTP/1.1 413 ") && page.contains("longer than 64 KiB"))
    let fits = try Self.browser(open, "POST /back", Self.form(body))
    #expect(try await task.value.parameters.text.utf8.count == body.utf8.count)
    withExtendedLifetime(fits) {}
  }

  @Test func `A page fetches the fragment only for a sign-in that takes it`() async throws {
    let open = try RedirectListener.open(RedirectPlace(path: "/back", takesFragment: true))
    defer { open.close() }
    let task = Self.waits(open, Self.claim("state=S"))
    let page = try Self.browser(open, "GET /back").receiveAnswer()
    #expect(page.hasPrefix("HTTP/1.1 200 ") && page.contains("<script>"))
    let lines = page.split(separator: "\r\n")
    let policy = try #require(lines.first { $0.hasPrefix("Content-Security-Policy: ") })
    #expect(
      policy.contains(" default-src 'none'; ") && policy.contains("; script-src 'sha256-")
        && policy.contains("; form-action 'self'; ") && !policy.contains("unsafe"))
    _ = try Self.browser(open, "POST /back", Self.form("state=S"))
    #expect(try await task.value.parameters.isForm)
    let plain = try Self.open()
    defer { plain.close() }
    let words = try Self.browser(plain, "GET /back").receiveAnswer()
    #expect(words.hasPrefix("HTTP/1.1 400 ") && !words.contains("<script>"))
    #expect(words.contains("belong to the sign-in that is waiting"))
  }

  @Test(
    "A refused request gets a page with words, and is told to the sign-in that waits alone",
    arguments: [
      ("OPTIONS /back?code=C", nil, 405, "another method"),
      ("GET /back", "localhost", 421, "127.0.0.1 and localhost are two hosts"),
      ("GET /favicon.ico", nil, 404, "no answer"),
      // The question of another process.
      ("GET \(RedirectRequest.probePath)", "localhost", 404, "no answer"),
    ] as [(String, String?, Int, String)])
  func told(line: String, host: String?, status: Int, words: String) async throws {
    let told = Lock<[RefusedReturn]>([])
    let claim = Self.claim("state=S") { refused in told.withLock { $0.append(refused) } }
    let open = try Self.open()
    defer { open.close() }
    let task = Self.waits(open, claim)
    func refuse() throws {
      let client = try Client(open.port)
      client.send("\(line) HTTP/1.1\r\nHost: \(host ?? "127.0.0.1"):\(open.port)\r\n\r\n")
      let page = client.receiveAnswer()
      #expect(page.hasPrefix("HTTP/1.1 \(status) ") && page.contains(words))
      _ = try Self.browser(open, "GET /back?x=1").receiveAnswer()
    }
    try refuse()
    let foreign = RefusedReturn.foreign(RedirectParameters("x=1"))
    let expected = status == 404 ? [foreign] : [.request(status: status), foreign]
    #expect(told.withLock { $0 } == expected)
    // Nobody knows whose request it is if two wait.
    let other = try Self.open("/other", at: open.port)
    try refuse()
    #expect(told.withLock { $0 } == expected)
    other.close()
    task.cancel()
    _ = await task.result
  }

  @Test func `A request without an error is not told after one with an error`() async throws {
    let told = Lock<[RefusedReturn]>([])
    let claim = Self.claim("state=S") { refused in told.withLock { $0.append(refused) } }
    let open = try Self.open()
    defer { open.close() }
    let task = Self.waits(open, claim)
    for line in ["HEAD /back", "GET /back?error=access_denied", "HEAD /back", "GET /back?x=1"] {
      let page = try Self.browser(open, line).receiveAnswer()
      #expect(!page.contains("Start again"))
    }
    let error = RefusedReturn.foreign(RedirectParameters("error=access_denied"))
    #expect(told.withLock { $0 } == [.request(status: 405), error])
    task.cancel()
    _ = await task.result
  }
}
