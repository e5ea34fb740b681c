internal import CSQLite
internal import CWALIndex
internal import Einlass

/// A connection to a database file, configured for files that may have been tampered with.
///
/// Used by one thread at a time and never across a fork. Closing does not checkpoint, except in
/// `closeAfterCheckpoint`.
final class SQLiteConnection: Database {
  /// The mode of opening an existing file.
  enum Access {
    case readWrite
    /// Reads with a WAL index in memory and creates no file. No process may write meanwhile.
    case readOnly
    /// Reads without locks and journal. No process may change the file meanwhile.
    case immutable
  }

  let path: String
  private let handle: SQLiteHandle

  /// The version and source id of the library.
  static var sqliteVersion: String {
    unsafe "\(String(cString: sqlite3_libversion())) \(String(cString: sqlite3_sourceid()))"
  }

  /// Opens and hardens the connection. The path is absolute and free of symbolic links.
  init(path: String, access: Access) throws(Problem) {
    self.path = path
    handle = try SQLiteHandle(path: path, access: access)
  }

  func each(
    _ sql: String, _ values: [SQLValue], _ body: (any Row) throws(Problem) -> Bool
  ) throws(Problem) {
    let statement = try SQLiteStatement(sql, on: handle)
    try statement.bind(values)
    while try statement.step() { guard try body(statement) else { return } }
  }

  func schema() throws(Problem) -> Int64 { try pragma("user_version") }

  func indexed(by index: String) -> String { "INDEXED BY \(index)" }

  /// Runs `body` in a transaction. All its changes become durable, or none. Reads see one state of
  /// the database.
  func transaction<Result>(
    _ kind: SQLiteTransaction, _ body: () throws(Problem) -> Result
  ) throws(Problem) -> Result {
    try run(kind.rawValue)
    do throws(Problem) {
      let result = try body()
      try run("COMMIT")
      try handle.control(CWALINDEX_CHECK, kind == .write ? 1 : 0)
      return result
    } catch {
      // On a full disk SQLite has already rolled back, and a second ROLLBACK would hide the first
      // error.
      if handle.isInTransaction { try? run("ROLLBACK") }
      throw error
    }
  }

  var changes: Int64 { handle.changes }

  var countChanges: Int64 { handle.countChanges }

  /// The number of virtual-machine steps of its statements so far. Tests use it, because it is
  /// reproducible, unlike time.
  var countSteps: Int64 { handle.countSteps }

  /// A value that differs for every committed state of the database; `nil` if a lock would be
  /// needed to read it. A later read sees this state or a newer one.
  var state: [UInt64]? { handle.state }

  /// Sets the time limit for waits on SQLite's own locks.
  func wait(milliseconds: Int32) { handle.wait(milliseconds: milliseconds) }

  /// Gives the file exactly this number of pages, so that the journal can be moved into it. Throws
  /// `full`.
  func allocate(pages: Int64) throws(Problem) {
    try handle.control(CWALINDEX_ALLOCATE, pages * pragma("page_size"))
  }

  /// Writes a complete, compact copy into an existing empty file.
  func copy(into path: String) throws(Problem) {
    handle.limit(SQLITE_LIMIT_ATTACHED, to: 1)  // VACUUM INTO attaches the copy
    defer { handle.limit(SQLITE_LIMIT_ATTACHED, to: 0) }
    try run("VACUUM INTO ?1", .text(path))
  }

  /// Applies the settings that are not stored in the file and differ between distributions. Writes
  /// nothing.
  func configure() throws(Problem) {
    for setting in [
      "synchronous = FULL", "secure_delete = ON", "cell_size_check = ON", "mmap_size = 0",
      "foreign_keys = ON", "temp_store = MEMORY", "wal_autocheckpoint = 256",
      // In KiB. Small, because a process has two connections.
      "cache_size = -1000",
    ] { try run("PRAGMA \(setting)") }
  }

  /// Switches the database to a write-ahead log. The caller holds the exclusive store lock.
  func useWriteAheadLog() throws(Problem) {
    let mode = try first("PRAGMA journal_mode = WAL") { row throws(Problem) in try row.text(0) }
    guard mode == "wal" else { throw SQLiteProblem.unsupportedFileSystem(path) }
  }

  /// Moves the whole journal into the database, as the last use of the connection. The caller holds
  /// the exclusive store lock.
  func closeAfterCheckpoint() throws(Problem) {
    // Closing checkpoints too, but does not report a full disk.
    let isBusy = try first("PRAGMA wal_checkpoint(TRUNCATE)") { row throws(Problem) in
      try row.integer(0)
    }
    guard isBusy == 0 else { throw SQLiteProblem.problem(SQLITE_BUSY, path: path) }
    try handle.set(SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)
  }
}

/// A transaction that reads one state, or one that changes the database.
enum SQLiteTransaction: String {
  /// One state of the database for several reads.
  case read = "BEGIN"
  /// Takes the write lock at the beginning, so that a read lock never has to be upgraded.
  case write = "BEGIN IMMEDIATE"
}

/// The library's handles. The connection closes with its last statement.
@safe final class SQLiteHandle {
  let path: String
  private let connection: OpaquePointer
  /// The compiled statements by their text; `nil` while one is in use, because the removal of a key
  /// hashes its neighbours again.
  private var prepared: [String: OpaquePointer?] = unsafe [:]
  /// The VFS for which a full disk is an error code and not SIGBUS.
  static let files: String = unsafe String(cString: cwalindex_register())

