internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// A listener on 127.0.0.1 for the browser's redirect. RFC 8252 sections 7.3 and 8.3.
///
/// Has one thread, from initialization until `close`. A connection serves one request. Its head
/// must arrive within five seconds; then it waits for its page without a limit.
final class RedirectListener: Sendable {
  /// The maximum number of served connections. A further one replaces the oldest connection that has
  /// sent nothing, because any user of this machine can open such connections. If every connection
  /// has sent something, further ones wait.
  static let connectionLimit = 8
  /// The time limit for receiving a request or sending a page.
  static let requestMilliseconds = 5000

  private struct State: ~Copyable {
    /// `nil` after `close`.
    var socket: LoopbackSocket?
    /// Pages to send, by the connection's number.
    var pages: [(connection: Int, page: RedirectPage, shown: CheckedContinuation<Void, Never>)] = []
    /// Whether the thread has ended.
    var isOver = false
  }

  let port: UInt16
  private let path: String
  /// The value of the browser's `Host` header.
  private let host: String
  private let wakeUp: WakeUp
  private let state: Lock<State>
  private let answers: AsyncStream<RedirectAnswer>.Continuation
  private let arrived: AsyncStream<RedirectAnswer>

  /// Throws `EADDRINUSE` if all ports are taken.
  init(_ place: RedirectPlace) throws(SystemError) {
    let socket = try Self.socket(on: place.ports)
    port = socket.port
    state = Lock(State(socket: socket))
    path = place.path
    host = "\(place.host.rawValue)\(port == 80 ? "" : ":\(port)")"
    wakeUp = try WakeUp()
    (arrived, answers) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(32))
    try WorkThread.start("redirect") { [self] in run() }
  }

  /// The interface for the flow.
  var open: OpenRedirect {
    OpenRedirect(
      address: "http://\(host)\(path)",
      next: { [self] () throws(Problem) in
        for await answer in arrived { return answer }
        throw Problem(.cancelled, "The redirect listener was closed.")
      },
      close: { [self] in close() })
  }

  private func close() {
    state.withLock { $0.socket = nil }
    wakeUp.ring()
  }

  private static func socket(on ports: [UInt16]) throws(SystemError) -> LoopbackSocket {
    guard let last = ports.last else { return try LoopbackSocket(port: 0) }
    for port in ports.dropLast() {
      if let socket = try? LoopbackSocket(port: port) { return socket }
    }
    return try LoopbackSocket(port: last)
  }
}

// These functions run on the listener's thread.
extension RedirectListener {
  private func run() {
    var connections: [Int: RedirectConnection] = [:]
    var nextNumber = 0
    /// An accepted connection that no other one gives way to yet.
    var waiting: Descriptor?
    var isClosed = false
    // After `close` only the remaining pages are sent, within the time limit.
    while !isClosed || connections.values.contains(where: \.isAnswering) {
      var poller = Poller(slots: 2 + connections.count)
      poller.watch(0, wakeUp.number, for: .readable)
      if waiting == nil, let number = state.withLock({ $0.socket?.number }) {
        poller.watch(1, number, for: .readable)
      }
      let numbers = connections.keys.sorted()
      for (slot, number) in numbers.enumerated() {
        connections[number]?.watch(in: &poller, 2 + slot)
      }
      poller.wait(milliseconds: connections.values.map(\.millisecondsLeft).min() ?? -1)
      if poller.happened(0, .readable) { wakeUp.clear() }
      for (slot, number) in numbers.enumerated() {
        let isReady = poller.happened(2 + slot, [.readable, .writable, .lost])
        if let query = connections[number]?.go(on: isReady, path: path, host: host) {
          announce(query, from: number)
        }
      }
      connections = connections.filter { !$0.value.isOver }
      while true {
        if waiting == nil { waiting = state.withLock { $0.socket?.accept() } }
        guard waiting != nil, makeRoom(in: &connections), let descriptor = waiting.take() else {
          break
        }
        connections[nextNumber] = RedirectConnection(descriptor)
        nextNumber += 1
      }
      let (pages, closing) = state.withLock { state in
        defer { state.pages = [] }
        return (state.pages, state.socket == nil)
      }
      for (number, page, shown) in pages {
        connections[number]?.show(page)
        shown.resume()
      }
      if closing && !isClosed {
        isClosed = true
        waiting = nil
        for connection in connections.values { connection.showIfWaiting(RedirectPage(.unexpected)) }
      }
      connections = connections.filter { !$0.value.isOver }
    }
    answers.finish()
    let late = state.withLock { state in
      state.isOver = true
      return state.pages
    }
    for page in late { page.shown.resume() }
  }

  /// Returns whether there is room for one more connection. Of a full set, the oldest connection
  /// gives way that has sent nothing. It is read first, because its bytes may have arrived since the
  /// poll.
  private func makeRoom(in connections: inout [Int: RedirectConnection]) -> Bool {
    for number in connections.keys.sorted() where connections.count == Self.connectionLimit {
      guard let connection = connections[number], connection.isSilent else { continue }
      if let query = connection.go(on: true, path: path, host: host) {
        announce(query, from: number)
      }
      if connection.isSilent || connection.isOver { connections[number] = nil }
    }
    return connections.count < Self.connectionLimit
  }

  private func announce(_ query: String, from number: Int) {
    answers.yield(
      RedirectAnswer(query: query) { [self] page in
        await withCheckedContinuation { shown in
          let isOver = state.withLock { state in
            if !state.isOver { state.pages.append((number, page, shown)) }
            return state.isOver
          }
          if isOver { shown.resume() } else { wakeUp.ring() }
        }
      })
  }
}
