internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// Finds, checks, creates and migrates a store.
struct StoreOpening {
  let location: StoreLocation
  let keys: KeySource
  var migrations = Migrations.released

  /// Opens an existing store for reading, without its lock. Returns `nil` if there is no store, and
  /// creates none.
  ///
  /// Migrates an older store first. Throws `full` or `readOnly` if SQLite cannot have the shared
  /// index. A network file system counts as read-only, because its shared memory is not shared with
  /// the machine that may write.
  func openForReading(by deadline: Deadline) throws(Problem) -> OpenFile? {
    let directory = try FileProblem.store { () throws(FileError) in
      try SafeDirectory.open(location.directory)
    }
    guard let directory, try exists(in: directory) else { return nil }
    guard canWrite(in: directory), !directory.isOnNetwork else {
      throw SQLiteProblem.readOnly(directory.path(of: location.name))
    }
    // SQLite would roll back a rollback journal, and so change the file.
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

  /// Returns `nil` for a store that needs the exclusive lock first, to migrate or to set the
  /// journal mode.
  private func openCurrent(
    by deadline: Deadline, in directory: borrowing SafeDirectory
  ) throws(Problem) -> OpenFile? {
    let connection = try connect(by: deadline, in: directory)
    guard try StoreCheck.run(on: connection, knows: migrations) == .current else { return nil }
    return OpenFile(connection: connection, identity: try identity(in: directory), keys: keys)
  }

  /// Opens an existing store for reading with an index in memory, under the shared lock. Used when
  /// the shared index is unavailable for `reason`. If the lock file cannot be created either, no
  /// process can write.
  func openAlone(by deadline: Deadline, because reason: Problem) throws(Problem) -> OpenFile {
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
    // SQLite expects a journal, unless it opens the file as immutable.
    let isComplete = try directory.journal(of: location.name) == nil
    let connection = try SQLiteConnection(path: path, access: isComplete ? .immutable : .readOnly)
    try connection.configure()
    // An older store would need a migration first.
    if case .older = try StoreCheck.run(on: connection, knows: migrations) { throw reason }
    return OpenFile(
      connection: connection, identity: try identity(in: directory), lock: lock,
      isReadOnly: !canWrite(in: directory) || directory.isOnNetwork, keys: keys)
  }

  /// Opens or creates the store, migrates it, and holds the exclusive lock. Returns `nil` if there
  /// is no store and none is to be created.
  func openExclusive(by deadline: Deadline, makesStore: Bool) throws(Problem)
    -> OpenFile?
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
    case .older where try location.holdsLease(besidesSignIns: true):
      // An older einlass could not store the token that it is waiting for.
      lock.release()
      BootTime.pause(milliseconds: 100)
      return try openExclusive(by: deadline, makesStore: makesStore)
    case .older(let schema): try migrate(connection, from: schema, in: directory)
    case .otherJournal: try connection.useWriteAheadLog()
    }
    return OpenFile(
      connection: connection, identity: try identity(in: directory), lock: lock, keys: keys)
  }

  /// Makes a store of the rows that `fill` inserts. Throws `refused` if there is a store.
  func receive<Result>(
    by deadline: Deadline, _ fill: (any Database) throws(Problem) -> Result
  ) throws(Problem) -> Result {
    try requireWritable()
    let directory = try FileProblem.store { () throws(FileError) in
      try SafeDirectory.create(location.directory)
    }
    let path = directory.path(of: location.name)
    var lock = try FileProblem.store { () throws(FileError) in
      try FileLock(location.lockName, in: directory)
    }
    try lock.acquire(.exclusive, by: deadline, of: path)
    guard try !exists(in: directory) else {
      throw .store(
        .refused, "There is a store at \(path) already.", advice: .nameAnotherPlace, path: path)
    }
    return try StoreCreation(self).run(in: directory, filledBy: fill)
  }

  /// Throws `readOnly` or `unsupportedFileSystem` for a store, or the place of a new one, that cannot
  /// be written now.
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
    guard !FileSystem.isOnNetwork(nearest: location.directory) else {
      throw SQLiteProblem.unsupportedFileSystem("\(location.directory)/\(location.name)")
    }
  }

  /// Connects to a file of unknown origin. The caller checks it.
  private func connect(
    by deadline: Deadline, in directory: borrowing SafeDirectory
  ) throws(Problem) -> SQLiteConnection {
    let path = directory.path(of: location.name)
    for suffix in ["-wal", "-shm"] { _ = try count(suffix, in: directory) }
    _ = try FileProblem.store { () throws(FileError) in try directory.inspect(location.lockName) }
    if try count("-journal", in: directory) > 0 {
      // SQLite would roll the journal back on opening. The file must not change if it is not a
      // store.
      try StoreCheck.owner(of: SQLiteConnection(path: path, access: .immutable))
    }
    let connection = try SQLiteConnection(path: path, access: .readWrite)
    // The first connection rebuilds the WAL index, and the other ones wait for it.
    connection.wait(milliseconds: deadline.millisecondsLeft)
    try connection.configure()
    return connection
  }

  /// Copies the store beside itself, then migrates it in one transaction. The caller holds the
  /// exclusive lock.
  private func migrate(
    _ connection: SQLiteConnection, from schema: Int64,
    in directory: borrowing SafeDirectory
  ) throws(Problem) {
    let backup = location.backupName(schema: schema, revision: try connection.meta().revision)
    // `false` is ignored, because the copy of an interrupted migration is equally good.
    _ = try StoreCopy.make(
      of: connection, as: backup, temporaryName: backup + ".new", in: directory)
    try connection.useWriteAheadLog()
    try connection.transaction(.write) { () throws(Problem) in
      try migrations.apply(to: connection, from: schema)
      // Before the commit, so that steps with a wrong result are rolled back.
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

  /// Returns the size of a companion file of the database in bytes, or 0 without one.
  private func count(_ suffix: String, in directory: borrowing SafeDirectory) throws(Problem)
    -> Int64
  {
    try FileProblem.store { () throws(FileError) in
      try directory.inspect(location.name + suffix)?.countBytes ?? 0
    }
  }

  private func canWrite(in directory: borrowing SafeDirectory) -> Bool {
    directory.isWritable && directory.canWrite(location.name)
  }
}
