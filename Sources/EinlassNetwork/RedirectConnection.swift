internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// One connection of a browser: reads a request, waits for its page, sends it and ends.
final class RedirectConnection {
  /// The header `Server` of each answer. A sign-in of another process knows by it that the port will
  /// be free.
  static let serverName = "einlass"

  private enum Phase {
    case reading
    /// The request is complete, and its page is not known yet.
    case waiting
    case answering
    /// The page was sent. The browser closes first, so that the listener's port is not left in
    /// TIME_WAIT: the next sign-in may need the same port.
    case leaving
    case over
  }

  private let descriptor: Descriptor
  private var phase = Phase.reading
  private var deadline = Deadline(milliseconds: RedirectListener.requestMilliseconds)
  private var bytes: [UInt8] = []
  private var sent = 0
  /// The sign-in whose response the connection has brought.
  var signIn: Int?

  init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

  var isOver: Bool { phase == .over }
  /// Whether nothing has arrived yet.
  var isSilent: Bool { phase == .reading && bytes.isEmpty }
  var isWaiting: Bool { phase == .waiting }
  var isAnswering: Bool { phase == .answering || phase == .leaving }
  /// The time until the connection needs attention, in milliseconds.
  var millisecondsLeft: Int32 {
    switch phase {
    case .waiting: .max
    case .reading, .answering, .leaving, .over: deadline.millisecondsLeft
    }
  }

  func watch(in poller: inout Poller, _ slot: Int) {
    switch phase {
    case .reading, .leaving: poller.watch(slot, descriptor.number, for: .readable)
    case .answering: poller.watch(slot, descriptor.number, for: .writable)
    // A disconnected browser is noticed when the page is sent.
    case .waiting, .over: poller.ignore(slot)
    }
  }

  /// Continues as far as possible. Returns the verdict on a complete request, which waits for its
  /// page then.
  func go(on isReady: Bool, at places: [RedirectPlace], port: UInt16) -> RedirectRequest.Verdict? {
    if isReady {
      switch phase {
      case .reading: return read(places, port)
      case .answering: write()
      case .leaving: drain()
      case .waiting, .over: break
      }
    }
    if phase != .waiting && deadline.millisecondsLeft == 0 { end() }
    return nil
  }

  /// Sends a page. Only the first call has an effect.
  func show(_ page: RedirectPage) {
    guard phase == .waiting else { return }
    func source(_ text: String) -> String {
      "'sha256-\(Base64.encode(Digest.sha256(Array(text.utf8))))'"
    }
    let script = page.script.map { "script-src \(source($0)); form-action 'self'" }
    let policy = [
      "default-src 'none'", "style-src \(source(RedirectPage.style))",
      script ?? "form-action 'none'", "frame-ancestors 'none'",
    ].joined(separator: "; ")
    answer(
      page.status, Array(page.html.utf8),
      "Content-Type: text/html; charset=utf-8\r\nContent-Security-Policy: \(policy)\r\n")
  }

  /// Refuses a request of a browser that sends it again later.
  func postpone() { answer(503, [], "Retry-After: 0\r\n") }

  /// Ends the connection if its request is not complete.
  func endIfReading() { if phase == .reading { end() } }

  private func read(_ places: [RedirectPlace], _ port: UInt16) -> RedirectRequest.Verdict? {
    var part = [UInt8](repeating: 0, count: 16 << 10)
    switch descriptor.read(into: &part) {
    case .bytes(let count): bytes += part[..<count]
    case .wouldWait: return nil
    case .end, .failed:
      end()
      return nil
    }
    let verdict = RedirectRequest.verdict(on: bytes, at: places, port: port)
    guard verdict != .incomplete else { return nil }
    phase = .waiting
    return verdict
  }

  private func answer(_ status: Int, _ body: [UInt8], _ headers: String) {
    bytes =
      Array(
        """
        HTTP/1.1 \(status) \(status == 200 ? "OK" : "Refused")\r
        Server: \(Self.serverName)\r
        Content-Length: \(body.count)\r
        Connection: close\r
        Cache-Control: no-store\r
        Referrer-Policy: no-referrer\r
        X-Content-Type-Options: nosniff\r
        \(headers)\r

        """.utf8) + body
    sent = 0
    phase = .answering
    deadline = Deadline(milliseconds: RedirectListener.requestMilliseconds)
    write()
  }

  private func write() {
    while sent < bytes.count {
      switch descriptor.send(bytes, sent..<bytes.count) {
      case .bytes(let count): sent += count
      case .wouldWait: return
      case .end, .failed: return end()
      }
    }
    phase = .leaving
  }

  /// Discards further bytes from the browser, until it closes.
  private func drain() {
    var part = [UInt8](repeating: 0, count: 4096)
    switch descriptor.read(into: &part) {
    case .bytes, .wouldWait: return
    case .end, .failed: end()
    }
  }

  private func end() {
    descriptor.resetWhenClosed()
    phase = .over
  }
}
