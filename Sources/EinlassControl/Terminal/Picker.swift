/// A list of which one row is chosen, by arrow keys, by its number, or by some of its text.
struct Picker {
  /// What a key came to.
  enum Outcome: Equatable {
    case goesOn, chosen, cancelled
  }

  let rows: [String]
  /// What was typed: a row's number, or what rows are to hold.
  private(set) var typed = ""
  /// Where the mark is among the rows that hold what was typed.
  private var place = 0

  /// One row at least.
  init(_ rows: [String]) { self.rows = rows }

  /// The index of the row that Enter takes; `nil` where none holds what was typed.
  var current: Int? { shown.isEmpty ? nil : shown[place] }

  /// What this key does.
  mutating func press(_ key: Key) -> Outcome {
    switch key {
    case .enter: return current == nil ? .goesOn : .chosen
    case .cancel: return .cancelled
    case .up: move(by: -1)
    case .down: move(by: 1)
    case .backspace: type(String(typed.dropLast()))
    case .clear: type("")
    case .character(let character): type(typed + String(character))
    case .other: break
    }
    return .goesOn
  }

  /// What is shown: as many rows around the current one as fit, and what was typed.
  func lines(columns: Int, rows limit: Int) -> [String] {
    let count = min(shown.count, max(1, limit - (typed.isEmpty ? 0 : 1)))
    let first = min(max(0, place - count / 2), shown.count - count)
    let places = String(rows.count).utf8.count
    let lines = shown[first..<first + count].map { index in
      let number = String(index + 1)
      let blanks = String(repeating: " ", count: places - number.utf8.count)
      return "\(index == current ? ">" : " ") \(blanks)\(number)  \(rows[index])".cut(to: columns)
    }
    guard !typed.isEmpty else { return lines }
    return lines + [
      "  typed: \(clean(typed))\(shown.isEmpty ? " (nothing holds that)" : "")".cut(to: columns)
    ]
  }

  /// The indices of the rows that hold what was typed; all, where that is a number.
  private var shown: [Int] {
    guard number(typed) == nil else { return Array(rows.indices) }
    let wanted = Array(typed.lowercased().utf8)
    return rows.indices.filter { holds(Array(rows[$0].lowercased().utf8), wanted) }
  }

  private mutating func move(by step: Int) {
    let count = shown.count
    if number(typed) != nil { typed = "" }
    if count > 0 { place = (place + step + count) % count }
  }

  private mutating func type(_ text: String) {
    typed = text
    place = number(text).map { $0 - 1 } ?? 0
  }

  /// The row's number that this is.
  private func number(_ text: String) -> Int? {
    Int(text).flatMap { $0 > 0 && $0 <= rows.count ? $0 : nil }
  }

  private func holds(_ text: [UInt8], _ wanted: [UInt8]) -> Bool {
    guard wanted.count <= text.count else { return false }
    return (0...text.count - wanted.count).contains { text[$0...].starts(with: wanted) }
  }
}
