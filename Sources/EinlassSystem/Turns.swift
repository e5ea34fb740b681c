/// One at a time for each name, in the order of asking, among the tasks of this process. Whoever waits holds no thread.
public final class Turns: Sendable {
  /// Who waits for each name that somebody has. An entry whose task was cancelled is finished and passed over.
  private let waiting = Lock<[String: [AsyncStream<Void>.Continuation]]>([:])

  public init() {}

  /// Waits for the turn; who got it gives it back. `false` when the task is cancelled before.
  public func take(_ name: String) async -> Bool {
    let (turn, continuation) = AsyncStream<Void>.makeStream()
    let isFree = waiting.withLock { waiting in
      guard waiting[name] != nil else {
        waiting[name] = []
        return true
      }
      waiting[name]?.append(continuation)
      return false
    }
    if isFree { return true }
    for await () in turn { return true }
    return false
  }

  /// Lets the next one have it.
  public func give(_ name: String) {
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