  init(path: String, access: SQLiteConnection.Access) throws(Problem) {
    var connection: OpaquePointer?
    let common = SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE
    let code =
      switch access {
      case .readWrite:
        unsafe sqlite3_open_v2(path, &connection, common | SQLITE_OPEN_READWRITE, Self.files)
      case .readOnly:
        unsafe sqlite3_open_v2(path, &connection, common | SQLITE_OPEN_READONLY, Self.files)
      case .immutable:
        unsafe sqlite3_open_v2(
          "file:\(Self.percentEncoded(path))?immutable=1", &connection,
          common | SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, Self.files)
      }
    guard code == SQLITE_OK, let connection = unsafe connection else {
      let extended = unsafe connection.map { unsafe sqlite3_extended_errcode($0) } ?? code
      let systemError = unsafe connection.map { unsafe sqlite3_system_errno($0) } ?? 0
      _ = unsafe sqlite3_close_v2(connection)
      throw SQLiteProblem.problem(extended, path: path, systemError: systemError)
    }
    _ = unsafe sqlite3_extended_result_codes(connection, 1)
    self.path = path
    unsafe self.connection = connection
    try harden()
  }

  deinit {
    while let (_, statement) = unsafe prepared.popFirst() { unsafe sqlite3_finalize(statement) }
    _ = unsafe sqlite3_close_v2(connection)
  }

  var changes: Int64 { unsafe sqlite3_changes64(connection) }
  var countChanges: Int64 { unsafe sqlite3_total_changes64(connection) }
  var countSteps: Int64 {
    unsafe prepared.values.reduce(0) {
      unsafe $0
        + ($1.map { unsafe Int64(sqlite3_stmt_status($0, SQLITE_STMTSTATUS_VM_STEP, 0)) } ?? 0)
    }
  }
  var isInTransaction: Bool { unsafe sqlite3_get_autocommit(connection) == 0 }

  private func harden() throws(Problem) {
    // Before the file is read for the first time, because its schema must not run code.
    try set(SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
    try set(SQLITE_DBCONFIG_DEFENSIVE, true)
    try set(SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, false)
    try set(SQLITE_DBCONFIG_ENABLE_TRIGGER, false)
    try set(SQLITE_DBCONFIG_ENABLE_VIEW, false)
    try set(SQLITE_DBCONFIG_DQS_DDL, false)
    try set(SQLITE_DBCONFIG_DQS_DML, false)
    try set(SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)
    limit(SQLITE_LIMIT_ATTACHED, to: 0)
    limit(SQLITE_LIMIT_LENGTH, to: 1 << 20)
    limit(SQLITE_LIMIT_SQL_LENGTH, to: 100_000)
    limit(SQLITE_LIMIT_VDBE_OP, to: 100_000)
  }

  func set(_ option: Int32, _ isOn: Bool) throws(Problem) {
    let code = unsafe csqlite_switch(connection, option, isOn ? 1 : 0)
    guard code == SQLITE_OK else { throw SQLiteProblem.problem(code, path: path) }
  }

  func limit(_ limit: Int32, to value: Int32) {
    _ = unsafe sqlite3_limit(connection, limit, value)
  }

  func wait(milliseconds: Int32) {
    _ = unsafe sqlite3_busy_timeout(connection, milliseconds)
    // At least 20 ms even with `Patience.none`, because other connections hold these locks for
    // microseconds.
    var patience = max(milliseconds, 20)
    _ = unsafe sqlite3_file_control(connection, "main", CWALINDEX_PATIENCE, &patience)
  }

  /// The state of the database, as `SQLiteConnection.state`.
  var state: [UInt64]? {
    var state = [UInt64](repeating: 0, count: Int(CWALINDEX_STATE_SIZE) / 8)
    let code = unsafe sqlite3_file_control(connection, "main", CWALINDEX_STATE, &state)
    return code == SQLITE_OK ? state : nil
  }

  /// Runs a file control operation on the database file.
  func control(_ operation: Int32, _ number: Int64) throws(Problem) {
    var number = number
    let code = unsafe sqlite3_file_control(connection, "main", operation, &number)
    guard code == SQLITE_OK else { throw SQLiteProblem.problem(code, path: path) }
  }

  func problem(_ code: Int32) -> Problem {
    SQLiteProblem.problem(
      code, path: path, systemError: unsafe sqlite3_system_errno(connection))
  }

  /// Returns a compiled statement for exclusive use until `give`.
  func take(_ sql: String) throws(Problem) -> OpaquePointer {
    if let index = unsafe prepared.index(forKey: sql),
      let statement = unsafe prepared.values[index]
    {
      unsafe prepared.values[index] = nil
      return unsafe statement
    }
    var statement: OpaquePointer?
    let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
    let code = unsafe sqlite3_prepare_v3(connection, sql, -1, flags, &statement, nil)
    guard code == SQLITE_OK, let statement = unsafe statement else { throw problem(code) }
    return unsafe statement
  }

  /// Caches a statement for the next `take` of the same text.
  func give(_ statement: OpaquePointer, back sql: String) {
    _ = unsafe sqlite3_reset(statement)
    _ = unsafe sqlite3_clear_bindings(statement)
    if let other = unsafe prepared.updateValue(statement, forKey: sql) {
      _ = unsafe sqlite3_finalize(other)
    }
  }

  private static func percentEncoded(_ path: String) -> String {
    var encoded = ""
    for byte in path.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."),
        UInt8(ascii: "-"), UInt8(ascii: "_"):
        encoded.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        encoded += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
      }
    }
    return encoded
  }
}
