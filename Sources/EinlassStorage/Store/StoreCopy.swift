internal import Einlass
internal import EinlassSystem

/// Complete copies of a store. A copy is durable before it gets its final name, so that no process
/// sees a partial one.
enum StoreCopy {
  /// Copies the committed state. Returns `false`, and leaves no file, if the name is taken. The
  /// caller holds a lock on the store. `inspect` checks the finished copy before it gets its name.
  static func make(
    of connection: SQLiteConnection, as name: String, temporaryName: String,
    in directory: borrowing SafeDirectory,
    inspect: (_ path: String) throws(Problem) -> Void = { _ in }
  ) throws(Problem) -> Bool {
    directory.removeDatabase(temporaryName)
    do throws(Problem) {
      try directory.requireNoJournal(of: name)
      try FileProblem.store { () throws(FileError) in try directory.createEmpty(temporaryName) }
      try connection.copy(into: directory.path(of: temporaryName))
      try inspect(directory.path(of: temporaryName))
    } catch {
      directory.removeDatabase(temporaryName)
      throw error
    }
    return try FileProblem.store { () throws(FileError) in
      try directory.publish(temporaryName, as: name)
    }
  }
}

extension SafeDirectory {
  /// Returns the path of a journal with changes that are not yet in the database, or `nil` without
  /// one.
  func journal(of name: String) throws(Problem) -> String? {
    for journal in [name + "-wal", name + "-journal"] {
      let status = try FileProblem.store { () throws(FileError) in try inspect(journal) }
      if let status, status.countBytes > 0 { return path(of: journal) }
    }
    return nil
  }

  /// Throws `corrupt` if a new database of this name would pick up the journal of a vanished one.
  func requireNoJournal(of name: String) throws(Problem) {
    guard let journal = try journal(of: name) else { return }
    throw .store(
      .corrupt,
      "There is no \(path(of: name)), but \(journal) holds changes of it.",
      advice: .restoreStoreFile,
      path: journal)
  }

  /// Removes a database that an interrupted operation left, and its companion files.
  func removeDatabase(_ name: String) {
    for suffix in ["", "-wal", "-shm", "-journal"] { remove(name + suffix) }
  }
}
