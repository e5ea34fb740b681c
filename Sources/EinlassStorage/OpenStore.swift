internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// An open database with its lock and what is remembered of it. Belongs to whoever holds `StoreFile`'s lock.
final class OpenStore {
  let connection: SQLiteConnection
  let keys: KeySource
  let identity: FileStatus.Identity
  /// `nil` for a store that can't be written: nothing to exclude, and no file to lock.
  private var lock: FileLock?
  private var lastVersion: Int64?
  /// All of it, if that is little; `nil` where it is more.
  private var cached: (stamp: Stamp, snapshot: AccountStore.Snapshot?)?
  private var key: StoreKey?
  private var namedKey: (stamp: Stamp, key: Secret)?

  /// Takes over a checked connection and its lock, as it is held.
  init(
    connection: consuming SQLiteConnection, identity: FileStatus.Identity,
    lock: consuming FileLock?, keys: KeySource
  ) {
    self.connection = connection
    self.identity = identity
    self.lock = lock
    self.keys = keys
  }

  deinit {
    // Moves the journal into the database, so that the next start is quick; only while nobody else reads or
    // writes (C-24).
    guard (try? lock?.acquire(.exclusive, by: .now)) == true else { return }
    emptyJournal()
  }

  /// Moves the journal into the database, if that can be done now. Only under the exclusive lock.
  func emptyJournal() {
    // Others wait for the lock: a program that is not ours gets a moment to end its reading, and no more.
    connection.wait(milliseconds: 200)
    try? connection.run("PRAGMA wal_checkpoint(TRUNCATE)")
  }

  var isReadOnly: Bool { lock == nil }

  /// Whether the path still leads to this file: somebody may have removed or replaced the store.
  var isStillThere: Bool { FileStatus.at(connection.path)?.identity == identity }

  func acquire(_ mode: FileLock.Mode, by deadline: Deadline) throws(Problem) {
    let isHeld = try FileProblem.store { () throws(FileError) in
      try lock?.acquire(mode, by: deadline) ?? true
    }
    guard isHeld else { throw Problem.storeLocked(path: connection.path) }
    connection.wait(milliseconds: deadline.millisecondsLeft)
  }

  func release() { lock?.release() }

  /// Makes sure that it is still a store of ours after another program changed it.
  func recheckIfChanged() throws(Problem) {
    let version = try connection.pragma("data_version")
    guard version != lastVersion else { return }
    lastVersion = nil
    try StoreCheck.version(of: connection, knows: .released)
    lastVersion = version
  }

  /// One durable transaction around `body`.
  func change<Result>(_ body: () throws(Problem) -> Result) throws(Problem) -> Result {
    try connection.transaction(.write) { () throws(Problem) in
      let result = try body()
      // Before the commit: who finds the old count has not missed a change, however this process ends.
      try FileProblem.store { () throws(FileError) in try lock?.countChange() }
      return result
    }
  }

  /// The last snapshot, if nothing was changed since; needs no lock and does not touch the database.
  ///
  /// What other tools than einlass change is only seen at the next change of ours.
  func unchangedSnapshot() -> AccountStore.Snapshot? {
    guard let cached, let stamp = stamp(), stamp == cached.stamp else { return nil }
    return cached.snapshot
  }

  /// Calls `body` with one state of the store, under the lock: all of it, if that is little, which is kept.
  func read(_ body: (any StoreReader) throws(Problem) -> Void) throws(Problem) {
    let stamp = stamp()
    let isKnownLarge = cached.map { $0.snapshot == nil && $0.stamp == stamp } ?? false
    let snapshot = try connection.transaction(.read) {
      () throws(Problem) -> AccountStore.Snapshot? in
      if !isKnownLarge, let snapshot = try connection.smallSnapshot() { return snapshot }
      try body(self)
      return nil
    }
    cached = stamp.map { ($0, snapshot) }
    if let snapshot { try body(snapshot) }
  }

  /// What tells one state of the store from another.
  private struct Stamp: Equatable {
    var file: FileStatus
    var changeCount: Int64
  }

  private func stamp() -> Stamp? {
    guard let file = FileStatus.at(connection.path), let changeCount = lock?.changeCount else {
      return nil
    }
    return Stamp(file: file, changeCount: changeCount)
  }

  /// The opened key, of what was fetched before the store was locked. Throws `keyUnavailable`.
  func storeKey() throws(Problem) -> StoreKey {
    let meta = try connection.meta()
    if let key = openKey(meta) { return key }
    let root = try keys.root(of: try connection.keySlots(), store: meta.store)
    let opened = StoreKey(id: meta.keyID, store: meta.store, root: root)
    key = opened
    return opened
  }

  /// What opens the key, and the store's name; `nil` where it is open.
  func lockedSlots() throws(Problem) -> (slots: [KeySlot], store: String)? {
    let meta = try connection.meta()
    return openKey(meta) == nil ? (try connection.keySlots(), meta.store) : nil
  }

  private func openKey(_ meta: Meta) -> StoreKey? {
    guard let key, key.id == meta.keyID, key.store == meta.store else { return nil }
    return key
  }

  /// The key that tokens are named by in the audit trail, read under the lock.
  func auditKey() throws(Problem) -> Secret {
    let stamp = stamp()
    let key = try storeKey().auditKey
    namedKey = stamp.map { ($0, key) }
    return key
  }

  /// The same, if nothing was changed since, as `unchangedSnapshot`.
  func unchangedAuditKey() -> Secret? {
    guard let namedKey, let stamp = stamp(), stamp == namedKey.stamp else { return nil }
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
    case .usual: Deadline(milliseconds: 10_000)
    }
  }
}

extension Problem {
  /// Another holder has the store and keeps it.
  static func storeLocked(path: String) -> Problem {
    .store(
      .locked, "The account store \(path) is in use by another process. Try again.", path: path)
  }
}
