internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// The store's file as one process uses it: opened on first use, locked for each change, checked whenever another
/// program changed it. Several processes share the file; several threads share one value of this.
///
/// Reading and writing have a connection each, so that a reader waits for no writer, of this process or another.
final class StoreFile: Sendable {
  let location: StoreLocation
  private let keys: KeySource
  private let reading = Lock<OpenStore?>(nil)
  private let writing = Lock<OpenStore?>(nil)

  init(location: StoreLocation, keys: KeySource) {
    self.location = location
    self.keys = keys
  }

  deinit { writing.withLock { $0?.close() } }

  /// Calls `body` with one state of the store, an empty one when there is none yet. Costs one system call while the
  /// store is small and nobody changes it.
  func read(
    _ patience: AccountStore.Patience, _ body: (any StoreReader) throws(Problem) -> Void
  ) throws(Problem) {
    let isThere = try open(patience) { store, deadline throws(Problem) in
      if let unchanged = store.unchangedSnapshot() {
        try body(unchanged)
      } else {
        try store.read(by: deadline) { store throws(Problem) in try store.answer(body) }
      }
      return true
    }
    if isThere == nil { try body(AccountStore.Snapshot()) }
  }

  /// The changes since a mark.
  func changes(
    since mark: AccountStore.ChangeMark?, _ patience: AccountStore.Patience
  ) throws(Problem) -> AccountStore.Changes {
    try read(patience) { store throws(Problem) in try store.changes(since: mark) }
      ?? .init(mark: .noStore, revision: 0, list: mark == .noStore ? [] : nil)
  }

  /// The key that tokens are named by in the audit trail; `nil` when there is no store yet. Costs one system call while
  /// nobody changes the store, and is another one after `store.rotateKey` of whatever process.
  func auditKey(_ patience: AccountStore.Patience) throws(Problem) -> Secret? {
    try open(patience, withKey: true) { store, deadline throws(Problem) in
      if let unchanged = store.unchangedAuditKey() { return unchanged }
      return try store.read(by: deadline) { store throws(Problem) in try store.auditKey() }
    }
  }

  /// Throws `readOnly` where nothing could be stored now. Locks nothing and makes nothing.
  func requireWritable() throws(Problem) {
    try StoreOpening(location: location, keys: keys).requireWritable()
  }

  /// Reads one state of the store; `nil` when there is none yet, and then nothing is made. Waits for no writer.
  func read<Result>(
    _ patience: AccountStore.Patience, withKey needsKey: Bool = false,
    _ body: (OpenStore) throws(Problem) -> Result
  ) throws(Problem) -> Result? {
    try open(patience, withKey: needsKey) { store, deadline throws(Problem) in
      try store.read(by: deadline, body)
    }
  }

  /// Copies the store, as `read` otherwise: SQLite copies outside of a transaction, and one state all the same.
  func copy<Result>(_ body: (OpenStore) throws(Problem) -> Result) throws(Problem) -> Result? {
    try open(.usual) { store, deadline throws(Problem) in
      try store.read(by: deadline) { _ throws(Problem) in }
      return try body(store)
    }
  }

  /// Changes under the exclusive lock, in one transaction that is durable when this returns. Makes the store
  /// when there is none.
  func write<Result>(
    _ patience: AccountStore.Patience, withKey needsKey: Bool = false,
    _ body: (OpenStore) throws(Problem) -> Result
  ) throws(Problem) -> Result {
    let needsKey = needsKey || !location.exists
    guard let result = try change(patience, makesStore: true, withKey: needsKey, body) else {
      throw Problem(.internal, "The store was made and is not there.")
    }
    return result
  }

  /// As `write`, but `nil` when there is no store, and then nothing is made. What was replaced is no longer
  /// in the file, not even in its journal, when that is wished and nobody else reads it.
  func change<Result>(
    _ patience: AccountStore.Patience, makesStore: Bool = false, withKey needsKey: Bool = false,
    leavingNoTrace: Bool = false,
    _ body: (OpenStore) throws(Problem) -> Result
  ) throws(Problem) -> Result? {
    try alone(writing, patience, withKey: needsKey) { opened, deadline throws(Problem) in
      if let store = opened, store.isStillThere {
        try store.acquire(by: deadline)
      } else {
        opened = nil
        opened = try StoreOpening(location: location, keys: keys)
          .openExclusive(by: deadline, makesStore: makesStore)
      }
      guard let store = opened else { return nil }
      defer { store.release() }
      let result = try store.change { () throws(Problem) in try body(store) }
      if leavingNoTrace { store.emptyJournal() }
      return result
    }
  }

  /// Opens the store for reading: as all share it, or alone where that takes room that the disk does not have.
  private func open<Result>(
    _ patience: AccountStore.Patience, withKey needsKey: Bool = false,
    _ body: (OpenStore, Deadline) throws(Problem) -> Result
  ) throws(Problem) -> Result? {
    try alone(reading, patience, withKey: needsKey) { opened, deadline throws(Problem) in
      let opening = StoreOpening(location: location, keys: keys)
      do throws(Problem) {
        if opened?.isStillThere != true {
          opened = nil  // closes it
          opened = try opening.openForReading(by: deadline)
        }
        guard let store = opened else { return nil }
        return try body(store, deadline)
      } catch {
        // Where there is no room for a journal, SQLite says only that it cannot open it.
        let isForWantOfAJournal =
          error.detail == Problem.StoreDetail.permissions.rawValue
          && FileStatus.at("\(location.directory)/\(location.name)-wal") == nil
        guard error.isForWantOfAnIndex || isForWantOfAJournal else { throw error }
        opened = nil
        // Read once and forgotten: there may be room soon, and no writer is to wait.
        return try body(opening.openAlone(by: deadline, because: error), deadline)
      }
    }
  }

  /// One thread of this process at a time, until the deadline that all waits of one use share. Nothing is
  /// locked while the key is waited for.
  private func alone<Result>(
    _ opened: Lock<OpenStore?>, _ patience: AccountStore.Patience, withKey needsKey: Bool = false,
    _ body: (inout OpenStore?, Deadline) throws(Problem) -> Result
  ) throws(Problem) -> Result {
    let deadline = patience.deadline
    if needsKey { try keys.fetch(by: deadline) }
    while true {
      do throws(Problem) { return try once(opened, by: deadline, body) } catch {
        // What failed for want of the key has changed nothing.
        guard needsKey, patience != .none, error == .keyAwaited else { throw error }
        keys.prepare()
      }
    }
  }

  private func once<Result>(
    _ opened: Lock<OpenStore?>, by deadline: Deadline,
    _ body: (inout OpenStore?, Deadline) throws(Problem) -> Result
  ) throws(Problem) -> Result {
    let result = try opened.withLock(by: deadline) { opened throws(Problem) in
      try body(&opened, deadline)
    }
    guard let result else { throw deadline.isNow ? .storeInUse : stillInUse }
    return result
  }

  /// Another request of this process has the store longer, mostly because it waits for another process.
  private var stillInUse: Problem {
    location.otherHolder.map { .storeLocked(path: location.path, holder: $0) } ?? .storeInUse
  }
}

extension Problem {
  fileprivate static let storeInUse = Problem.store(
    .locked, "The account store is in use for a moment. Try again.")

  /// Whether the shared index cannot be had: no room for it, or nowhere to write it.
  fileprivate var isForWantOfAnIndex: Bool {
    [Problem.StoreDetail.full, .readOnly].contains { $0.rawValue == detail }
  }
}
