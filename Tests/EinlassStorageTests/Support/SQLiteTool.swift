import CSQLite
import EinlassCrypto
import Foundation

/// A plain SQLite connection. It can do the same as an attacker without the key.
struct SQLiteTool {
  let path: String

  /// Runs statements and returns the first column of every row as text.
  @discardableResult
  func run(_ sql: String) throws -> [String] {
    var connection: OpaquePointer?
    defer { sqlite3_close(connection) }
    guard sqlite3_open(path, &connection) == SQLITE_OK else { throw Failure(connection) }
    var rest: UnsafePointer<CChar>? = UnsafePointer(strdup(sql))
    let start = rest
    defer { free(UnsafeMutableRawPointer(mutating: start)) }
    var rows: [String] = []
    while let sql = rest, sql.pointee != 0 {
      var statement: OpaquePointer?
      guard sqlite3_prepare_v2(connection, sql, -1, &statement, &rest) == SQLITE_OK else {
        throw Failure(connection)
      }
      defer { sqlite3_finalize(statement) }
      var code = sqlite3_step(statement)
      while code == SQLITE_ROW {
        rows.append(sqlite3_column_text(statement, 0).map { String(cString: $0) } ?? "NULL")
        code = sqlite3_step(statement)
      }
      guard code == SQLITE_DONE else { throw Failure(connection) }
    }
    return rows
  }

  struct Failure: Error {
    let message: String
    init(_ connection: OpaquePointer?) { message = String(cString: sqlite3_errmsg(connection)) }
  }
}

/// The state of a file that must stay unchanged when the store is refused.
struct FilePrint: Equatable {
  let digest: [UInt8]?
  let modifiedAt: Date?
  let names: Set<String>

  /// Records a file and the names beside it, except the lock file and SQLite's own files.
  init(_ path: String) {
    digest = FileManager.default.contents(atPath: path).map { Digest.sha256(Array($0)) }
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
    modifiedAt = attributes?[.modificationDate] as? Date
    let directory = (path as NSString).deletingLastPathComponent
    let all = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    names = Set(
      all.filter { !$0.hasSuffix("-shm") && !$0.hasSuffix("-wal") && !$0.hasSuffix(".lock") })
  }
}
