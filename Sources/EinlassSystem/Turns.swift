/// So many at a time for each name, in the order of asking, among the tasks of this process. A task that waits holds no
/// thread.
public final class Turns: Sendable {
  private struct Line {
    /// How many have a turn.
    var count = 1
    /// An entry whose task was cancelled is finished and passed over.
    var waiting: [AsyncStream<Void>.Continuation] = []
  }

  private let places: Int
  /// The line for each name that somebody has.
  private let lines = Lock<[String: Line]>([:])

  public init(places: Int = 1) { self.places = places }

  /// Waits for the turn, which has to be given back. `false` when the task is cancelled before.
  public func take(_ name: String) async -> Bool {
    let (turn, continuation) = AsyncStream<Void>.makeStream()
    let isFree = lines.withLock { lines in
      guard let line = lines[name] else {
        lines[name] = Line()
        return true
      }
      guard line.count == places else {
        lines[name]?.count += 1
        return true
      }
      lines[name]?.waiting.append(continuation)
      return false
    }
    if isFree { return true }
    for await () in turn { return true }
    return false
  }

  /// Lets the next one have it.
  public func give(_ name: String) {
    lines.withLock { lines in
      while let next = lines[name]?.waiting.first {
        lines[name]?.waiting.removeFirst()
        // What is enqueued is received, also by a task that is cancelled from now on.
        if case .enqueued = next.yield() { return }
      }
      lines[name]?.count -= 1
      if lines[name]?.count == 0 { lines[name] = nil }
    }
  }
}
