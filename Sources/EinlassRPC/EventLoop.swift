internal import EinlassJSON
internal import EinlassSystem

/// The thread that reads: polls input, signals, the watched process, a wake-up, an alarm and the
/// output. No timer runs while nothing is pending.
struct EventLoop: ~Copyable {
  /// The stages of a connection.
  private enum Stage {
    case serving
    /// Input has ended. Requests that were read run to their end.
    case finishing
    /// Everything is cancelled and has one second to answer.
    case draining
    /// The last answers are written.
    case closing
    /// The output is closed. Work that must not be interrupted still runs.
    case silent
  }

  private enum Slot {
    static let input = 0
    static let output = 1
    static let signals = 2
    static let wakeUp = 3
    static let alarm = 4
    static let process = 5
    static let count = 6
    /// The first slot of the bells, each of which has a slot of its own.
    static let bells = 6
  }

  private static let closeLimit: Duration = .milliseconds(400)

  private let peer: Peer
  private let alarm: Alarm
  private var framer: MessageFramer
  private var chunk = [UInt8](repeating: 0, count: 1 << 16)
  private var poller = Poller(slots: Slot.count)
  /// The bells in their slots.
  private var bells: [Peer.Bell] = []
  private var stage = Stage.serving
  private var isReading = true
  /// Input has ended, but messages of it may still be unprocessed.
  private var hasInputEnded = false
  /// Input is not processed while the output has no room for answers.
  private var hasMessages = false
  private var exitCode: Int32 = 0
  private var hasSignal = false
  /// The requests that asked for the end.
  private var endTickets: [RequestTable.Ticket] = []
  /// Requests are refused until the client closes the connection, after `shutdown`.
  private var isLingering = false
  /// The bytes written when the loop began to wait for the client to read.
  private var writtenWhenFull: Int?

  /// Makes a loop at the start of a stream.
  init(_ peer: Peer) throws(SystemError) {
    self.peer = peer
    framer = MessageFramer(peer.options.framing)
    if let framing = framer.framing { peer.output.frame(by: framing) }
    alarm = try Alarm()
  }

  /// Runs until there is an exit code.
  mutating func run() -> Int32 {
    poller.watch(Slot.wakeUp, peer.wakeUp.number, for: .readable)
    poller.watch(Slot.alarm, alarm.number, for: .readable)
    poller.watch(Slot.signals, peer.signals.number, for: .readable)
    while true {
      peer.options.willTakeRequests()
      processMessages()
      if let code = advance() { return code }
      let isOwed = stage != .serving && peer.output.pendingCount > 0
      let status = peer.output.flush()
      if isBeyondHope(status) { continue }
      // Writing has made room. No other event reports waiting messages or a possible end.
      if hasMessages && status.pendingCount <= Limits.softOutputBytes { continue }
      if isOwed && status.pendingCount == 0 { continue }
      watch(status)
      poller.wait()
      if let code = react() { return code }
    }
  }
}

// MARK: - Input

extension EventLoop {
  private mutating func processMessages() {
    var pendingCount = peer.output.pendingCount
    while pendingCount <= Limits.softOutputBytes {
      guard let frame = framer.next() else {
        hasMessages = false
        return endOfInput()
      }
      process(frame)
      pendingCount = peer.output.pendingCount
      if pendingCount > Limits.flushBytes { pendingCount = peer.output.flush().pendingCount }
    }
  }

  private mutating func process(_ frame: MessageFramer.Frame) {
    switch frame {
    case .text(let bytes): process(Message(bytes))
    case .tooLong: peer.refuse(RPCError(.lineTooLong), id: nil, place: .line)
    case .invalidHeader(let expected):
      peer.refuse(.invalidHeader(expected: expected), id: nil, place: .line)
      hasInputEnded = true
    }
  }

  private mutating func process(_ message: Message) {
    switch peer.dispatch(message) {
    case nil: return
    case .shutdown(let ticket)?:
      if let ticket { endTickets.append(ticket) }
      isLingering = ticket != nil
    case .exit(let ticket)?:
      if let ticket { endTickets.append(ticket) }
      stopReading()
    }
    drain("the client asked for it")
  }

  private mutating func read() {
    switch peer.input.read(into: &chunk) {
    case .bytes(let count):
      let isDecided = framer.framing != nil
      framer.feed(chunk[..<count])
      if !isDecided, let framing = framer.framing { peer.output.frame(by: framing) }
      hasMessages = true
    case .wouldWait: break
    case .end: (hasInputEnded, hasMessages) = (true, true)
    case .failed(let error):
      peer.options.log.warning("rpc", "stdin can't be read: error \(error.number) of the system")
      (hasInputEnded, hasMessages) = (true, true)
    }
  }

  /// Starts the end of the connection after the end of input, when all whole messages are processed.
  private mutating func endOfInput() {
    guard hasInputEnded && isReading else { return }
    processRest()
    stopReading()
    guard stage == .serving else { return }
    if peer.options.finishesWork {
      peer.requests.withLock { $0.phase = .finishing }
      stage = .finishing
    } else {
      drain("end of input", by: RPCError.endOfInput)
    }
  }

