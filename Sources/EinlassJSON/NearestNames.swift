/// Returns the names that a misspelt one may mean, the nearest first, at most three. A name counts
/// with one change for each three bytes of the misspelt one: a byte more, less, another, or two
/// exchanged. A beginning of three bytes or more counts as one change. A name with two changes more than
/// the nearest one is left out.
public func nearestNames(to name: String, among names: [String]) -> [String] {
  let typed = lowered(name)
  let limit = max(1, typed.count / 3)
  guard (2...64).contains(typed.count) else { return [] }
  let near = names.map { ($0, changes(from: typed, to: lowered($0))) }.filter { $0.1 <= limit }
  let least = near.map(\.1).min() ?? 0
  return near.filter { $0.1 <= least + 1 }.sorted { $0.1 < $1.1 }.prefix(3).map(\.0)
}

private func lowered(_ text: String) -> [UInt8] {
  text.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
}

/// Returns the number of changes (optimal string alignment).
private func changes(from typed: [UInt8], to name: [UInt8]) -> Int {
  if typed.count >= 3, name.starts(with: typed) { return min(1, name.count - typed.count) }
  var (above, row) = ([Int](), Array(0...name.count))
  for (line, byte) in typed.enumerated() {
    var next = [line + 1]
    for (column, other) in name.enumerated() {
      var least = min(row[column] + (byte == other ? 0 : 1), row[column + 1] + 1, next[column] + 1)
      if line > 0, column > 0, byte == name[column - 1], typed[line - 1] == other {
        least = min(least, above[column - 1] + 1)
      }
      next.append(least)
    }
    (above, row) = (row, next)
  }
  return row[name.count]
}
