internal import Einlass
internal import EinlassSystem

/// A listener on a port of 127.0.0.1 for the browser's redirects. RFC 8252 sections 7.3 and 8.3.
///
/// The sign-ins of a process share a port: a response goes to the one that waits at its host and
/// path and claims it. The listener has one thread, until the last of its sign-ins has closed. A
/// connection serves one request. It must arrive within five seconds; then it waits for its page
/// without a limit.
final class RedirectListener: Sendable {
  /// The maximum number of served connections, without those that wait for their page. A further one
  /// replaces the oldest connection that has sent nothing, because any user of this machine can open
  /// such connections. If every connection has sent something, further ones wait.
  static let connectionLimit = 8
  /// The maximum number of further connections that wait for their page.
  static let waitingLimit = 64
  /// The time limit for receiving a request or sending a page.
  static let requestMilliseconds = 5000

  /// A sign-in that waits for its response.
  private struct SignIn {
    let place: RedirectPlace
    let answers: AsyncStream<RedirectAnswer>.Continuation
    /// `nil` until the sign-in has opened its page.
    var claim: RedirectClaim?
    var isAnswered = false
    /// Whether a refused request named an error.
    var knowsError = false
    /// The page for each connection that has brought its response.
    var page: RedirectPage?
  }

  private struct State: ~Copyable {
    /// `nil` after the last sign-in has closed.
    var socket: LoopbackSocket?
    var signIns: [Int: SignIn] = [:]
    var nextSignIn = 0
    /// The sign-ins that wait until their page is on its way.
    var shown: [CheckedContinuation<Void, Never>] = []
    /// Whether the thread has ended.
    var isOver = false
  }

  /// The listeners of this process, by their ports.
  private static let listeners = Lock<[UInt16: RedirectListener]>([:])

  private let port: UInt16
  private let wakeUp: WakeUp
  private let state: Lock<State>

  /// Opens an address, at the first of its ports that is free or has a listener of this process.
  /// Throws `EADDRINUSE` if other programs have all of them.
  static func open(_ place: RedirectPlace) throws(SystemError) -> OpenRedirect {
    try listeners.withLock { listeners throws(SystemError) in
      let listener = try listener(on: place.ports, among: listeners)
      listeners[listener.port] = listener
      return listener.add(place)
    }
  }

  private static func listener(
    on ports: [UInt16], among listeners: [UInt16: RedirectListener]
  ) throws(SystemError) -> RedirectListener {
    for port in ports.dropLast() {
      if let listener = listeners[port] { return listener }
      if let listener = try? RedirectListener(port: port) { return listener }
    }
    let last = ports.last ?? 0
    if let listener = listeners[last] { return listener }
    return try RedirectListener(port: last)
  }

  private init(port wanted: UInt16) throws(SystemError) {
    let socket = try LoopbackSocket(port: wanted)
    port = socket.port
    state = Lock(State(socket: socket))
    wakeUp = try WakeUp()
    try WorkThread.start("redirect") { [self] in run() }
  }

  private func add(_ place: RedirectPlace) -> OpenRedirect {
    let (arrived, answers) = AsyncStream<RedirectAnswer>.makeStream()
    let signIn = state.withLock { state in
      state.signIns[state.nextSignIn] = SignIn(place: place, answers: answers)
      defer { state.nextSignIn += 1 }
      return state.nextSignIn
    }
    return OpenRedirect(
      address: "http://\(place.authority(port: port))\(place.path)",
      expect: { [self] claim in state.withLock { $0.signIns[signIn]?.claim = claim } },
      next: { () async throws(Problem) in
        for await answer in arrived { return answer }
        throw Problem(.cancelled, "The redirect listener was closed.")
      },
      close: { [self] in close(signIn) })
  }

  private func close(_ signIn: Int) {
    Self.listeners.withLock { listeners in
      state.withLock { state in
        state.signIns.removeValue(forKey: signIn)?.answers.finish()
        guard state.signIns.isEmpty, state.socket != nil else { return }
        state.socket = nil
        listeners[port] = nil
      }
    }
    wakeUp.ring()
  }

