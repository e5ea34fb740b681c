internal import CPostgres
internal import Einlass

/// The answer of the server to one statement.
struct PostgresAnswer {
  var rows: [[SQLValue]] = []
  var countChanges: Int64 = 0
  /// The SQLSTATE of an error.
  var state: String?
  private var text = ""

  /// Takes over the result and frees it.
  init(_ result: OpaquePointer) {
    defer { unsafe cpostgres_clear(result) }
    guard unsafe cpostgres_is_success(result) != 0 else {
      state = unsafe cpostgres_error_state(result).map { unsafe String(cString: $0) } ?? "XX000"
      text = unsafe cpostgres_error_text(result).map { unsafe String(cString: $0) } ?? ""
      return
    }
    let columns = unsafe 0..<cpostgres_count_columns(result)
    for row in unsafe 0..<cpostgres_count_rows(result) {
      rows.append(columns.map { unsafe Self.value(result, row, $0) })
    }
    countChanges = unsafe cpostgres_count_changes(result)
  }

  /// Throws the problem of an error.
  func requireSuccess(_ address: PostgresAddress) throws(Problem) {
    if let state { throw PostgresProblem.problem(state, text, address) }
  }

  /// Whether the limit on locks has ended a wait.
  var isLocked: Bool { state == "55P03" }

  /// Whether the limit on statements, or an operator, has ended the statement.
  var isCancelled: Bool { state == "57014" }

  private static func value(_ result: OpaquePointer, _ row: Int32, _ column: Int32) -> SQLValue {
    guard unsafe cpostgres_is_null(result, row, column) == 0,
      let start = unsafe cpostgres_value(result, row, column)
    else { return .null }
    let count = unsafe Int(cpostgres_length(result, row, column))
    let bytes = unsafe Array(UnsafeRawBufferPointer(start: start, count: count))
    let type = unsafe SQLType(rawValue: cpostgres_type(result, column))
    return unsafe cpostgres_is_binary(result, column) != 0
      ? SQLValue(binary: bytes, type) : SQLValue(text: bytes, type)
  }
}

/// A row of an answer, or of a kept one.
struct PostgresRow: Row {
  let path: String
  let values: [SQLValue]

  func isNull(_ column: Int32) -> Bool { values[Int(column)] == .null }

  func integer(_ column: Int32) throws(Problem) -> Int64 {
    guard case .integer(let number) = values[Int(column)] else { throw wrongType }
    return number
  }

  func text(_ column: Int32) throws(Problem) -> String {
    guard case .text(let text) = values[Int(column)] else { throw wrongType }
    return text
  }

  func blob(_ column: Int32) throws(Problem) -> [UInt8] {
    guard case .blob(let bytes) = values[Int(column)] else { throw wrongType }
    return bytes
  }

  func value(_ column: Int32) -> SQLValue { values[Int(column)] }

  private var wrongType: Problem { .damaged(path, "a column has the wrong type") }
}

/// The object ids of the types in use (the server's catalogue `pg_type`).
private enum SQLType: UInt32 {
  case boolean = 16
  case bytes = 17
  case integer8 = 20
  case integer4 = 23
  case text = 25
}

extension SQLValue {
  /// The type and the binary form of a parameter; without a form for NULL, whose type the server
  /// derives.
  var binary: (type: UInt32, bytes: [UInt8]?) {
    switch self {
    case .null: (0, nil)
    case .integer(let number):
      (
        SQLType.integer8.rawValue,
        (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * Int64($0))) }
      )
    case .text(let text): (SQLType.text.rawValue, Array(text.utf8))
    case .blob(let bytes): (SQLType.bytes.rawValue, bytes)
    }
  }

  var number: Int64? { if case .integer(let number) = self { number } else { nil } }

  /// Reads a column in binary form.
  fileprivate init(binary bytes: [UInt8], _ type: SQLType?) {
    switch type {
    case .boolean, .integer4, .integer8:
      let isNegative = type != .boolean && bytes.first.map { $0 >= 0x80 } == true
      self = .integer(bytes.reduce(isNegative ? -1 : 0) { $0 << 8 | Int64($1) })
    case .bytes: self = .blob(bytes)
    case .text, nil: self = .text(String(decoding: bytes, as: UTF8.self))
    }
  }

  /// Reads a column in text form, which statements without parameters have.
  fileprivate init(text bytes: [UInt8], _ type: SQLType?) {
    let text = String(decoding: bytes, as: UTF8.self)
    switch type {
    case .boolean: self = .integer(text == "t" ? 1 : 0)
    case .integer4, .integer8: self = Int64(text).map(SQLValue.integer) ?? .text(text)
    case .bytes: self = Hexadecimal.decode(String(text.dropFirst(2))).map(SQLValue.blob) ?? .null
    case .text, nil: self = .text(text)
    }
  }
}
