internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// One connection of a browser: reads a request, waits for the flow's page, sends it and ends.
final class RedirectConnection {
  private enum Phase {
    case reading
    /// The request is complete; the flow has not supplied the page yet.
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

  init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

  var isOver: Bool { phase == .over }
  /// Whether nothing has arrived yet.
  var isSilent: Bool { phase == .reading && bytes.isEmpty }
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

  /// Continues as far as possible. Returns the query of a complete authorization response.
  func go(on isReady: Bool, path: String, host: String) -> String? {
    if isReady {
      switch phase {
      case .reading: return read(path, host)
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
    guard phase == .reading || phase == .waiting else { return }
    let style = Base64.encode(Digest.sha256(Array(RedirectPage.style.utf8)))
    answer(
      page.status, Array(page.html.utf8),
      "Content-Type: text/html; charset=utf-8\r\nContent-Security-Policy: default-src 'none'; style-src 'sha256-\(style)'; frame-ancestors 'none'\r\n"
    )
  }

  /// Sends a page if the request is complete; ends the connection if it is not.
  func showIfWaiting(_ page: RedirectPage) {
    if phase == .waiting { show(page) } else if phase == .reading { end() }
  }

  private func read(_ path: String, _ host: String) -> String? {
    var part = [UInt8](repeating: 0, count: 4096)
    switch descriptor.read(into: &part) {
    case .bytes(let count): bytes += part[..<count]
    case .wouldWait: return nil
    case .end, .failed:
      end()
      return nil
    }
    switch RedirectRequest.verdict(on: bytes, path: path, host: host) {
    case .incomplete: return nil
    case .refused(let status):
      answer(status, [], status == 503 ? "Retry-After: 0\r\n" : "")
      return nil
    case .answer(let query):
      phase = .waiting
      return query
    }
  }

  private func answer(_ status: Int, _ body: [UInt8], _ headers: String) {
    bytes =
      Array(
        """
        HTTP/1.1 \(status) \(status == 200 ? "OK" : "Refused")\r
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
