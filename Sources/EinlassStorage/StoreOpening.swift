internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// How a store is found, checked, made and brought up to date.
struct StoreOpening {
  let location: StoreLocation
  let keys: KeySource
  var migrations = Migrations.released

  /// Opens an existing store and holds the shared lock; `nil` when there is none, and then nothing is made.
  func openShared(by deadline: Deadline) throws(Problem) -> OpenStore? {
    let directory = try FileProblem.store { () throws(FileError) in
      try SafeDirectory.open(location.directory)
    }
    guard let directory else { return nil }
    guard try exists(in: directory) else { return nil }
    guard canWrite(in: directory) else { return try openReadOnly(in: directory) }
    let lock = try acquire(.shared, by: deadline, in: directory)
    let connection = try connect(by: deadline, in: directory)
    if try StoreCheck.run(on: connection, knows: migrations) == .current {
      return OpenStore(
        connection: connection, identity: try identity(in: directory), lock: lock, keys: keys)
    }
    lock.release()
    let store = try openExclusive(by: deadline, makesStore: false)
    try store?.acquire(.shared, by: deadline)
    return store
  }

  /// Opens or makes the store, brings it up to date and holds the exclusive lock; `nil` when there is none and
  /// none is to be made.
  func openExclusive(by deadline: Deadline, makesStore: Bool) throws(Problem)
    -> OpenStore?
  {
    let directory = try FileProblem.store { () throws(FileError) in
      makesStore
        ? try SafeDirectory.create(location.directory) : try SafeDirectory.open(location.directory)
    }
    guard let directory else { return nil }
    if !makesStore, try !exists(in: directory) { return nil }
    let path = directory.path(of: location.name)
    guard canWrite(in: directory) else { throw SQLiteProblem.readOnly(path) }
    guard !directory.isOnNetwork else { throw SQLiteProblem.unsupportedFileSystem(path) }
    let lock = try acquire(.exclusive, by: deadline, in: directory)
    if try !exists(in: directory) {
      guard makesStore else { return nil }
      try StoreCreation(self).run(in: directory)
    }
    let connection = try connect(by: deadline, in: directory)
    switch try StoreCheck.run(on: connection, knows: migrations) {
    case .current: break
    case .older where deadline.millisecondsLeft == 0: throw .storeLocked(path: path)
    case .older(let schema): try migrate(connection, from: schema, in: directory)
    case .otherJournal: try connection.useWriteAheadLog()
    }
    return OpenStore(
      connection: connection, identity: try identity(in: directory), lock: lock, keys: keys)
  }

  /// Throws `readOnly` for a store, or a place for one, that can't be written now.
  func requireWritable() throws(Problem) {
    let directory = try FileProblem.store { () throws(FileError) in
      try SafeDirectory.open(location.directory)
    }
    if let directory {
      guard canWrite(in: directory) else {
        throw SQLiteProblem.readOnly(directory.path(of: location.name))
      }
    } else if !SafeDirectory.canMake(location.directory) {
      throw SQLiteProblem.readOnly("\(location.directory)/\(location.name)")
    }
  }

  /// Reads what nobody of this user can change now. What is still in a journal could not be seen (C-27).
  private func openReadOnly(in directory: borrowing SafeDirectory) throws(Problem) -> OpenStore {
    let path = directory.path(of: location.name)
    if let journal = try directory.journal(of: location.name) {
      throw .store(
        .readOnly,
        "The account store \(path) has changes in \(journal) that can't be read while it can't be written. Make the file and its directory writable.",
        path: path)
    }
    let connection = try SQLiteConnection(path: path, access: .immutable)
    try connection.configure()
    // An older store would have to be brought up to date first.
    if case .older = try StoreCheck.run(on: connection, knows: migrations) {
      throw SQLiteProblem.readOnly(path)
    }
    return OpenStore(
      connection: connection, identity: try identity(in: directory), lock: nil, keys: keys)
  }

  /// Connects to what may still be anybody's file; the caller holds the lock and checks it.
  private func connect(
    by deadline: Deadline, in directory: borrowing SafeDirectory
  ) throws(Problem) -> SQLiteConnection {
    let path = directory.path(of: location.name)
    for suffix in ["-wal", "-shm"] { _ = try count(suffix, in: directory) }
    if try count("-journal", in: directory) > 0 {
      // SQLite would roll it back before we can see whose file it is; a stranger's stays as it is.
      try StoreCheck.owner(of: SQLiteConnection(path: path, access: .immutable))
    }
    let connection = try SQLiteConnection(path: path, access: .readWrite)
    // Whoever opens first reads the journal anew, and the others who share the lock wait for that.
    connection.wait(milliseconds: deadline.millisecondsLeft)
    try connection.configure()
    return connection
  }

  /// Copies the store beside itself, then changes it in one transaction. The caller holds the exclusive lock.
  private func migrate(
    _ connection: borrowing SQLiteConnection, from schema: Int64,
    in directory: borrowing SafeDirectory
  ) throws(Problem) {
    let backup = location.backupName(schema: schema, revision: try connection.meta().revision)
    // A copy that an interrupted migration left is as good as the new one.
    _ = try StoreCopy.make(
      of: connection, as: backup, temporaryName: backup + ".new", in: directory)
    try connection.useWriteAheadLog()
    try connection.transaction(.write) { () throws(Problem) in
      try migrations.apply(to: connection, from: schema)
      // Before the commit: steps that do not end in the schema they promise change nothing.
      _ = try StoreCheck.run(on: connection, knows: migrations)
    }
  }

  private func exists(in directory: borrowing SafeDirectory) throws(Problem) -> Bool {
    try FileProblem.store { () throws(FileError) in try directory.inspect(location.name) } != nil
  }

  private func identity(in directory: borrowing SafeDirectory) throws(Problem)
    -> FileStatus.Identity
  {
    try FileProblem.store { () throws(FileError) in
      guard let status = try directory.inspect(location.name) else {
        throw FileError.missing(directory.path(of: location.name))
      }
      return status.identity
    }
  }

  /// Bytes of a file that SQLite keeps beside the database; 0 when there is none.
  private func count(_ suffix: String, in directory: borrowing SafeDirectory) throws(Problem)
    -> Int64
  {
    try FileProblem.store { () throws(FileError) in
      try directory.inspect(location.name + suffix)?.countBytes ?? 0
    }
  }

  /// Whether the database, or a new one, could be written now.
  private func canWrite(in directory: borrowing SafeDirectory) -> Bool {
    directory.isWritable && directory.canWrite(location.name)
  }

  private func acquire(
    _ mode: FileLock.Mode, by deadline: Deadline, in directory: borrowing SafeDirectory
  ) throws(Problem) -> FileLock {
    var lock = try FileProblem.store { () throws(FileError) in
      try FileLock(location.lockName, in: directory)
    }
    let isHeld = try FileProblem.store { () throws(FileError) in
      try lock.acquire(mode, by: deadline)
    }
    guard isHeld else { throw .storeLocked(path: directory.path(of: location.name)) }
    return lock
  }
}
