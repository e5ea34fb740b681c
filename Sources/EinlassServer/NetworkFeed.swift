internal import EinlassSystem

/// The system's statements about the network.
public struct NetworkSource: Sendable {
  /// A descriptor that is readable after a change. It stays open as long as `clear` exists.
  public struct Watch: Sendable {
    public var number: Int32
    /// Makes the descriptor unreadable until the next change.
    public var clear: @Sendable () -> Void

    public init(number: Int32, clear: @escaping @Sendable () -> Void) {
      self.number = number
      self.clear = clear
    }
  }

  /// Returns whether this machine is online now; `nil` if the system does not say. Must not block.
  public var isOnline: @Sendable () -> Bool?
  /// Starts a watch; `nil` if the system refuses it.
  public var watch: @Sendable () -> Watch?

  public init(
    isOnline: @escaping @Sendable () -> Bool?, watch: @escaping @Sendable () -> Watch?
  ) {
    self.isOnline = isOnline
    self.watch = watch
  }

  /// A system that says nothing.
  public static let unknown = NetworkSource(isOnline: { nil }, watch: { nil })
}

/// Tells whether this machine is online, and announces changes after `watch`.
///
/// It is information for front ends. No request depends on it.
final class NetworkFeed: Sendable {
  private struct State {
    var watch: NetworkSource.Watch?
    /// The state that the front end knows.
    var known: Bool?
  }

  private let source: NetworkSource
  private let announce: @Sendable (Bool) -> Void
  private let state = Lock(State())

  /// - Parameter announce: Receives each change of the state.
  init(_ source: NetworkSource, announce: @escaping @Sendable (Bool) -> Void) {
    self.source = source
    self.announce = announce
  }

  /// Starts the watch, and announces every change from now on.
  ///
  /// - Parameter ringing: Calls its second argument whenever the descriptor is readable.
  func watch(by ringing: (Int32, @escaping @Sendable () -> Void) -> Void) {
    let watch = state.withLock { state in
      state.watch = source.watch()
      if state.watch != nil { state.known = source.isOnline() }
      return state.watch
    }
    guard let watch else { return }
    ringing(watch.number) { [weak self] in
      // Before the look, because a change after the look must ring again.
      watch.clear()
      self?.look()
    }
  }

  /// Whether every change is announced.
  var isWatching: Bool { state.withLock { $0.watch != nil } }

  /// Returns whether this machine is online; `nil` if the system does not say. A change that was
  /// not yet announced is announced first.
  @discardableResult
  func look() -> Bool? {
    state.withLock { state in
      let online = source.isOnline()
      if state.watch != nil, let online, online != state.known { announce(online) }
      state.known = online
      return online
    }
  }
}
