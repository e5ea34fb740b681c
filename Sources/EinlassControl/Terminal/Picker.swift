internal import EinlassHelpers

/// A list with one current row, selected by arrow keys, by row number or by a part of the row's
/// text.
struct Picker {
  /// The effect of a key.
  enum Outcome: Equatable {
    case goesOn, chosen, cancelled
  }

  let rows: [String]
  /// The typed text: a row number, or a part of the wanted row's text.
  private(set) var typed = ""
  /// The index of the current row among the shown rows.
  private var place = 0

  /// Creates a picker for one row or more.
  init(_ rows: [String]) { self.rows = rows }

  /// The index of the row that Enter chooses; `nil` if no row contains the typed text.
  var current: Int? { shown.isEmpty ? nil : shown[place] }

  /// Handles a key.
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

  /// Returns the lines to draw: as many rows around the current one as fit, and the typed text.
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

  /// The indices of the rows that contain the typed text; of all rows if the text is a row number.
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

  /// Returns the row number in the text; `nil` if it is not one.
  private func number(_ text: String) -> Int? {
    Int(text).flatMap { $0 > 0 && $0 <= rows.count ? $0 : nil }
  }

  private func holds(_ text: [UInt8], _ wanted: [UInt8]) -> Bool {
    guard wanted.count <= text.count else { return false }
    return (0...text.count - wanted.count).contains { text[$0...].starts(with: wanted) }
  }
}
