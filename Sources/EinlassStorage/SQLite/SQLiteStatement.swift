internal import CSQLite
internal import Einlass

/// A running statement and its current row.
@safe final class SQLiteStatement: Row {
  private let handle: SQLiteHandle
  private let statement: OpaquePointer
  private let sql: String

  init(_ sql: String, on handle: SQLiteHandle) throws(Problem) {
    unsafe statement = try handle.take(sql)
    self.handle = handle
    self.sql = sql
  }

  var path: String { handle.path }

  deinit { unsafe handle.give(statement, back: sql) }

  /// Binds ?1, ?2 and so on.
  func bind(_ values: [SQLValue]) throws(Problem) {
    for (index, value) in values.enumerated() { try bind(value, at: Int32(index + 1)) }
  }

  /// Moves to the next row. Returns `false` after the last one.
  func step() throws(Problem) -> Bool {
    let code = unsafe sqlite3_step(statement)
    switch code {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw handle.problem(code)
    }
  }

  func integer(_ column: Int32) throws(Problem) -> Int64 {
    try require(SQLITE_INTEGER, column)
    return unsafe sqlite3_column_int64(statement, column)
  }

  func text(_ column: Int32) throws(Problem) -> String {
    try require(SQLITE_TEXT, column)
    guard let start = unsafe sqlite3_column_text(statement, column) else { throw outOfMemory }
    let text = unsafe String(
      validating: UnsafeBufferPointer(
        start: start, count: Int(sqlite3_column_bytes(statement, column))), as: UTF8.self)
    guard let text else { throw Problem.damaged(handle.path, "a text is not UTF-8") }
    return text
  }

  func blob(_ column: Int32) throws(Problem) -> [UInt8] {
    try require(SQLITE_BLOB, column)
    let bytes = unsafe sqlite3_column_blob(statement, column)
    let count = unsafe Int(sqlite3_column_bytes(statement, column))
    // The pointer to an empty blob is null as well.
    guard unsafe bytes != nil || count == 0 else { throw outOfMemory }
    return unsafe Array(UnsafeRawBufferPointer(start: bytes, count: count))
  }

  func value(_ column: Int32) throws(Problem) -> SQLValue {
    switch unsafe sqlite3_column_type(statement, column) {
    case SQLITE_NULL: .null
    case SQLITE_INTEGER: .integer(try integer(column))
    case SQLITE_TEXT: .text(try text(column))
    default: .blob(try blob(column))
    }
  }

  /// SQLite reports a failed allocation of a column value by a null pointer.
  private var outOfMemory: Problem { SQLiteProblem.problem(SQLITE_NOMEM, path: handle.path) }

  func isNull(_ column: Int32) -> Bool {
    unsafe sqlite3_column_type(statement, column) == SQLITE_NULL
  }

  private func require(_ type: Int32, _ column: Int32) throws(Problem) {
    guard unsafe sqlite3_column_type(statement, column) == type else {
      throw Problem.damaged(handle.path, "a column has the wrong type")
    }
  }

  private func bind(_ value: SQLValue, at index: Int32) throws(Problem) {
    let code =
      switch value {
      case .null: unsafe sqlite3_bind_null(statement, index)
      case .integer(let number): unsafe sqlite3_bind_int64(statement, index, number)
      case .text(let text):
        unsafe csqlite_bind_text(statement, index, text, Int32(clamping: text.utf8.count))
      case .blob(let bytes):
        unsafe csqlite_bind_blob(statement, index, bytes, Int32(clamping: bytes.count))
      }
    guard code == SQLITE_OK else { throw SQLiteProblem.problem(code, path: handle.path) }
  }
}
