package import EinlassRPC

/// A server in this process. It answers from the store alone, because a process that is stopped
/// must not take the answer of a provider with it.
package struct ServerInside {
  /// Serves a connection on another thread.
  package var start: (consuming StandardStreams) throws(Failure) -> Void
  /// Whether it has left something to an einlass that outlives this process.
  package var hasLeftWork: () -> Bool

  package init(
    start: @escaping (consuming StandardStreams) throws(Failure) -> Void,
    hasLeftWork: @escaping () -> Bool
  ) {
    self.start = start
    self.hasLeftWork = hasLeftWork
  }
}
