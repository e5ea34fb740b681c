internal import EinlassSystem

/// The one way to stdout: whole lines, in one buffer, written without ever waiting.
///
/// Whoever appends may try to write at once; what does not go over is written by the event loop when there is
/// room again.
final class Output: Sendable {
  /// How the buffer stands.
  struct Status {
    /// Bytes that wait to be written.
    var pendingCount: Int
    /// Bytes that were ever written; a client that reads makes it grow.
    var writtenCount: Int
    /// Nobody reads any more.
    var isLost: Bool

    /// Whether there is something that only the event loop can do.
    var needsEventLoop: Bool { pendingCount > 0 || isLost }
  }

  private struct State: ~Copyable {
    var descriptor: Descriptor?
    var buffer: [UInt8] = []
    /// What stands before it has been written.
    var start = 0
    var writtenCount = 0
    /// A write failed.
    var isLost = false
    /// What is appended goes nowhere.
    var isDiscarding = false

    var pendingCount: Int { buffer.count - start }

    mutating func write() {
      while pendingCount > 0, descriptor != nil {
        switch descriptor!.writeWithoutWaiting(buffer, start..<buffer.count) {
        case .bytes(let count):
          start += count
          writtenCount += count
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

    /// Gives up the room of what was written, once it is worth the copying.
    mutating func compact() {
      guard start > 1 << 16, start > pendingCount else { return }
      buffer.removeSubrange(..<start)
      start = 0
    }

    mutating func discard() {
      if buffer.capacity > 1 << 19 { buffer = [] } else { buffer.removeAll(keepingCapacity: true) }
      start = 0
    }
  }

  private let state: Lock<State>

  /// An output that closes this descriptor when it is closed.
  init(_ descriptor: consuming Descriptor) { state = Lock(State(descriptor: descriptor)) }

  /// Adds what the closure appends, which is whole lines, and answers how much is pending now.
  @discardableResult
  func append(_ body: (inout [UInt8]) -> Void) -> Int {
    state.withLock { state in
      guard state.descriptor != nil, !state.isDiscarding else { return 0 }
      body(&state.buffer)
      return state.pendingCount
    }
  }

  /// Writes what goes over without waiting.
  @discardableResult
  func flush() -> Status {
    state.withLock { state in
      state.write()
      return Status(
        pendingCount: state.pendingCount, writtenCount: state.writtenCount, isLost: state.isLost)
    }
  }

  /// Bytes that wait to be written.
  var pendingCount: Int { state.withLock { $0.pendingCount } }

  /// Drops what is pending and takes nothing more.
  func discard() {
    state.withLock { state in
      state.isDiscarding = true
      state.discard()
    }
  }

  /// Closes the descriptor, so that the client sees the end.
  func close() { state.withLock { $0.descriptor = nil } }

  /// For polling; -1 when there is nothing to expect of it any more.
  var number: Int32 {
    state.withLock { state in
      guard !state.isDiscarding else { return -1 }
      return state.descriptor?.number ?? -1
    }
  }
}
