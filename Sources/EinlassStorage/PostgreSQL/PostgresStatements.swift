internal import Einlass

/// The text of statements.
extension PostgresConnection {
  /// Returns a text as a value in a script. No character of it is read as SQL.
  static func literal(_ text: String) -> String {
    "convert_from(decode('\(Hexadecimal.encode(Array(text.utf8)))', 'hex'), 'UTF8')"
  }

  /// Returns the statement with its values in place of `?1`.
  static func script(_ sql: String, _ values: [SQLValue]) -> String {
    var parts = sql.split(separator: "?", omittingEmptySubsequences: false)[...]
    var script = String(parts.removeFirst())
    for part in parts {
      let number = part.prefix { ("0"..."9").contains($0) }
      if let index = Int(number) { script += literal(values[index - 1]) }
      script += part.dropFirst(number.count)
    }
    return script
  }

  private static func literal(_ value: SQLValue) -> String {
    switch value {
    case .null: "NULL"
    case .integer(let number): "\(number)"
    case .text(let text): literal(text)
    case .blob(let bytes): "decode('\(Hexadecimal.encode(bytes))', 'hex')"
    }
  }

  /// Returns the statement with `$1` in place of `?1`.
  static func numbered(_ sql: String) -> String {
    String(
      decoding: sql.utf8.map { $0 == UInt8(ascii: "?") ? UInt8(ascii: "$") : $0 }, as: UTF8.self)
  }
}