  /// Processes a last line without LF if it is a complete object or array.
  private mutating func processRest() {
    switch framer.rest() {
    case .text(let bytes)? where Message.isWhole(bytes): process(Message(bytes))
    case nil: break
    default: peer.options.log.warning("rpc", "input ended in the middle of a message")
    }
  }

  private mutating func stopReading() {
    isReading = false
    isLingering = false
  }
}

// MARK: - Waiting

extension EventLoop {
  private mutating func watch(_ status: Output.Status) {
    let isFull = status.pendingCount > Limits.softOutputBytes
    if isReading && !hasInputEnded && !hasMessages && !isFull {
      poller.watch(Slot.input, peer.input.number, for: .readable)
    } else {
      poller.ignore(Slot.input)
    }
    poller.watch(
      Slot.output, peer.output.number, for: status.pendingCount > 0 ? .writable : [])
    guard stage == .serving || stage == .finishing else { return }
    // After all work, the last answers may take as long as the client goes on reading.
    let mayStall = isFull || (stage == .finishing && status.pendingCount > 0 && peer.isIdle)
    if mayStall && writtenWhenFull == nil {
      writtenWhenFull = status.writtenCount
      alarm.set(after: peer.options.stallLimit)
    } else if !mayStall && writtenWhenFull != nil {
      writtenWhenFull = nil
      alarm.stop()
    }
  }

  private mutating func watchBells() {
    let all = peer.bells.withLock { $0 }
    for index in bells.count..<all.count {
      poller.watch(Slot.bells + index, all[index].number, for: .readable)
    }
    bells = all
  }

  private mutating func react() -> Int32? {
    if poller.happened(Slot.wakeUp, .readable) {
      peer.wakeUp.clear()
      if let number = peer.watchedNumber { poller.watch(Slot.process, number, for: .readable) }
      watchBells()
    }
    for (index, bell) in bells.enumerated()
    where poller.happened(Slot.bells + index, [.readable, .lost]) {
      bell.react()
    }
    // Input comes before signals, so that requests sent before a signal are answered.
    if poller.happened(Slot.input, [.readable, .lost]) { read() }
    if poller.happened(Slot.output, [.lost, .hungUp]) {
      let isOwed = !peer.isIdle || peer.output.pendingCount > 0
      lose(
        "stdout is closed", exitCode: isOwed || stage == .serving ? 1 : exitCode,
        level: isOwed ? .error : .info)
    }
    if poller.happened(Slot.process, .readable) {
      poller.ignore(Slot.process)
      stopReading()
      drain("the watched process has ended")
    }
    while poller.happened(Slot.signals, .readable), let signal = peer.signals.next() {
      if hasSignal { return 128 + signal }
      hasSignal = true
      stopReading()
      drain("signal \(signal)")
    }
    if poller.happened(Slot.alarm, .readable) { ring() }
    return nil
  }

  private mutating func ring() {
    alarm.stop()
    switch stage {
    case .serving, .finishing:
      guard let before = writtenWhenFull else { return }
      let status = peer.output.flush()
      if status.writtenCount == before { return lose("the client stopped reading", exitCode: 75) }
      writtenWhenFull = status.writtenCount
      alarm.set(after: peer.options.stallLimit)
    case .draining:
      peer.abandon()
      alarm.set(after: EventLoop.closeLimit)
    case .closing:
      isLingering = false
      if peer.output.flush().pendingCount > 0 { lose("the client stopped reading", exitCode: 75) }
    case .silent: break
    }
  }
}

// MARK: - Ending

extension EventLoop {
  private mutating func drain(_ why: String, by word: String = "shutdown") {
    guard stage == .serving || stage == .finishing else { return }
    peer.options.log.info("rpc", "ending: \(why)")
    stage = .draining
    alarm.set(after: peer.options.drainLimit)
    peer.drain(by: word)
  }

  /// Gives up the pending output.
  ///
  /// - Parameter level: the level of the log line; lower if no request was unanswered.
  private mutating func lose(_ why: String, exitCode: Int32, level: Log.Level = .error) {
    peer.options.log.write(level, "rpc") { why }
    self.exitCode = exitCode
    peer.output.discard()
    stopReading()
    drain(why)
  }

  /// Returns whether the output failed or is far over its limit. The end of the connection has
  /// begun then.
  private mutating func isBeyondHope(_ status: Output.Status) -> Bool {
    guard exitCode == 0, stage != .silent else { return false }
    if status.isLost {
      lose("stdout is lost", exitCode: 1)
    } else if status.pendingNotificationCount > Limits.hardOutputBytes {
      lose("the client stopped reading", exitCode: 75)
    } else {
      return false
    }
    return true
  }

  /// Enters the next stage when it is due. Returns the exit code after the last stage.
  private mutating func advance() -> Int32? {
    if stage == .finishing && peer.isIdle && peer.output.flush().pendingCount == 0 {
      drain("everything is done")
    }
    if stage == .draining && peer.isIdle { stage = .closing }
    if stage == .closing {
      for ticket in endTickets { peer.answer(ticket, .success([:])) }
      endTickets = []
    }
    if stage == .closing && !isLingering && !hasMessages && peer.output.flush().pendingCount == 0 {
      stage = .silent
      alarm.stop()
      stopReading()
      peer.output.close()
    }
    guard stage == .silent && !peer.isKeptAlive else { return nil }
    return exitCode
  }
}
