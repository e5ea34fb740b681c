internal import EinlassJSON
internal import EinlassRPC

/// Cuts a list into answers that fit an outbound line. Protocol section 1, limits.
enum Pages {
  /// What one page may take of the 60 KiB of a line; the rest is the envelope's.
  static let limitBytes = 56 * 1024

  /// As many entries as fit. One that fits no line, which only somebody else can have written into a file, is left out,
  /// and the log says so.
  ///
  /// - Parameters:
  ///   - entries: what follows the cursor, in order.
  ///   - limit: at most so many.
  ///   - cursor: the cursor that stands behind an entry.
  /// - Returns: `{name: [entry], nextCursor?}`.
  static func page<Entry>(
    _ name: String, _ entries: some Sequence<Entry>, limit: Int64?, log: Log,
    cursor: (Entry) -> String, encode: (Entry) -> JSONValue
  ) -> JSONObject {
    var values: [JSONValue] = []
    var size = 0
    var last: Entry?
    for entry in entries {
      let value = encode(entry)
      let count = value.bytes().count + 1
      guard count <= limitBytes else {
        log.warning(
          "list",
          "One of the \(name) fits no line of the protocol and is left out: \(cursor(entry))")
        continue
      }
      size += count
      if values.count >= limit ?? Int64.max || size > limitBytes {
        return [name: .array(values), "nextCursor": .string(last.map(cursor) ?? "")]
      }
      values.append(value)
      last = entry
    }
    return [name: .array(values)]
  }
}
