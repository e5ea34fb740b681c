internal import Einlass

/// The checks of a database before any other use. Only reads.
enum StoreCheck {
  enum Outcome: Equatable {
    case current
    /// From an older program: needs a backup and a migration.
    case older(schema: Int64)
    /// Another tool has changed the journal mode. It is set again under the exclusive lock.
    case otherJournal
  }

  /// Checks a newly opened database. Throws `corrupt` for a file that is damaged or was never a
  /// store, and `tooNew` for the store of a newer program.
  static func run(on connection: SQLiteConnection, knows migrations: Migrations)
    throws(Problem) -> Outcome
  {
    let schema = try version(of: connection, knows: migrations)
    guard schema == migrations.schema else { return .older(schema: schema) }
    // All columns cost a tenth of a start.
    if try fingerprint(of: connection) != migrations.fingerprint {
      try columns(of: connection, against: migrations.columns)
    }
    let journal = try connection.first("PRAGMA journal_mode") { row throws(Problem) in
      try row.text(0)
    }
    return journal == "wal" ? .current : .otherJournal
  }

  /// Checks owner, schema version and key slots after another program has changed the database, and
  /// returns the schema version. Throws the problems of `run`.
  @discardableResult
  static func version(of connection: SQLiteConnection, knows migrations: Migrations)
    throws(Problem) -> Int64
  {
    try owner(of: connection)
    let found = try connection.pragma("user_version")
    guard found <= migrations.schema else {
      throw connection.tooNew(
        "schema \(found), this einlass knows \(migrations.schema)", needs: "SELECT needs FROM meta")
    }
    guard found > 0 else { throw Problem.damaged(connection.path, "schema \(found)") }
    try keySlots(of: connection)
    return found
  }

  /// Throws `corrupt` unless the file is an account store, of whichever version.
  static func owner(of connection: SQLiteConnection) throws(Problem) {
    guard try connection.pragma("application_id") == Migrations.applicationID else {
      throw SQLiteProblem.notOurs(connection.path, "is not an account store of einlass")
    }
  }

  /// Returns a hash of the statements that have made the tables.
  static func fingerprint(of connection: SQLiteConnection) throws(Problem) -> UInt64 {
    // FNV-1a. A chosen collision gains nothing, because its author could change the rows instead.
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    try connection.each(
      "SELECT sql FROM sqlite_schema WHERE type = 'table' ORDER BY rowid", []
    ) { row throws(Problem) in
      for byte in (try row.optionalText(0) ?? "").utf8 {
        hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3
      }
      return true
    }
    return hash
  }

  private static func columns(
    of connection: SQLiteConnection, against known: [String: Set<String>]
  ) throws(Problem) {
    let pairs = try connection.all(
      """
      SELECT t.name, c.name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
      WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
      """
    ) { row throws(Problem) in (try row.text(0), try row.text(1)) }
    var found: [String: Set<String>] = [:]
    for (table, column) in pairs { found[table, default: []].insert(column) }
    for (table, columns) in found where !columns.isSubset(of: known[table] ?? []) {
      throw connection.tooNew("table \(table) has columns that this einlass does not know")
    }
    guard found == known else {
      throw Problem.damaged(connection.path, "a table or column is missing")
    }
  }

  private static func keySlots(of connection: SQLiteConnection) throws(Problem) {
    for kind in try connection.all(
      "SELECT kind FROM keyslot", read: { row throws(Problem) in try row.text(0) })
    where KeySlot.Kind(rawValue: kind) == nil {
      throw connection.tooNew("a key slot that this einlass does not know")
    }
  }
}

extension SQLiteConnection {
  /// Returns the number answered by a pragma.
  func pragma(_ name: String) throws(Problem) -> Int64 {
    try first("PRAGMA \(name)") { row throws(Problem) in try row.integer(0) } ?? 0
  }
}