  private func show(_ page: RedirectPage, of signIn: Int) async {
    await withCheckedContinuation { shown in
      let isOver = state.withLock { state in
        if state.signIns[signIn]?.page == nil { state.signIns[signIn]?.page = page }
        if !state.isOver { state.shown.append(shown) }
        return state.isOver
      }
      if isOver { shown.resume() } else { wakeUp.ring() }
    }
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
    // After the last `close` only the remaining pages are sent, within the time limit.
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
        guard let connection = connections[number] else { continue }
        go(connection, on: poller.happened(2 + slot, [.readable, .writable, .lost]))
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
      isClosed = showPages(in: connections)
      if isClosed {
        waiting = nil
        for connection in connections.values { connection.endIfReading() }
      }
      connections = connections.filter { !$0.value.isOver }
    }
    let late = state.withLock { state in
      state.isOver = true
      return state.shown
    }
    for shown in late { shown.resume() }
  }

  /// Sends the pages that are known. A response of a sign-in that has closed without a page is an
  /// unexpected one. Returns whether every sign-in has closed.
  private func showPages(in connections: [Int: RedirectConnection]) -> Bool {
    let (signIns, shown, isClosed) = state.withLock { state in
      defer { state.shown = [] }
      return (state.signIns, state.shown, state.socket == nil)
    }
    for connection in connections.values where connection.isWaiting {
      guard let signIn = connection.signIn.flatMap({ signIns[$0] }) else {
        connection.show(RedirectPage(.unexpected))
        continue
      }
      if let page = signIn.page { connection.show(page) }
    }
    for shown in shown { shown.resume() }
    return isClosed
  }

  /// Returns whether there is room for one more connection. Of a full set, the oldest connection
  /// gives way that has sent nothing. It is read first, because its bytes may have arrived since the
  /// poll.
  private func makeRoom(in connections: inout [Int: RedirectConnection]) -> Bool {
    for number in connections.keys.sorted() where isFull(connections) {
      guard let connection = connections[number], connection.isSilent else { continue }
      go(connection, on: true)
      if connection.isSilent || connection.isOver { connections[number] = nil }
    }
    return !isFull(connections)
  }

  private func isFull(_ connections: [Int: RedirectConnection]) -> Bool {
    let waiting = connections.values.count(where: \.isWaiting)
    return connections.count - min(waiting, Self.waitingLimit) >= Self.connectionLimit
  }

  /// Lets a connection continue, and decides about its request.
  private func go(_ connection: RedirectConnection, on isReady: Bool) {
    let signIns = state.withLock { $0.signIns }
    let places = signIns.values.map(\.place)
    guard let verdict = connection.go(on: isReady, at: places, port: port) else { return }
    switch verdict {
    case .incomplete: break
    case .refused(503): connection.postpone()
    case .refused(let status):
      // Browsers ask for icons of a page by themselves.
      if status != 404 { tell(signIns, .request(status: status)) }
      connection.show(RedirectPage(.refused(status: status)))
    case .fragment: connection.show(RedirectPage(.fragment))
    case .answer(let place, let parameters):
      let owner = signIns.first { signIn in
        signIn.value.place.host == place.host && signIn.value.place.path == place.path
          && signIn.value.claim?.isOurs(parameters) == true
      }
      guard let owner else {
        tell(signIns, .foreign(parameters))
        return connection.show(RedirectPage(.foreign))
      }
      connection.signIn = owner.key
      announce(parameters, to: owner.key)
    }
  }

  /// Tells a refused request to the only sign-in that can have caused it. After one with an error it
  /// is told no other.
  private func tell(_ signIns: [Int: SignIn], _ refused: RefusedReturn) {
    guard signIns.count == 1, let (number, only) = signIns.first, !only.isAnswered,
      refused.namesError || !only.knowsError
    else { return }
    if refused.namesError { state.withLock { $0.signIns[number]?.knowsError = true } }
    only.claim?.refused(refused)
  }

  /// Hands the first response to its sign-in. A browser may bring it several times.
  private func announce(_ parameters: RedirectParameters, to signIn: Int) {
    let answers = state.withLock { state in
      let isFirst = state.signIns[signIn]?.isAnswered == false
      state.signIns[signIn]?.isAnswered = true
      return isFirst ? state.signIns[signIn]?.answers : nil
    }
    answers?.yield(
      RedirectAnswer(parameters) { [self] page in await show(page, of: signIn) })
  }
}
