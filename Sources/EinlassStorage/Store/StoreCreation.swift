internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// The creation of a store. It is completed under a temporary name, so that no process sees a
/// partial one.
struct StoreCreation {
  private let opening: StoreOpening

  init(_ opening: StoreOpening) { self.opening = opening }

  /// Creates the store and its key. The caller holds the exclusive lock and has found no store.
  func run(in directory: borrowing SafeDirectory) throws(Problem) {
    let store = Hexadecimal.encode(SecureRandom.bytes(16))
    try prepare(directory)
    let (slot, keyFile) = try opening.keys.create(store: store, storeDirectory: directory)
    try run(in: directory, keyFile, slot.secret) { connection throws(Problem) in
      let root = SecureRandom.secret(AuthenticatedEncryption.keyCount)
      try connection.insertMeta(store: store, keyID: SecureRandom.bytes(StoreKey.idCount))
      try connection.insert(
        KeySlot.wrap(
          root, id: 1, kind: slot.kind, parameters: slot.parameters, salt: slot.salt, store: store,
          with: slot.secret))
    }
  }

  /// Creates a store of the rows that `fill` inserts, its key slots among them.
  func run<Result>(
    in directory: borrowing SafeDirectory,
    filledBy fill: (any Database) throws(Problem) -> Result
  ) throws(Problem) -> Result {
    try prepare(directory)
    return try run(in: directory, nil, nil, fill)
  }

  private func prepare(_ directory: borrowing SafeDirectory) throws(Problem) {
    // Otherwise SQLite would apply the journal of an old store to the new one.
    try directory.requireNoJournal(of: opening.location.name)
    directory.removeDatabase(opening.location.temporaryName)
    // A process that still has an old store open would prevent SQLite from clearing the old index.
    directory.remove(opening.location.name + "-shm")
  }

  private func run<Result>(
    in directory: borrowing SafeDirectory, _ keyFile: KeyFile?, _ secret: Secret?,
    _ fill: (any Database) throws(Problem) -> Result
  ) throws(Problem) -> Result {
    let temporary = opening.location.temporaryName
    do throws(Problem) {
      try FileProblem.store { () throws(FileError) in try directory.createEmpty(temporary) }
      let result = try make(directory.path(of: temporary), fill)
      // Written last, so that a full disk does not leave a key file without a store.
      if let keyFile, let secret, try !keyFile.write(secret) {
        throw Problem.storeLocked(path: directory.path(of: opening.location.name))
      }
      try publish(temporary, in: directory, with: keyFile)
      return result
    } catch {
      directory.removeDatabase(temporary)
      throw error
    }
  }

  private func publish(
    _ temporary: String, in directory: borrowing SafeDirectory, with keyFile: KeyFile?
  ) throws(Problem) {
    do throws(Problem) {
      let isNew = try FileProblem.store { () throws(FileError) in
        try directory.publish(temporary, as: opening.location.name)
      }
      guard isNew else { throw .storeLocked(path: directory.path(of: opening.location.name)) }
    } catch {
      // A key file named by the person may be the key of another store by now.
      if opening.keys.choice == .usual { keyFile?.remove() }
      throw error
    }
  }

  private func make<Result>(
    _ path: String, _ fill: (any Database) throws(Problem) -> Result
  ) throws(Problem) -> Result {
    let connection = try SQLiteConnection(path: path, access: .readWrite)
    try connection.configure()
    try connection.useWriteAheadLog()
    let result = try connection.transaction(.write) { () throws(Problem) in
      try opening.migrations.apply(to: connection, from: 0)
      let result = try fill(connection)
      try opening.migrations.noteNeeds(in: connection)
      return result
    }
    try connection.closeAfterCheckpoint()
    return result
  }
}
