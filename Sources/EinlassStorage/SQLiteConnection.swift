internal import CSQLite
internal import CWALIndex
internal import Einlass

/// One connection to one database file, set up for a file that somebody may have tampered with.
///
/// Belongs to one thread at a time, never crosses a fork, and never checkpoints when it closes unless told so.
struct SQLiteConnection: ~Copyable {
  /// How the file is opened; it is never created here.
  enum Access {
    case readWrite
    /// For reading with an index in memory: nobody may write meanwhile, and nothing is made.
    case readOnly
    /// Without locks or a journal, for a file that nobody can change meanwhile.
    case immutable
  }

  let path: String
  private let handle: SQLiteHandle

  /// Version and source id of the library.
  static var sqliteVersion: String {
    unsafe "\(String(cString: sqlite3_libversion())) \(String(cString: sqlite3_sourceid()))"
  }

  /// Opens and hardens. The path is absolute and free of symbolic links. Throws the store's problems.
  init(path: String, access: Access) throws(Problem) {
    self.path = path
    handle = try SQLiteHandle(path: path, access: access)
  }

  /// Runs a statement; rows are ignored.
  func run(_ sql: String, _ values: SQLiteValue...) throws(Problem) {
    let statement = try SQLiteStatement(sql, on: handle)
    try statement.bind(values)
    while try statement.step() {}
  }

  /// What `read` makes of the first row; `nil` when there is none.
  func first<Element>(
    _ sql: String, _ values: SQLiteValue...,
    read: (borrowing SQLiteStatement) throws(Problem) -> Element
  ) throws(Problem) -> Element? {
    let statement = try SQLiteStatement(sql, on: handle)
    try statement.bind(values)
    return try statement.step() ? try read(statement) : nil
  }

  /// The result of `read` for every row.
  func all<Element>(
    _ sql: String, _ values: SQLiteValue...,
    read: (borrowing SQLiteStatement) throws(Problem) -> Element
  ) throws(Problem) -> [Element] {
    try all(sql, values: values, read: read)
  }

  /// The result of `read` for every row.
  func all<Element>(
    _ sql: String, values: [SQLiteValue],
    read: (borrowing SQLiteStatement) throws(Problem) -> Element
  ) throws(Problem) -> [Element] {
    let statement = try SQLiteStatement(sql, on: handle)
    try statement.bind(values)
    var elements: [Element] = []
    while try statement.step() { elements.append(try read(statement)) }
    return elements
  }

  /// All of `body`'s changes, durable, or none. For reading, one state of the database throughout.
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
      // On a full disk SQLite has rolled back by itself, and a second time would hide the first error.
      if handle.isInTransaction { try? run("ROLLBACK") }
      throw error
    }
  }

  /// Rows changed by the last INSERT, UPDATE or DELETE.
  var changes: Int64 { handle.changes }

  /// How many instructions its statements have run so far, for tests: unlike time, the same at each run.
  var countSteps: Int64 { handle.countSteps }

  /// Different for every committed state of the database; `nil` when a lock is needed to see it. A later read sees that
  /// state or a newer one.
  var state: [UInt64]? { handle.state }

  /// How long SQLite waits for its own locks.
  func wait(milliseconds: Int32) { handle.wait(milliseconds: milliseconds) }

  /// Gives the file room for so many pages and no more, so that the journal can be moved into it. Throws `full`.
  func allocate(pages: Int64) throws(Problem) {
    try handle.control(CWALINDEX_ALLOCATE, pages * pragma("page_size"))
  }

  /// Writes a whole, compact copy into an existing empty file.
  func copy(into path: String) throws(Problem) {
    handle.limit(SQLITE_LIMIT_ATTACHED, to: 1)  // what VACUUM INTO uses itself
    defer { handle.limit(SQLITE_LIMIT_ATTACHED, to: 0) }
    try run("VACUUM INTO ?1", .text(path))
  }

  /// The settings that stand in no file and differ between distributions (C-21). Only reads.
  func configure() throws(Problem) {
    for setting in [
      "synchronous = FULL", "secure_delete = ON", "cell_size_check = ON", "mmap_size = 0",
      "foreign_keys = ON", "temp_store = MEMORY", "wal_autocheckpoint = 256",
      // KiB, because a process has two connections.
      "cache_size = -1000",
    ] { try run("PRAGMA \(setting)") }
  }

  /// Makes the database keep a write-ahead log. Only under the exclusive store lock.
  func useWriteAheadLog() throws(Problem) {
    let mode = try first("PRAGMA journal_mode = WAL") { row throws(Problem) in try row.text(0) }
    guard mode == "wal" else { throw SQLiteProblem.unsupportedFileSystem(path) }
  }

  /// Closes after moving the whole journal into the database. Only under the exclusive store lock.
  consuming func closeAfterCheckpoint() throws(Problem) {
    // Closing does so too, but keeps it to itself when the disk is full.
    let isBusy = try first("PRAGMA wal_checkpoint(TRUNCATE)") { row throws(Problem) in
      try row.integer(0)
    }
    guard isBusy == 0 else { throw SQLiteProblem.problem(SQLITE_BUSY, path: path) }
    try handle.set(SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)
  }
}

