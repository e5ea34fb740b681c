internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// The store's file within one process. It is opened on first use, locked for each change, and
/// checked again after changes by other programs. Several processes share the file, and several
/// threads share one `StoreFile`.
///
/// Reads and writes use separate connections, so that a reader does not wait for a writer of any
/// process.
final class StoreFile: SharedStore {
  let location: StoreLocation
  private let keys: KeySource
  private let reading = Lock<OpenFile?>(nil)
  private let writing = Lock<OpenFile?>(nil)

  init(location: StoreLocation, keys: KeySource) {
    self.location = location
    self.keys = keys
  }

  deinit { writing.withLock { $0?.close() } }

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

  var nothingThere: Problem { location.nothingThere }

  var movedName: String { location.path + ".moved" }

  /// Takes a single system call while the store is unchanged.
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

  /// Does not wait for writers.
  func read<Result>(
    _ patience: AccountStore.Patience, withKey needsKey: Bool,
    _ body: (OpenStore) throws(Problem) -> Result
  ) throws(Problem) -> Result? {
    try open(patience, withKey: needsKey) { store, deadline throws(Problem) in
      try store.read(by: deadline, body)
    }
  }

  /// Runs `body` as `read` does, but outside a transaction, because SQLite refuses VACUUM INTO
  /// within one. The copy is nevertheless one consistent state.
  func copy<Result>(_ body: (OpenFile) throws(Problem) -> Result) throws(Problem) -> Result? {
    try open(.usual) { store, deadline throws(Problem) in
      try store.read(by: deadline) { _ throws(Problem) in }
      return try body(store)
    }
  }

  /// `leavingNoTrace` has no effect while another process is reading.
  func change<Result>(
    _ patience: AccountStore.Patience, makesStore: Bool, withKey needsKey: Bool,
    leavingNoTrace: Bool,
    _ body: (OpenStore) throws(Problem) -> Result
  ) throws(Problem) -> Result? {
    // A new store needs its first key.
    let needsKey = needsKey || makesStore && !location.exists
    return try alone(writing, patience, withKey: needsKey) { opened, deadline throws(Problem) in
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

  func requireNoLease() throws(Problem) { try location.requireNoLease() }

  func moveAway<Result>(
    _ body: (any Database) throws(Problem) -> Result
  ) throws(Problem) -> Result? {
    let moved = location.name + ".moved"
    return try alone(writing, .usual) { opened, deadline throws(Problem) in
      opened = nil
      let opening = StoreOpening(location: location, keys: keys)
      guard let store = try opening.openExclusive(by: deadline, makesStore: false) else {
        return nil
      }
      defer { store.release() }
      let directory = try FileProblem.store { () throws(FileError) in
        try SafeDirectory.create(location.directory)
      }
      guard FileStatus.at(directory.path(of: moved)) == nil else {
        throw .store(
          .refused,
          "The name of the old store after the move, \(moved), is taken.", advice: .removeOldStore,
          path: directory.path(of: moved))
      }
      let result = try store.file.transaction(.write) { () throws(Problem) in
        try body(store.file)
      }
      store.emptyJournal()
      try FileProblem.store { () throws(FileError) in
        try directory.rename(location.name, to: moved)
      }
      for suffix in ["-wal", "-shm"] { directory.remove(location.name + suffix) }
      return result
    }
  }

  func receive<Result>(
    _ fill: (any Database) throws(Problem) -> Result
  ) throws(Problem) -> Result {
    try alone(writing, .usual) { _, deadline throws(Problem) in
      try StoreOpening(location: location, keys: keys).receive(by: deadline, fill)
    }
  }

  /// Opens the store for reading with the shared index or, if the index is unavailable, with an
  /// index in memory.
  private func open<Result>(
    _ patience: AccountStore.Patience, withKey needsKey: Bool = false,
    _ body: (OpenFile, Deadline) throws(Problem) -> Result
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
    _ opened: Lock<OpenFile?>, _ patience: AccountStore.Patience, withKey needsKey: Bool = false,
    _ body: (inout OpenFile?, Deadline) throws(Problem) -> Result
  ) throws(Problem) -> Result {
    try keys.supplying(needsKey, patience) { deadline throws(Problem) in
      try once(opened, by: deadline, body)
    }
  }

  private func once<Result>(
    _ opened: Lock<OpenFile?>, by deadline: Deadline,
    _ body: (inout OpenFile?, Deadline) throws(Problem) -> Result
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
    .locked, "The account store is in use.")

  /// Whether the shared index is unavailable, because the disk is full or the directory is
  /// read-only.
  fileprivate var isForWantOfAnIndex: Bool {
    [Problem.StoreDetail.full, .readOnly].contains { $0.rawValue == detail }
  }
}
