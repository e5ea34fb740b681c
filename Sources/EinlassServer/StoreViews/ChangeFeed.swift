internal import Einlass
internal import EinlassRPC
public import EinlassSystem

/// Announces changes of the store, made by any process, to a front end that has called
/// `initialize`.
///
/// It reads the changes since the last announcement, so that each is announced once: those of this
/// process when they are made, those of other processes when the watch rings.
public final class ChangeFeed: Sendable {
  /// A descriptor that is readable after every change of the store. It stays open as long as `clear`
  /// exists.
  public struct Ring: Sendable {
    public var number: Int32
    /// Makes the descriptor unreadable until the next change. Throws if no change can be seen any
    /// more.
    public var clear: @Sendable () throws(SystemError) -> Void

    public init(
      number: Int32, clear: @escaping @Sendable () throws(SystemError) -> Void
    ) {
      self.number = number
      self.clear = clear
    }

    /// Rings when a file is written to, created or replaced.
    public init(_ file: consuming FileWatch) {
      number = file.number
      let file = Lock(file)
      clear = { () throws(SystemError) in
        try file.withLock { file throws(SystemError) in try file.clear() }
      }
    }
  }

  /// Makes a watch of the store. Throws if the system has no watch left.
  public typealias Watching = @Sendable () throws(SystemError) -> Ring

  private enum Known {
    /// `begin` was not called yet.
    case nothing
    /// Changes up to this mark were announced. With `nil` the store could not be read, and every
    /// change found next is new.
    case upTo(AccountStore.ChangeMark?)
  }

  /// The tokens that the front end has received.
  let held = HeldTokens()
  private let store: AccountStore
  private let announcer: Announcer
  private let known = Lock(Known.nothing)
  private let watch = Lock(Watch())
  /// Whether a task is about to read the changes with a longer wait.
  private let isLookAhead = Lock(false)
  private let watching: Watching?

  private struct Watch {
    /// The watch. It stays open as long as it is polled, even after it failed.
    var ring: Ring?
    var seesAll = false
    /// Runs when the changes were read after a ring.
    var rung: (@Sendable () -> Void)?
  }

  /// - Parameters:
  ///   - store: The store without announcements.
  ///   - watching: Makes the watch; `nil` if no other process can reach the store.
  init(store: AccountStore, announcer: Announcer, watching: Watching?) {
    self.store = store
    self.announcer = announcer
    self.watching = watching
  }

  /// Starts the watch. It must start before the store is first read, because a change between the
  /// two would be missed.
  ///
  /// - Parameter rung: Runs after each ring of the watch, when the changes were read.
  func watch(by peer: Peer, rung: @escaping @Sendable () -> Void) {
    let number = watch.withLock { watch in
      watch.ring = try? watching?()
      watch.seesAll = watch.ring != nil
      watch.rung = rung
      return watch.ring?.number
    }
    if let number {
      peer.watch(number) { [weak self] in self?.ring() }
    }
  }

  /// Announces every change after this mark. `nil` means that the store could not be read.
  func begin(after mark: AccountStore.ChangeMark?) { known.withLock { $0 = .upTo(mark) } }

  /// Whether another process may change the store.
  var isWatching: Bool { watching != nil }

  /// Whether every change is announced without a request.
  var isComplete: Bool { watching == nil || watch.withLock { $0.seesAll } }

  /// Announces the changes: at once, or from a task if the store is locked.
  func look() {
    if !look(.none, by: .now) { lookAhead() }
  }

  private func ring() {
    watch.withLock { watch in
      do throws(SystemError) { try watch.ring?.clear() } catch { watch.seesAll = false }
    }
    if look(.none, by: .now) { rung() } else { lookAhead() }
  }

  private func rung() { watch.withLock(\.rung)?() }

  /// Announces the changes. Returns `false` if another process or thread is in the way.
  private func look(_ patience: AccountStore.Patience, by deadline: Deadline) -> Bool {
    do throws(Problem) {
      let isDone = try known.withLock(by: deadline) { known throws(Problem) in
        guard case .upTo(let mark) = known else { return true }
        isLookAhead.withLock { $0 = false }
        let changes = try store.changes(mark, patience)
        if isWatching {
          try held.look(
            in: store, after: changes.list, at: changes.revision, patience,
            announcer.announceRefresh)
        }
        announcer.announce(StoreChanges(changes.list), changes.revision)
        known = .upTo(changes.mark)
        return true
      }
      return isDone ?? false
    } catch {
      return !error.isLockedStore
    }
  }

  private func lookAhead() {
    guard let executor = announcer.executor else { return }
    let isAhead = isLookAhead.withLock { isAhead in
      defer { isAhead = true }
      return isAhead
    }
    // The pending task reads the changes later and so finds this one too.
    if isAhead { return }
    Task(executorPreference: executor) { [self] in
      // The request that made the change uses the same connection, and its answer goes first.
      if store.isRemote { BootTime.pause(milliseconds: 100) }
      while announcer.executor != nil, !look(.usual, by: Deadline(milliseconds: 10_000)) {}
      // A ring may have led here.
      rung()
    }
  }
}
