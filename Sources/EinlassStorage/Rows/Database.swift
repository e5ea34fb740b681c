internal import Einlass

/// A value of a column or a parameter.
enum SQLValue: Hashable {
  case null
  case integer(Int64)
  case text(String)
  case blob([UInt8])

  static func optional(_ text: String?) -> SQLValue { text.map(SQLValue.text) ?? .null }
  static func optional(_ number: Int64?) -> SQLValue { number.map(SQLValue.integer) ?? .null }
  static func optional(_ bytes: [UInt8]?) -> SQLValue { bytes.map(SQLValue.blob) ?? .null }
}

/// A connection to a store's database. The statements of this folder are the common SQL of SQLite
/// and PostgreSQL; their parameters are `?1`, `?2` and so on.
///
/// Used by one thread at a time.
protocol Database: AnyObject {
  /// The path of the file, or the address without a secret, for messages.
  var path: String { get }
  /// The number of rows changed by the last INSERT, UPDATE or DELETE.
  var changes: Int64 { get }
  /// The number of rows changed since the connection was opened.
  var countChanges: Int64 { get }
  /// The version of the tables.
  func schema() throws(Problem) -> Int64
  /// SQLite's clause for an index that its planner would not choose.
  func indexed(by index: String) -> String
  /// Calls `body` with each row of the result, until it returns `false`.
  func each(
    _ sql: String, _ values: [SQLValue], _ body: (any Row) throws(Problem) -> Bool
  ) throws(Problem)
  /// Runs a statement at the latest with COMMIT, which saves a request to a server. A later
  /// statement may throw its problem. `changes` and `countChanges` may leave it out.
  func runByCommit(_ sql: String, _ values: [SQLValue]) throws(Problem)
}

/// A row of a result. Columns count from 0.
///
/// A column with another type than the schema's means that the database is damaged.
protocol Row {
  /// The path or address of the database.
  var path: String { get }
  func isNull(_ column: Int32) -> Bool
  func integer(_ column: Int32) throws(Problem) -> Int64
  func text(_ column: Int32) throws(Problem) -> String
  func blob(_ column: Int32) throws(Problem) -> [UInt8]
  /// Returns a column of any type.
  func value(_ column: Int32) throws(Problem) -> SQLValue
}

extension Row {
  func optionalInteger(_ column: Int32) throws(Problem) -> Int64? {
    isNull(column) ? nil : try integer(column)
  }

  func optionalText(_ column: Int32) throws(Problem) -> String? {
    isNull(column) ? nil : try text(column)
  }

  func optionalBlob(_ column: Int32) throws(Problem) -> [UInt8]? {
    isNull(column) ? nil : try blob(column)
  }

  /// Returns a text column as a case of an enumeration.
  func word<Word: RawRepresentable<String>>(_ column: Int32) throws(Problem) -> Word {
    let text = try text(column)
    guard let word = Word(rawValue: text) else {
      throw .damaged(path, "an unknown value in a column")
    }
    return word
  }

  func optionalWord<Word: RawRepresentable<String>>(_ column: Int32) throws(Problem) -> Word? {
    isNull(column) ? nil : try word(column)
  }
}

extension Database {
  /// Runs a statement and ignores its rows.
  func run(_ sql: String, _ values: SQLValue...) throws(Problem) {
    try each(sql, values) { _ in true }
  }

  func runByCommit(_ sql: String, _ values: [SQLValue]) throws(Problem) {
    try each(sql, values) { _ in true }
  }

  /// Returns the result of `read` for the first row, or `nil` without rows.
  func first<Element>(
    _ sql: String, _ values: SQLValue..., read: (any Row) throws(Problem) -> Element
  ) throws(Problem) -> Element? {
    var element: Element?
    try each(sql, values) { row throws(Problem) in
      element = try read(row)
      return false
    }
    return element
  }

  /// Returns the results of `read` for every row.
  func all<Element>(
    _ sql: String, _ values: SQLValue..., read: (any Row) throws(Problem) -> Element
  ) throws(Problem) -> [Element] {
    try all(sql, values: values, read: read)
  }

  /// Returns the results of `read` for every row.
  func all<Element>(
    _ sql: String, values: [SQLValue], read: (any Row) throws(Problem) -> Element
  ) throws(Problem) -> [Element] {
    var elements: [Element] = []
    try each(sql, values) { row throws(Problem) in
      elements.append(try read(row))
      return true
    }
    return elements
  }

  /// Returns a statement that adds a row or replaces the one with the same key. Its parameters are
  /// the columns of the key, then the others.
  static func upsert(_ table: String, key: [String], _ others: [String]) -> String {
    let columns = key + others
    let parameters = (1...columns.count).map { "?\($0)" }
    let changes = others.map { "\($0) = excluded.\($0)" }
    return """
      INSERT INTO \(table) (\(columns.joined(separator: ", ")))
      VALUES (\(parameters.joined(separator: ", ")))
      ON CONFLICT (\(key.joined(separator: ", "))) DO UPDATE SET \(changes.joined(separator: ", "))
      """
  }
}

extension Problem {
  /// The database is readable, but its content is inconsistent.
  static func damaged(_ path: String, _ what: String) -> Problem {
    .store(
      .corrupt,
      "The account store \(path) is damaged (\(what)). It was left as it is.",
      path: path)
  }
}
