internal import CSQLite
internal import Einlass
internal import EinlassSystem

/// The only place that interprets SQLite's result codes.
enum SQLiteProblem {
  /// Returns the problem for a failed call.
  ///
  /// - Parameter systemError: the errno of the system call that failed, or 0.
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
        .locked, "Another program keeps the account store \(path) locked.",
        path: path)
    case SQLITE_FULL,
      SQLITE_CANTOPEN where error.isForWantOfRoom:
      full(path)
    case SQLITE_READONLY, SQLITE_PERM:
      readOnly(path)
    case SQLITE_CANTOPEN, SQLITE_AUTH:
      .store(
        .permissions,
        "The account store \(path) can't be opened (SQLite \(extendedCode)).",
        path: path)
    case SQLITE_NOTADB:
      notOurs(path, "is not a database")
    // Our statements are valid, so SQLITE_ERROR means a changed schema, and SQLITE_CONSTRAINT means
    // inconsistent rows, for example a credential without its account.
    case SQLITE_CORRUPT, SQLITE_FORMAT, SQLITE_MISMATCH, SQLITE_ERROR, SQLITE_CONSTRAINT:
      .damaged(path, "SQLite \(extendedCode)")
    case SQLITE_IOERR:
      switch extendedCode {
      // A disk quota or file-size limit appears as a failed write.
      case csqlite_ioerr_write, csqlite_ioerr_fsync, csqlite_ioerr_truncate, csqlite_ioerr_shmsize:
        full(path)
      case csqlite_ioerr_lock, csqlite_ioerr_shmlock, csqlite_ioerr_shmmap:
        unsupportedFileSystem(path)
      case csqlite_ioerr_shmopen: readOnly(path)
      default: .damaged(path, "input/output error \(extendedCode)")
      }
    case SQLITE_NOMEM: Problem(.internal, "Out of memory.")
    default: Problem(.internal, "SQLite answered \(extendedCode).", path: path)
    }
  }

  /// The file was never an account store.
  static func notOurs(_ path: String, _ what: String) -> Problem {
    .store(
      .corrupt,
      "\(path) \(what), so it can't be the account store. It was left as it is.",
      advice: .nameAnotherPlace,
      path: path)
  }

  static func readOnly(_ path: String) -> Problem {
    .store(
      .readOnly,
      "The account store \(path) can't be written.",
      path: path)
  }

  /// The file system lacks the locks or shared memory for sharing a store between processes.
  static func unsupportedFileSystem(_ path: String) -> Problem {
    .store(
      .unsupportedFileSystem,
      "The account store \(path) is on a file system that can't share it safely between processes.",
      path: path)
  }

  private static func full(_ path: String) -> Problem {
    .store(
      .full, "The disk has no space for the account store \(path).",
      path: path)
  }
}
