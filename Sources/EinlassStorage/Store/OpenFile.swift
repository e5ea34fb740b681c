internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// An open file and cached state of it.
final class OpenFile: OpenStore {
  let file: SQLiteConnection
  let identity: FileStatus.Identity
  /// The store's lock. `nil` for a store that is only read, unless SQLite's shared index is
  /// unavailable.
  private var lock: FileLock?
  private let isOnlyRead: Bool
  /// SQLite's `data_version` at the last read. It changes when another connection commits.
  private var lastVersion: Int64?
  /// A snapshot of a small store, with the state it belongs to; without a snapshot for a larger
  /// store.
  private var cached: (state: [UInt64]?, snapshot: AccountStore.Snapshot?)?
  private var namedKey: (state: [UInt64]?, key: Secret)?
  /// The database's state as of the beginning of the current read.
  private var state: [UInt64]?

  /// Takes over a checked connection and its lock, locked or not.
  init(
    connection: SQLiteConnection, identity: FileStatus.Identity,
    lock: consuming FileLock? = nil, isReadOnly: Bool = false, keys: KeySource
  ) {
    file = connection
    self.identity = identity
    self.lock = lock
    isOnlyRead = isReadOnly
    super.init(connection: connection, keys: keys)
  }

  override var isReadOnly: Bool { isOnlyRead }

  override var place: String { "\(identity.device) \(identity.inode)" }

  /// Moves the journal into the database, so that the next start is quick. Skipped if another
  /// process holds the lock, because a checkpoint beside a write can damage the file in SQLite
  /// before 3.51.3.
  func close() {
    guard (try? lock?.acquire(.exclusive, by: .now)) == true else { return }
    emptyJournal()
  }

  /// Moves the journal into the database, if possible. The caller holds the exclusive lock.
  func emptyJournal() {
    // Other writers wait for the lock, so wait at most 200 ms for readers.
    file.wait(milliseconds: 200)
    try? file.run("PRAGMA wal_checkpoint(TRUNCATE)")
    // Releases pages that a failed change has reserved at the end of the file. SQLite's write lock
    // keeps other programs from adding pages between the count and the cut.
    try? file.transaction(.write) { () throws(Problem) in
      try file.allocate(pages: try file.pragma("page_count"))
    }
  }

  /// Whether the path still leads to this file. The store may have been removed or replaced.
  var isStillThere: Bool { FileStatus.at(file.path)?.identity == identity }

  func acquire(by deadline: Deadline) throws(Problem) {
    let deadline = try lock?.acquire(.exclusive, by: deadline, of: file.path) ?? deadline
    file.wait(milliseconds: deadline.millisecondsLeft)
  }

  func release() { lock?.release() }

  /// Runs `body` on one consistent state of the store.
  func read<Result>(
    by deadline: Deadline, _ body: (OpenFile) throws(Problem) -> Result
  ) throws(Problem) -> Result {
    file.wait(milliseconds: deadline.millisecondsLeft)
    state = file.state
    return try file.transaction(.read) { () throws(Problem) in
      try recheckIfChanged()
      return try body(self)
    }
  }

  /// Repeats the check of the store after another connection has changed it.
  private func recheckIfChanged() throws(Problem) {
    let version = try file.pragma("data_version")
    guard version != lastVersion else { return }
    lastVersion = nil
    try StoreCheck.version(of: file, knows: .released)
    lastVersion = version
  }

  /// Runs `body` in one durable transaction. If the disk is full, moves the journal into the
  /// database to free its space, and runs `body` a second time.
  func change<Result>(_ body: () throws(Problem) -> Result) throws(Problem) -> Result {
    do throws(Problem) { return try changeOnce(body) } catch {
      guard error.detail == Problem.StoreDetail.full.rawValue else { throw error }
      emptyJournal()
      return try changeOnce(body)
    }
  }

  /// Enough free pages for the journal of a later removal, so that a removal works on a full disk.
  /// The removal of an account from a store of 900 writes up to 18 pages.
  private static let sparePages: Int64 = 32

  private func changeOnce<Result>(_ body: () throws(Problem) -> Result) throws(Problem) -> Result {
    let result = try file.transaction(.write) { () throws(Problem) in
      try recheckIfChanged()
      let countBefore = try file.pragma("page_count")
      let result = try body()
      let count = try file.pragma("page_count")
      // Otherwise, on a full disk, the journal could not be moved into the database and would keep
      // the disk full.
      if count > countBefore { try file.allocate(pages: count + Self.sparePages) }
      return result
    }
    // After the commit, because readers take no lock and would otherwise still read the old state.
    lock?.announceChange()
    return result
  }

  /// Returns the cached snapshot if the store has not changed since. Takes no lock.
  func unchangedSnapshot() -> AccountStore.Snapshot? {
    guard let cached, let state = cached.state, state == file.state else { return nil }
    return cached.snapshot
  }

  /// Calls `body` with a reader: a snapshot of a small store, which is cached, else the database.
  /// Called within `read`.
  func withReader(_ body: (any StoreReader) throws(Problem) -> Void) throws(Problem) {
    let isKnownLarge = state != nil && cached?.state == state && cached?.snapshot == nil
    let snapshot = isKnownLarge ? nil : try file.smallSnapshot()
    cached = (state, snapshot)
    if let snapshot { try body(snapshot) } else { try body(self) }
  }

  /// Returns the key for naming tokens in the audit trail. Called within `read`.
  func auditKey() throws(Problem) -> Secret {
    let key = try storeKey().auditKey
    namedKey = (state, key)
    return key
  }

  /// Returns the cached audit key if the store has not changed since.
  func unchangedAuditKey() -> Secret? {
    guard let namedKey, let state = namedKey.state, state == file.state else { return nil }
    return namedKey.key
  }
}

extension AccountStore.Patience {
  /// The deadline shared by all waits: for the key, other threads and other processes.
  var deadline: Deadline {
    switch self {
    case .none: .now
    case .until(let moment): Deadline(monotonicMilliseconds: moment)
    case .usual: Deadline(milliseconds: 10_000)
    }
  }
}

extension Problem {
  static func storeLocked(path: String, holder: Int? = nil) -> Problem {
    let process = holder.map { "process \($0)" } ?? "another process"
    var problem = Problem.store(
      .locked,
      "The account store \(path) is kept locked by \(process).",
      path: path)
    problem.holder = holder
    return problem
  }
}

extension FileLock {
  /// Waits for the lock of the store at this path. Throws `locked` at the deadline.
  ///
  /// The wait starts again when another process has made a change meanwhile, up to the usual
  /// patience in total, because a moving queue shows that no stopped process holds the lock.
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
