internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// One connection of a browser: reads a request, waits for its page, writes it, and is over.
final class RedirectConnection {
  private enum Phase {
    case reading
    /// The flow decides about the page.
    case waiting
    case answering
    /// The browser closes first, so that no port stays behind in TIME_WAIT: the next sign-in may need the same one.
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
  var isAnswering: Bool { phase == .answering || phase == .leaving }
  /// Until something has to happen; −1: nothing has to.
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
    // A browser that has gone is noticed when its page is written.
    case .waiting, .over: poller.ignore(slot)
    }
  }

  /// Goes on as far as it can; the query of an answer that has arrived.
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

  /// Answers with a page; the first one counts.
  func show(_ page: RedirectPage) {
    guard phase == .reading || phase == .waiting else { return }
    let style = Base64.encode(Digest.sha256(Array(RedirectPage.style.utf8)))
    answer(
      page.status, Array(page.html.utf8),
      "Content-Type: text/html; charset=utf-8\r\nContent-Security-Policy: default-src 'none'; style-src 'sha256-\(style)'; frame-ancestors 'none'\r\n"
    )
  }

  /// The same for one whose answer nobody has taken.
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

  /// Reads past what else the browser sends, until it closes.
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
