/// A limit on concurrent tasks per name, first come, first served, within this process. A waiting
/// task holds no thread.
public final class Turns: Sendable {
  private struct Line {
    /// The number of tasks with a turn.
    var count = 1
    /// The stream of a cancelled task is finished, and `give` skips it.
    var waiting: [AsyncStream<Void>.Continuation] = []
  }

  private let places: Int
  /// The lines of all names with a turn taken.
  private let lines = Lock<[String: Line]>([:])

  public init(places: Int = 1) { self.places = places }

  /// Waits for a turn, to be given back with `give`. Returns `false` if the task is cancelled
  /// first.
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

  /// Gives the turn to the next task in line.
  public func give(_ name: String) {
    lines.withLock { lines in
      while let next = lines[name]?.waiting.first {
        lines[name]?.waiting.removeFirst()
        // An enqueued turn is received even if the task is cancelled from now on.
        if case .enqueued = next.yield() { return }
      }
      lines[name]?.count -= 1
      if lines[name]?.count == 0 { lines[name] = nil }
    }
  }
}
