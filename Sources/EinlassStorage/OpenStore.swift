internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// An open database and the state that is remembered of it. Belongs to the thread that holds `StoreFile`'s lock around it.
final class OpenStore {
  let connection: SQLiteConnection
  let keys: KeySource
  let identity: FileStatus.Identity
  /// Of a store that is written. One that is read needs none, unless SQLite's own locks cannot be had.
  private var lock: FileLock?
  let isReadOnly: Bool
  /// SQLite's, of the last read: another one as soon as another connection has committed.
  private var lastVersion: Int64?
  /// All of the store, if that is little, and of which state; no snapshot where it is more.
  private var cached: (state: [UInt64]?, snapshot: AccountStore.Snapshot?)?
  private var namedKey: (state: [UInt64]?, key: Secret)?
  /// Of the database before what is being read was read.
  private var state: [UInt64]?

  /// Takes over a checked connection and its lock, as it is held.
  init(
    connection: consuming SQLiteConnection, identity: FileStatus.Identity,
    lock: consuming FileLock? = nil, isReadOnly: Bool = false, keys: KeySource
  ) {
    self.connection = connection
    self.identity = identity
    self.lock = lock
    self.isReadOnly = isReadOnly
    self.keys = keys
  }

  /// Moves the journal into the database, so that the next start is quick, unless another process writes just now.
  func close() {
    guard (try? lock?.acquire(.exclusive, by: .now)) == true else { return }
    emptyJournal()
  }

  /// Moves the journal into the database, if that can be done now. Only under the exclusive lock.
  func emptyJournal() {
    // Other writers wait for the lock, so readers get 200 ms to end and no more.
    connection.wait(milliseconds: 200)
    try? connection.run("PRAGMA wal_checkpoint(TRUNCATE)")
    // A change that failed leaves its reserved pages behind the end. Another program of SQLite's may add pages, so they are
    // counted and cut off under SQLite's own lock.
    try? connection.transaction(.write) { () throws(Problem) in
      try connection.allocate(pages: try connection.pragma("page_count"))
    }
  }

  /// Whether the path still leads to this file: somebody may have removed or replaced the store.
  var isStillThere: Bool { FileStatus.at(connection.path)?.identity == identity }

  func acquire(by deadline: Deadline) throws(Problem) {
    let deadline = try lock?.acquire(.exclusive, by: deadline, of: connection.path) ?? deadline
    connection.wait(milliseconds: deadline.millisecondsLeft)
  }

  func release() { lock?.release() }

  /// Reads one state of the store throughout.
  func read<Result>(
    by deadline: Deadline, _ body: (OpenStore) throws(Problem) -> Result
  ) throws(Problem) -> Result {
    connection.wait(milliseconds: deadline.millisecondsLeft)
    state = connection.state
    return try connection.transaction(.read) { () throws(Problem) in
      try recheckIfChanged()
      return try body(self)
    }
  }

  /// Makes sure that it is still a store of ours after somebody else changed it.
  private func recheckIfChanged() throws(Problem) {
    let version = try connection.pragma("data_version")
    guard version != lastVersion else { return }
    lastVersion = nil
    try StoreCheck.version(of: connection, knows: .released)
    lastVersion = version
  }

  /// One durable transaction around `body`. `body` runs a second time after `full`, because the journal gives its room
  /// back when it is moved into the database.
  func change<Result>(_ body: () throws(Problem) -> Result) throws(Problem) -> Result {
    do throws(Problem) { return try changeOnce(body) } catch {
      guard error.detail == Problem.StoreDetail.full.rawValue else { throw error }
      emptyJournal()
      return try changeOnce(body)
    }
  }

  /// Pages that the journal needs for a removal, and more: an addition leaves them free.
  private static let sparePages: Int64 = 16

  private func changeOnce<Result>(_ body: () throws(Problem) -> Result) throws(Problem) -> Result {
    let result = try connection.transaction(.write) { () throws(Problem) in
      try recheckIfChanged()
      let countBefore = try connection.pragma("page_count")
      let result = try body()
      let count = try connection.pragma("page_count")
      // Or the journal could not be moved into the database on a full disk, and would fill it for ever.
      if count > countBefore { try connection.allocate(pages: count + Self.sparePages) }
      return result
    }
    // After the commit, because a reader takes no lock and would find the old state before it.
    lock?.announceChange()
    return result
  }

