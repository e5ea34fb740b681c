internal import CSQLite
internal import Einlass
internal import EinlassSystem

/// The only place where SQLite's result codes are read.
enum SQLiteProblem {
  /// What a failed call means for whoever spawned us.
  ///
  /// - Parameter systemError: the errno behind it, if it was a call of the system that failed.
  static func problem(_ extendedCode: Int32, path: String, systemError: Int32 = 0) -> Problem {
    let error = SystemError(number: systemError)
    return switch extendedCode & 0xFF {
    case SQLITE_CANTOPEN where error.isForWantOfDescriptors,
      SQLITE_IOERR where error.isForWantOfDescriptors:
      .store(
        .tooManyOpenFiles,
        "The account store \(path) can't be opened: \(SystemError.tooManyOpenFiles).", path: path)
    case SQLITE_BUSY, SQLITE_LOCKED:
      .store(
        .locked, "Another program keeps the account store \(path) locked. Try again, or close it.",
        path: path)
    case SQLITE_FULL,
      SQLITE_CANTOPEN where error.isForWantOfRoom:
      full(path)
    case SQLITE_READONLY, SQLITE_PERM:
      readOnly(path)
    case SQLITE_CANTOPEN, SQLITE_AUTH:
      .store(
        .permissions,
        "The account store \(path) can't be opened (SQLite \(extendedCode)). Check who may use it and the directory it is in.",
        path: path)
    case SQLITE_NOTADB:
      notOurs(path, "is no database")
    // Our statements are sound: with SQLITE_ERROR it is the schema that is not what it was, with SQLITE_CONSTRAINT rows
    // that do not fit each other, a credential of no account say.
    case SQLITE_CORRUPT, SQLITE_FORMAT, SQLITE_MISMATCH, SQLITE_ERROR, SQLITE_CONSTRAINT:
      damaged(path, "SQLite \(extendedCode)")
    case SQLITE_IOERR:
      switch extendedCode {
      // A quota or a file-size limit shows up as a failed write.
      case csqlite_ioerr_write, csqlite_ioerr_fsync, csqlite_ioerr_truncate, csqlite_ioerr_shmsize:
        full(path)
      case csqlite_ioerr_lock, csqlite_ioerr_shmlock, csqlite_ioerr_shmmap:
        unsupportedFileSystem(path)
      case csqlite_ioerr_shmopen: readOnly(path)
      default: damaged(path, "input/output error \(extendedCode)")
      }
    case SQLITE_NOMEM: Problem(.internal, "Out of memory.")
    default: Problem(.internal, "SQLite answered \(extendedCode).", path: path)
    }
  }

  /// The store's file can be read but does not make sense.
  static func damaged(_ path: String, _ what: String) -> Problem {
    .store(
      .corrupt,
      "The account store \(path) is damaged (\(what)). It was left as it is: restore a backup, or move it away to start afresh.",
      path: path)
  }

  /// The file was never a store of ours.
  static func notOurs(_ path: String, _ what: String) -> Problem {
    .store(
      .corrupt,
      "\(path) \(what), so it can't be the account store. It was left as it is: move it away, or name another file with --store.",
      path: path)
  }

  /// Nothing can be written where the store lies.
  static func readOnly(_ path: String) -> Problem {
    .store(
      .readOnly,
      "The account store \(path) can't be written. Make the file and its directory writable, or name another one with --store.",
      path: path)
  }

  /// The file system can't do what sharing a store between processes needs.
  static func unsupportedFileSystem(_ path: String) -> Problem {
    .store(
      .unsupportedFileSystem,
      "The account store \(path) lies on a file system that can't share it safely between processes. Put it on a local one with --store.",
      path: path)
  }

  private static func full(_ path: String) -> Problem {
    .store(
      .full, "There is no room to write the account store \(path). Free some space and try again.",
      path: path)
  }
}
