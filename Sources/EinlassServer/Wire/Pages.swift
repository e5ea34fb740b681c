internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// Splits a list into answers that fit the limit of an outbound line.
enum Pages {
  /// The size of the entries of a page in bytes. The rest of the 60 KiB of a line is left for the
  /// envelope.
  static let limitBytes = 56 * 1024

  /// Returns as many entries as fit. An entry larger than a page is left out and logged; it can
  /// only come from a file edited by another program.
  ///
  /// - Parameters:
  ///   - next: Returns the next entry after the request's cursor.
  ///   - limit: The largest number of entries.
  ///   - cursor: Returns the cursor for the position after an entry.
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
          "An entry of \(name) is too long for a line of the protocol and was left out: \(cursor(entry))"
        )
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

  /// Returns a page of entries that are in memory.
  static func page<Entry>(
    _ name: String, _ entries: some Sequence<Entry>, limit: Int64?, log: Log,
    cursor: (Entry) -> String, encode: (Entry) -> JSONValue
  ) -> JSONObject {
    var iterator = entries.makeIterator()
    return page(
      name, next: { iterator.next() }, limit: limit, log: log, cursor: cursor, encode: encode)
  }

  /// Returns a page of entries that are read in pieces.
  ///
  /// - Parameter piece: Returns up to this number of entries after this entry, or after the
  ///   request's cursor. It returns fewer only at the end.
  static func page<Entry>(
    _ name: String, limit: Int64?, log: Log, cursor: (Entry) -> String,
    encode: (Entry) -> JSONValue, piece: (Entry?, Int) throws(Problem) -> [Entry]
  ) throws(Problem) -> JSONObject {
    // One entry more than the limit shows whether there is a next page.
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
