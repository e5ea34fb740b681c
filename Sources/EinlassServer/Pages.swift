internal import Einlass
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
  ///   - next: brings what follows the cursor, one entry after the other.
  ///   - limit: at most so many.
  ///   - cursor: the cursor that stands behind an entry.
  /// - Returns: `{name: [entry], nextCursor?}`.
  static func page<Entry, Failure>(
    _ name: String, next: () throws(Failure) -> Entry?, limit: Int64?, log: Log,
    cursor: (Entry) -> String, encode: (Entry) -> JSONValue
  ) throws(Failure) -> JSONObject {
    var values: [JSONValue] = []
    var size = 0
    var last: Entry?
    while let entry = try next() {
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

  /// The same of entries that are there.
  static func page<Entry>(
    _ name: String, _ entries: some Sequence<Entry>, limit: Int64?, log: Log,
    cursor: (Entry) -> String, encode: (Entry) -> JSONValue
  ) -> JSONObject {
    var iterator = entries.makeIterator()
    return page(
      name, next: { iterator.next() }, limit: limit, log: log, cursor: cursor, encode: encode)
  }

  /// The same of entries that are read by the piece.
  ///
  /// - Parameter piece: so many entries that follow this one, or the request's cursor; fewer at the end.
  static func page<Entry>(
    _ name: String, limit: Int64?, log: Log, cursor: (Entry) -> String,
    encode: (Entry) -> JSONValue, piece: (Entry?, Int) throws(Problem) -> [Entry]
  ) throws(Problem) -> JSONObject {
    // One more than fits shows whether there is a next page.
    let count = Int(min(limit ?? 100, 100)) + 1
    var entries: [Entry] = []
    var index = 0
    var isLast = false
    return try page(
      name,
      next: { () throws(Problem) in
        if index == entries.count, !isLast {
          entries = try piece(entries.last, count)
          index = 0
          isLast = entries.count < count
        }
        defer { index += 1 }
        return index < entries.count ? entries[index] : nil
      }, limit: limit, log: log, cursor: cursor, encode: encode)
  }
}
