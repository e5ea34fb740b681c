internal import Einlass
internal import EinlassRPC
public import EinlassSystem

/// Tells a front end that introduced itself what changed in the store, whoever changed it.
///
/// Asks the store for its changes since those that were last told of, so that every change is told once: those of this
/// process when they are made, those of others when the watch rings.
public final class ChangeFeed: Sendable {
  /// Makes the watch that rings at every change of the store; throws where the system has none to give.
  public typealias Watching = @Sendable () throws(SystemError) -> FileWatch

  private enum Known {
    /// Nobody has asked to be told.
    case nothing
    /// Everything up to here; `nil` when the store could not be read, and every change that is found next is new.
    case upTo(AccountStore.ChangeMark?)
  }

  /// The tokens that the front end has been given.
  let held = HeldTokens()
  private let store: AccountStore
  private let announcer: Announcer
  private let known = Lock(Known.nothing)
  private let watch = Lock(Watch())
  /// Whether somebody is on the way to look with patience.
  private let isLookAhead = Lock(false)
  private let watching: Watching?

  private struct Watch: ~Copyable {
    /// Stays open as long as it is polled, even if it does not see any more.
    var file: FileWatch?
    var seesAll = false
  }

  /// - Parameters:
  ///   - store: as it is, without what announces.
  ///   - watching: `nil` where no other process can reach the store.
  init(store: AccountStore, announcer: Announcer, watching: Watching?) {
    self.store = store
    self.announcer = announcer
    self.watching = watching
  }

  /// Begins to watch. Before the store is first read, so that nothing falls between.
  ///
  /// - Parameter rung: called after each look that another process's change or end caused.
  func watch(by peer: Peer, rung: @escaping @Sendable () -> Void) {
    let number = watch.withLock { watch in
      watch.file = try? watching?()
      watch.seesAll = watch.file != nil
      return watch.file?.number
    }
    if let number {
      peer.watch(number) { [weak self] in
        self?.ring()
        rung()
      }
    }
  }

  /// Tells of everything that happens after this; `nil` when the store could not be read.
  func begin(after mark: AccountStore.ChangeMark?) { known.withLock { $0 = .upTo(mark) } }

  /// Whether another process may change the store.
  var isWatching: Bool { watching != nil }

  /// Whether every change is told without being asked for.
  var isComplete: Bool { watching == nil || watch.withLock { $0.seesAll } }

  /// Tells what has changed: at once, or soon where that would mean to wait.
  func look() {
    if !look(.none, by: .now) { lookAhead() }
  }

  /// Where nothing rings, the next request is when changes show.
  func lookUnlessWatched() {
    if !isComplete { look() }
  }

  private func ring() {
    watch.withLock { watch in
      do throws(SystemError) { try watch.file?.clear() } catch { watch.seesAll = false }
    }
    look()
  }

  /// `false` when somebody is in the way.
  private func look(_ patience: AccountStore.Patience, by deadline: Deadline) -> Bool {
    do throws(Problem) {
      let isDone = try known.withLock(by: deadline) { known throws(Problem) in
        guard case .upTo(let mark) = known else { return true }
        isLookAhead.withLock { $0 = false }
        let changes = try store.changes(mark, patience)
        if isWatching {
          try held.look(in: store, after: changes.list, patience, announcer.announceRefresh)
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
    // Who is still ahead will see this change too.
    if isAhead { return }
    Task(executorPreference: executor) { [self] in
      while announcer.executor != nil, !look(.usual, by: Deadline(milliseconds: 10_000)) {}
    }
  }
}
