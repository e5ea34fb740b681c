internal import Einlass
internal import EinlassSystem

/// A queue for what takes much memory and a thread for long, as stretching a passphrase does: one at a time, and
/// whoever waits holds no thread.
final class Turns: Sendable {
  private struct State {
    var isTaken = false
    var waiting: [(number: Int, continuation: CheckedContinuation<Bool, Never>)] = []
    var lastNumber = 0
  }

  private let state = Lock(State())

  /// Runs the body when all who came before are done. Throws `cancelled` when the task is before that, and the body's
  /// problems.
  func take<Result>(_ body: () throws(Problem) -> Result) async throws(Problem) -> Result {
    guard await wait() else { throw .nothingDone }
    defer { pass() }
    return try body()
  }

  private func wait() async -> Bool {
    let number = state.withLock { state in
      state.lastNumber += 1
      return state.lastNumber
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isMine: Bool? = state.withLock { state in
          // Whoever is cancelled after this is found among those who wait.
          guard !Task.isCancelled else { return false }
          guard state.isTaken else {
            state.isTaken = true
            return true
          }
          state.waiting.append((number, continuation))
          return nil
        }
        if let isMine { continuation.resume(returning: isMine) }
      }
    } onCancel: {
      let waiter = state.withLock { state in
        state.waiting.firstIndex { $0.number == number }.map { state.waiting.remove(at: $0) }
      }
      waiter?.continuation.resume(returning: false)
    }
  }

  private func pass() {
    let next = state.withLock { state in
      state.isTaken = !state.waiting.isEmpty
      return state.waiting.isEmpty ? nil : state.waiting.removeFirst()
    }
    next?.continuation.resume(returning: true)
  }
}

extension Problem {
  /// For a request that was cancelled before it changed anything.
  static let nothingDone = Problem(.cancelled, "The request was cancelled. Nothing was changed.")
}
