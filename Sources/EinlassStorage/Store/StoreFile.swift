internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// The store's file within one process. It is opened on first use, locked for each change, and
/// checked again after changes by other programs. Several processes share the file, and several
/// threads share one `StoreFile`.
///
/// Reads and writes use separate connections, so that a reader does not wait for a writer of any
/// process.
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

  /// Calls `body` with one state of the store, or with an empty snapshot if there is no store.
  /// Takes a single system call while the store is small and unchanged.
  func read(
    _ patience: AccountStore.Patience, _ body: (any StoreReader) throws(Problem) -> Void
  ) throws(Problem) {
    let isThere = try open(patience) { store, deadline throws(Problem) in
      if let unchanged = store.unchangedSnapshot() {
        try body(unchanged)
      } else {
        try store.read(by: deadline) { store throws(Problem) in try store.withReader(body) }
      }
      return true
    }
    if isThere == nil { try body(AccountStore.Snapshot()) }
  }

  /// Returns the changes since a mark.
  func changes(
    since mark: AccountStore.ChangeMark?, _ patience: AccountStore.Patience
  ) throws(Problem) -> AccountStore.Changes {
    try read(patience) { store throws(Problem) in try store.changes(since: mark) }
      ?? .init(mark: .noStore, revision: 0, list: mark == .noStore ? [] : nil)
  }

  /// Returns the key for naming tokens in the audit trail, or `nil` if there is no store. Takes a
  /// single system call while the store is unchanged. The key changes when any process calls
  /// `store.rotateKey`.
  func auditKey(_ patience: AccountStore.Patience) throws(Problem) -> Secret? {
    try open(patience, withKey: true) { store, deadline throws(Problem) in
      if let unchanged = store.unchangedAuditKey() { return unchanged }
      return try store.read(by: deadline) { store throws(Problem) in try store.auditKey() }
    }
  }

  /// Throws `readOnly` if the store, or a new one, could not be written now. Takes no lock and
  /// creates no file.
  func requireWritable() throws(Problem) {
    try StoreOpening(location: location, keys: keys).requireWritable()
  }

  /// Reads one state of the store. Returns `nil` if there is no store, and creates none. Does not
  /// wait for writers.
  func read<Result>(
    _ patience: AccountStore.Patience, withKey needsKey: Bool = false,
    _ body: (OpenStore) throws(Problem) -> Result
  ) throws(Problem) -> Result? {
    try open(patience, withKey: needsKey) { store, deadline throws(Problem) in
      try store.read(by: deadline, body)
    }
  }

  /// Runs `body` as `read` does, but outside a transaction, because SQLite refuses VACUUM INTO
  /// within one. The copy is nevertheless one consistent state.
  func copy<Result>(_ body: (OpenStore) throws(Problem) -> Result) throws(Problem) -> Result? {
    try open(.usual) { store, deadline throws(Problem) in
      try store.read(by: deadline) { _ throws(Problem) in }
      return try body(store)
    }
  }

  /// Runs `body` under the exclusive lock in one transaction, durable on return. Creates the store
  /// if there is none.
  func write<Result>(
    _ patience: AccountStore.Patience, withKey needsKey: Bool = false,
    _ body: (OpenStore) throws(Problem) -> Result
  ) throws(Problem) -> Result {
    let needsKey = needsKey || !location.exists
    guard let result = try change(patience, makesStore: true, withKey: needsKey, body) else {
      throw Problem(.internal, "The store was created but cannot be found.")
    }
    return result
  }

  /// Runs `body` as `write` does, but returns `nil` if there is no store, and creates none.
  /// `leavingNoTrace` also removes overwritten data from the journal, if no other process is
  /// reading.
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

  /// Opens the store for reading with the shared index or, if the index is unavailable, with an
  /// index in memory.
  private func open<Result>(
    _ patience: AccountStore.Patience, withKey needsKey: Bool = false,
    _ body: (OpenStore, Deadline) throws(Problem) -> Result
  ) throws(Problem) -> Result? {
    try alone(reading, patience, withKey: needsKey) { opened, deadline throws(Problem) in
      let opening = StoreOpening(location: location, keys: keys)
      do throws(Problem) {
        if opened?.isStillThere != true {
          opened = nil  // the former one is closed first
          opened = try opening.openForReading(by: deadline)
        }
        guard let store = opened else { return nil }
        return try body(store, deadline)
      } catch {
        // Without room for a journal, SQLite only reports that it cannot open the file.
        let isForWantOfAJournal =
          error.detail == Problem.StoreDetail.permissions.rawValue
          && FileStatus.at("\(location.directory)/\(location.name)-wal") == nil
        guard error.isForWantOfAnIndex || isForWantOfAJournal else { throw error }
        opened = nil
        // Not kept open: there may be room soon, and the shared lock would block writers.
        return try body(opening.openAlone(by: deadline, because: error), deadline)
      }
    }
  }

  /// Runs `body` on one thread of this process at a time. One deadline covers all waits. The store
  /// is not locked while `prepare` gets the key.
  private func alone<Result>(
    _ opened: Lock<OpenStore?>, _ patience: AccountStore.Patience, withKey needsKey: Bool = false,
    _ body: (inout OpenStore?, Deadline) throws(Problem) -> Result
  ) throws(Problem) -> Result {
    let deadline = patience.deadline
    if needsKey { try keys.fetch(by: deadline) }
    while true {
      do throws(Problem) { return try once(opened, by: deadline, body) } catch {
        // `keyAwaited` is thrown before anything is changed, so the attempt can be repeated.
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

  /// Another request of this process holds the store longer, usually because it waits for another
  /// process.
  private var stillInUse: Problem {
    location.otherHolder.map { .storeLocked(path: location.path, holder: $0) } ?? .storeInUse
  }
}

extension Problem {
  fileprivate static let storeInUse = Problem.store(
    .locked, "The account store is in use. Try again in a moment.")

  /// Whether the shared index is unavailable, because the disk is full or the directory is
  /// read-only.
  fileprivate var isForWantOfAnIndex: Bool {
    [Problem.StoreDetail.full, .readOnly].contains { $0.rawValue == detail }
  }
}
