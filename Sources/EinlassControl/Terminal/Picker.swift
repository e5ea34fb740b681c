/// A list of which one row is chosen, by arrow keys or by its number.
struct Picker {
  /// What a key came to.
  enum Outcome: Equatable {
    case goesOn, chosen, cancelled
  }

  let rows: [String]
  /// The index of the row that Enter takes.
  private(set) var current = 0
  private var digits = ""

  /// One row at least.
  init(_ rows: [String]) { self.rows = rows }

  /// What this key does.
  mutating func press(_ key: Key) -> Outcome {
    switch key {
    case .enter: return .chosen
    case .cancel, .character("q"): return .cancelled
    case .up: current = (current + rows.count - 1) % rows.count
    case .down: current = (current + 1) % rows.count
    case .character(let digit) where digit.isASCII && digit.isNumber:
      type(digit)
      return .goesOn
    default: break
    }
    digits = ""
    return .goesOn
  }

  /// What is shown: as many rows around the current one as fit.
  func lines(columns: Int, rows limit: Int) -> [String] {
    let count = min(rows.count, max(1, limit))
    let first = min(max(0, current - count / 2), rows.count - count)
    let places = String(rows.count).utf8.count
    return (first..<first + count).map { index in
      let number = String(index + 1)
      let blanks = String(repeating: " ", count: places - number.utf8.count)
      return "\(index == current ? ">" : " ") \(blanks)\(number)  \(rows[index])".cut(to: columns)
    }
  }

  /// A number goes on with this digit, or starts with it where that would be none of the rows.
  private mutating func type(_ digit: Character) {
    for text in [digits + String(digit), String(digit)] {
      guard let number = Int(text), rows.indices.contains(number - 1) else { continue }
      (digits, current) = (text, number - 1)
      return
    }
  }
}
