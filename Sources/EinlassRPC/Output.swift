internal import EinlassSystem

/// The only writer of stdout: whole messages in one buffer, written without blocking.
///
/// An append may be followed by an immediate `flush`. The event loop writes the rest when stdout
/// has room again.
final class Output: Sendable {
  /// The state of the buffer.
  struct Status {
    /// The number of bytes not yet written.
    var pendingCount: Int
    /// The number of these bytes that are not answers; the written ones count as notifications.
    var pendingNotificationCount: Int
    /// The number of bytes written since the start. It grows as long as the client reads.
    var writtenCount: Int
    /// Whether a write failed because the client no longer reads.
    var isLost: Bool

    /// Whether the event loop must continue: bytes are pending, or the connection is lost.
    var needsEventLoop: Bool { pendingCount > 0 || isLost }
  }

  private struct State: ~Copyable {
    var descriptor: Descriptor?
    var framing = Framing.lines
    var buffer: [UInt8] = []
    /// The index of the first unwritten byte in `buffer`.
    var start = 0
    var writtenCount = 0
    /// The number of pending bytes of answers, at most.
    var answerCount = 0
    var isLost = false
    /// Whether appended bytes are dropped.
    var isDiscarding = false

    var pendingCount: Int { buffer.count - start }

    mutating func write() {
      while pendingCount > 0, descriptor != nil {
        switch descriptor!.writeWithoutWaiting(buffer, start..<buffer.count) {
        case .bytes(let count):
          start += count
          writtenCount += count
          answerCount = min(answerCount, pendingCount)
        case .wouldWait, .end:
          return compact()
        case .failed:
          isLost = true
          isDiscarding = true
          return discard()
        }
      }
      discard()
    }

    /// Removes the written bytes from the buffer. It waits until they outnumber the pending bytes,
    /// so that the cost of moving the rest stays small.
    mutating func compact() {
      guard start > 1 << 16, start > pendingCount else { return }
      buffer.removeSubrange(..<start)
      start = 0
    }

    mutating func discard() {
      if buffer.capacity > 1 << 19 { buffer = [] } else { buffer.removeAll(keepingCapacity: true) }
      start = 0
      answerCount = 0
    }
  }

  private let state: Lock<State>

  /// Makes an output that owns this descriptor.
  init(_ descriptor: consuming Descriptor) { state = Lock(State(descriptor: descriptor)) }

  /// Frames the messages from now on.
  func frame(by framing: Framing) { state.withLock { $0.framing = framing } }

  /// Appends the message that the closure appends.
  func append(isAnswer: Bool, _ body: (inout [UInt8]) -> Void) {
    state.withLock { state in
      guard state.descriptor != nil, !state.isDiscarding else { return }
      let start = state.buffer.count
      body(&state.buffer)
      state.framing.close(&state.buffer, from: start)
      if isAnswer { state.answerCount += state.buffer.count - start }
    }
  }

  /// Writes as many bytes as possible without blocking.
  @discardableResult
  func flush() -> Status {
    state.withLock { state in
      state.write()
      return Status(
        pendingCount: state.pendingCount,
        pendingNotificationCount: state.pendingCount - state.answerCount,
        writtenCount: state.writtenCount, isLost: state.isLost)
    }
  }

  /// The number of bytes not yet written.
  var pendingCount: Int { state.withLock { $0.pendingCount } }

  /// Drops the pending bytes and ignores every later append.
  func discard() {
    state.withLock { state in
      state.isDiscarding = true
      state.discard()
    }
  }

  /// Closes the descriptor, so that the client reads the end of the stream.
  func close() { state.withLock { $0.descriptor = nil } }

  /// The descriptor's number for polling; -1 after `discard`, `close` or a failed write.
  var number: Int32 {
    state.withLock { state in
      guard !state.isDiscarding else { return -1 }
      return state.descriptor?.number ?? -1
    }
  }
}
