internal import Einlass
internal import EinlassSystem

/// Whole copies of a store: durable before they get their name, so that nobody ever meets half of one.
enum StoreCopy {
  /// Copies what is committed. `false`, and nothing is left, when the name is taken. The caller holds a lock
  /// on the store; `inspect` sees the finished copy first and may refuse it.
  static func make(
    of connection: borrowing SQLiteConnection, as name: String, temporaryName: String,
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

/// The files that SQLite keeps beside a database.
extension SafeDirectory {
  /// Where changes lie that are not yet in this database; `nil` when it is complete by itself.
  func journal(of name: String) throws(Problem) -> String? {
    for journal in [name + "-wal", name + "-journal"] {
      let status = try FileProblem.store { () throws(FileError) in try inspect(journal) }
      if let status, status.countBytes > 0 { return path(of: journal) }
    }
    return nil
  }

  /// Throws when a new database of this name would be read with the changes of one that is gone.
  func requireNoJournal(of name: String) throws(Problem) {
    guard let journal = try journal(of: name) else { return }
    throw .store(
      .corrupt,
      "There is no \(path(of: name)), but \(journal) has changes of it. Put the file back, or move the journal away too.",
      path: journal)
  }

  /// Removes a database of ours with everything beside it: what something interrupted left.
  func removeDatabase(_ name: String) {
    for suffix in ["", "-wal", "-shm", "-journal"] { remove(name + suffix) }
  }
}