  /// The last snapshot, if nothing was changed since; takes no lock.
  func unchangedSnapshot() -> AccountStore.Snapshot? {
    guard let cached, let state = cached.state, state == connection.state else { return nil }
    return cached.snapshot
  }

  /// Calls `body` with a reader of the store: its whole content where that is little, which is kept, else the database.
  /// Within `read`.
  func answer(_ body: (any StoreReader) throws(Problem) -> Void) throws(Problem) {
    let isKnownLarge = state != nil && cached?.state == state && cached?.snapshot == nil
    let snapshot = isKnownLarge ? nil : try connection.smallSnapshot()
    cached = (state, snapshot)
    if let snapshot { try body(snapshot) } else { try body(self) }
  }

  /// The opened key, of what was fetched before the store was locked. Throws `keyUnavailable`.
  func storeKey() throws(Problem) -> StoreKey {
    let meta = try connection.meta()
    if let key = openKey(meta) { return key }
    let root = try keys.root(of: try connection.keySlots(), store: meta.store)
    let opened = StoreKey(id: meta.keyID, store: meta.store, root: root)
    keys.opened.withLock { $0 = opened }
    return opened
  }

  /// What opens the key, and the store's name; `nil` where it is open.
  func lockedSlots() throws(Problem) -> (slots: [KeySlot], store: String)? {
    let meta = try connection.meta()
    return openKey(meta) == nil ? (try connection.keySlots(), meta.store) : nil
  }

  private func openKey(_ meta: Meta) -> StoreKey? {
    guard let key = keys.opened.withLock({ $0 }), key.id == meta.keyID, key.store == meta.store
    else { return nil }
    return key
  }

  /// The key that tokens are named by in the audit trail. Within `read`.
  func auditKey() throws(Problem) -> Secret {
    let key = try storeKey().auditKey
    namedKey = (state, key)
    return key
  }

  /// The same, if nothing was changed since, as `unchangedSnapshot`.
  func unchangedAuditKey() -> Secret? {
    guard let namedKey, let state = namedKey.state, state == connection.state else { return nil }
    return namedKey.key
  }

  /// The slots that still open the store when its key is this one.
  func keySlots(around root: Secret) throws(Problem) -> [KeySlot] {
    try keys.rewrap(try connection.keySlots(), around: root, store: try connection.meta().store)
  }
}

extension AccountStore.Patience {
  /// Until when to wait, whatever for: the key, other threads, other processes.
  var deadline: Deadline {
    switch self {
    case .none: .now
    case .until(let moment): Deadline(monotonicMilliseconds: moment)
    case .usual: Deadline(milliseconds: 10_000)
    }
  }
}

extension Problem {
  /// Another holder has the store and keeps it.
  static func storeLocked(path: String, holder: Int? = nil) -> Problem {
    let process = holder.map { "process \($0)" } ?? "another process"
    var problem = Problem.store(
      .locked,
      "The account store \(path) is kept locked by \(process). Try again, or see why that one does not go on.",
      path: path)
    problem.holder = holder
    return problem
  }
}

extension FileLock {
  /// Throws `locked` for the store at this path when somebody else keeps it longer.
  ///
  /// The wait begins again while others make changes, up to the usual patience, because a queue that moves is not held up
  /// by a process that is stopped.
  ///
  /// - Returns: the deadline of further waits.
  @discardableResult
  mutating func acquire(
    _ mode: Mode, by deadline: Deadline, of path: String
  ) throws(Problem) -> Deadline {
    let (wait, last) = (deadline.millisecondsLeft, AccountStore.Patience.usual.deadline)
    var (deadline, count) = (deadline, changeCount)
    while try !FileProblem.store({ () throws(FileError) in try acquire(mode, by: deadline) }) {
      let isMoving = wait > 0 && changeCount != count && last.millisecondsLeft > 0
      guard isMoving else { throw .storeLocked(path: path, holder: holder) }
      count = changeCount
      deadline = Deadline(milliseconds: Int(min(wait, last.millisecondsLeft)))
    }
    return deadline
  }
}
