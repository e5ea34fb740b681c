internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// How a store is found, checked, made and brought up to date.
struct StoreOpening {
  let location: StoreLocation
  let keys: KeySource
  var migrations = Migrations.released

  /// Opens an existing store for reading, without its lock; `nil` when there is none, and then nothing is made.
  ///
  /// Brings it up to date before. Throws `full` and `readOnly` where SQLite cannot have the index that all share.
  func openForReading(by deadline: Deadline) throws(Problem) -> OpenStore? {
    let directory = try FileProblem.store { () throws(FileError) in
      try SafeDirectory.open(location.directory)
    }
    guard let directory, try exists(in: directory) else { return nil }
    guard canWrite(in: directory) else {
      throw SQLiteProblem.readOnly(directory.path(of: location.name))
    }
    // With a journal of the other kind SQLite would change the file.
    if try count("-journal", in: directory) == 0,
      let store = try openCurrent(by: deadline, in: directory)
    {
      return store
    }
    guard try openExclusive(by: deadline, makesStore: false) != nil else { return nil }
    guard let store = try openCurrent(by: deadline, in: directory) else {
      throw .storeLocked(path: directory.path(of: location.name))
    }
    return store
  }

  /// `nil` for a store that has to be brought up to date.
  private func openCurrent(
    by deadline: Deadline, in directory: borrowing SafeDirectory
  ) throws(Problem) -> OpenStore? {
    let connection = try connect(by: deadline, in: directory)
    guard try StoreCheck.run(on: connection, knows: migrations) == .current else { return nil }
    return OpenStore(connection: connection, identity: try identity(in: directory), keys: keys)
  }

  /// Opens an existing store for reading with an index in memory, under the shared lock: where no index can be had that
  /// all share, for this reason. Where no lock can be had either, nobody can write.
  func openAlone(by deadline: Deadline, because reason: Problem) throws(Problem) -> OpenStore {
    let directory = try FileProblem.store { () throws(FileError) in
      try SafeDirectory.open(location.directory)
    }
    guard let directory else { throw reason }
    let path = directory.path(of: location.name)
    var lock = try FileProblem.store { () throws(FileError) in
      try FileLock.existing(location.lockName, in: directory)
    }
    if lock == nil { lock = try? FileLock(location.lockName, in: directory) }
    try lock?.acquire(.shared, by: deadline, of: path)
    // SQLite wants to see a journal, unless it is told that there is none.
    let isComplete = try directory.journal(of: location.name) == nil
    let connection = try SQLiteConnection(path: path, access: isComplete ? .immutable : .readOnly)
    try connection.configure()
    // An older store would have to be brought up to date first.
    if case .older = try StoreCheck.run(on: connection, knows: migrations) { throw reason }
    return OpenStore(
      connection: connection, identity: try identity(in: directory), lock: lock,
      isReadOnly: !canWrite(in: directory), keys: keys)
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
    var lock = try FileProblem.store { () throws(FileError) in
      try FileLock(location.lockName, in: directory)
    }
    let deadline = try lock.acquire(.exclusive, by: deadline, of: path)
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

  /// Connects to a file that may still be anybody's; the caller checks it.
  private func connect(
    by deadline: Deadline, in directory: borrowing SafeDirectory
  ) throws(Problem) -> SQLiteConnection {
    let path = directory.path(of: location.name)
    for suffix in ["-wal", "-shm"] { _ = try count(suffix, in: directory) }
    _ = try FileProblem.store { () throws(FileError) in try directory.inspect(location.lockName) }
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
}
