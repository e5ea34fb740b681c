internal import Einlass
internal import EinlassSystem

/// One at a time for each name, in the order of asking, among the tasks of this process.
final class Turns: Sendable {
  /// Who waits for each name that somebody has. An entry whose task was cancelled is finished and passed over.
  private let waiting = Lock<[String: [AsyncStream<Void>.Continuation]]>([:])

  /// Waits for the turn; who got it gives it back. Throws `cancelled` when the task is.
  func take(_ name: String) async throws(Problem) {
    let (turn, continuation) = AsyncStream<Void>.makeStream()
    let isFree = waiting.withLock { waiting in
      guard waiting[name] != nil else {
        waiting[name] = []
        return true
      }
      waiting[name]?.append(continuation)
      return false
    }
    if isFree { return }
    for await () in turn { return }
    throw .leaseCancelled
  }

  /// Lets the next one have it.
  func give(_ name: String) {
    waiting.withLock { waiting in
      while let next = waiting[name]?.first {
        waiting[name]?.removeFirst()
        // What is enqueued is received, also by a task that is cancelled from now on.
        if case .enqueued = next.yield() { return }
      }
      waiting[name] = nil
    }
  }
}

extension Problem {
  static let leaseCancelled = Problem(.cancelled, "The request was cancelled.")
}