/// How a transaction starts.
enum SQLiteTransaction: String {
  /// One state of the database for several reads.
  case read = "BEGIN"
  /// The write lock from the first statement on, so that no read has to be upgraded.
  case write = "BEGIN IMMEDIATE"
}

/// The library's handles: closed when the last statement is gone, whoever holds it.
@safe final class SQLiteHandle {
  let path: String
  private let connection: OpaquePointer
  private var prepared: [String: OpaquePointer] = unsafe [:]
  /// The way to files on which a full disk is an error and no signal.
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
  var countSteps: Int64 {
    unsafe prepared.values.reduce(0) {
      unsafe $0 + Int64(sqlite3_stmt_status($1, SQLITE_STMTSTATUS_VM_STEP, 0))
    }
  }
  var isInTransaction: Bool { unsafe sqlite3_get_autocommit(connection) == 0 }

  private func harden() throws(Problem) {
    // Before anything that reads the file: what it says must not be able to run anything.
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
    // 20 ms even without patience, because other connections hold these locks for microseconds.
    var patience = max(milliseconds, 20)
    _ = unsafe sqlite3_file_control(connection, "main", CWALINDEX_PATIENCE, &patience)
  }

  /// Different for every committed state of the database, as far as that can be seen without a lock.
  var state: [UInt64]? {
    var state = [UInt64](repeating: 0, count: Int(CWALINDEX_STATE_SIZE) / 8)
    let code = unsafe sqlite3_file_control(connection, "main", CWALINDEX_STATE, &state)
    return code == SQLITE_OK ? state : nil
  }

  /// Asks something of the database's file.
  func control(_ operation: Int32, _ number: Int64) throws(Problem) {
    var number = number
    let code = unsafe sqlite3_file_control(connection, "main", operation, &number)
    guard code == SQLITE_OK else { throw SQLiteProblem.problem(code, path: path) }
  }

  /// The problem of the last failed call.
  func problem(_ code: Int32) -> Problem {
    SQLiteProblem.problem(
      code, path: path, systemError: unsafe sqlite3_system_errno(connection))
  }

  /// A compiled statement that nobody else uses; give it back.
  func take(_ sql: String) throws(Problem) -> OpaquePointer {
    if let statement = unsafe prepared.removeValue(forKey: sql) { return unsafe statement }
    var statement: OpaquePointer?
    let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
    let code = unsafe sqlite3_prepare_v3(connection, sql, -1, flags, &statement, nil)
    guard code == SQLITE_OK, let statement = unsafe statement else { throw problem(code) }
    return unsafe statement
  }

  /// Keeps a statement for the next time its text is asked for.
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
