internal import EinlassHelpers

/// Rows under headings, fitted to a width.
struct Table {
  /// A cell. Its text is cleaned for a terminal.
  struct Cell: ExpressibleByStringLiteral {
    var text: String
    var tint: Style.Tint?

    init(_ text: String?, _ tint: Style.Tint? = nil) {
      self.text = clean(text ?? "")
      self.tint = tint
    }

    init(stringLiteral value: String) { self.init(value) }
  }

  /// A column's heading.
  struct Heading: ExpressibleByStringLiteral {
    var text: String
    /// Whether the column is never narrowed, because an id, for example, is useless without its
    /// end.
    var isWhole = false

    init(stringLiteral value: String) { text = value }
    init(_ text: String, isWhole: Bool) { (self.text, self.isWhole) = (text, isWhole) }
  }

  var headings: [Heading]
  var rows: [[Cell]]

  private static let gap = 2
  /// The least width of a column with cut words.
  private static let longWord = 12

  /// Returns the table's lines. A text wider than its column is wrapped at blanks. If the width is
  /// too small for columns, each row becomes lines of `heading: value`.
  ///
  /// - Parameter width: columns of the terminal; `nil` for no limit.
  func lines(width: Int?, style: Style) -> [String] {
    let used = headings.indices.filter { column in rows.contains { !$0[column].text.isEmpty } }
    guard let widths = widths(of: used, fitting: width) else { return records(used, width, style) }
    let heading = line(used.map { Cell(headings[$0].text, .heading) }, widths, style)
    return [heading] + rows.flatMap { row in lines(of: used.map { row[$0] }, widths, style) }
  }

  /// Returns the rows as lines for a picker, without headings and without the last `count` columns.
  func choices(leavingOut count: Int = 0) -> [String] {
    Table(
      headings: headings.dropLast(count).map { _ in "" }, rows: rows.map { $0.dropLast(count) }
    ).lines(width: nil, style: Style(isColoured: false)).dropFirst().map { $0 }
  }

  /// Returns the width of each column: that of its widest cell if there is room, else that of its
  /// longest word, else a width that cuts words. `nil` if the table is still too wide.
  private func widths(of used: [Int], fitting width: Int?) -> [Int]? {
    let widths = used.map { widest($0, \.columns) }
    guard let width else { return widths }
    let words = zip(used, widths).map { column, width in
      headings[column].isWhole ? width : widest(column, \.longestWord)
    }
    let cut = zip(used, words).map { column, width in
      headings[column].isWhole
        ? width : min(width, max(Self.longWord, headings[column].text.columns))
    }
    let room = width - Self.gap * max(0, widths.count - 1)
    return shrunk(widths, to: words, room) ?? shrunk(words, to: cut, room)
  }

  private func widest(_ column: Int, _ measure: (String) -> Int) -> Int {
    rows.reduce(headings[column].text.columns) { max($0, measure($1[column].text)) }
  }

  /// Narrows the widest column again and again until the table fits. No column gets narrower than
  /// its least width.
  private func shrunk(_ widths: [Int], to least: [Int], _ room: Int) -> [Int]? {
    guard least.reduce(0, +) <= room else { return nil }
    var widths = widths
    while widths.reduce(0, +) > room {
      let givers = widths.indices.filter { widths[$0] > least[$0] }
      guard let widest = givers.max(by: { widths[$0] < widths[$1] }) else { return nil }
      widths[widest] -= 1
    }
    return widths
  }

  /// Returns a row as lines, as many as its tallest cell needs.
  private func lines(of cells: [Cell], _ widths: [Int], _ style: Style) -> [String] {
    let wrapped = zip(cells, widths).map { $0.text.wrapped(to: $1) }
    return (0..<(wrapped.map(\.count).max() ?? 0)).map { number in
      line(
        zip(cells, wrapped).map { Cell(number < $1.count ? $1[number] : "", $0.tint) }, widths,
        style)
    }
  }

  private func line(_ cells: [Cell], _ widths: [Int], _ style: Style) -> String {
    var line = ""
    for (index, (cell, width)) in zip(cells, widths).enumerated() {
      let text = cell.text.cut(to: width)
      line += style.tinted(text, cell.tint)
      guard index < cells.count - 1, cells[(index + 1)...].contains(where: { !$0.text.isEmpty })
      else { break }
      line += String(repeating: " ", count: width - text.columns + Self.gap)
    }
    return line
  }

  /// Returns the rows as lines of `heading: value`. A word wider than the terminal is not cut,
  /// because its end would not be visible anywhere.
  private func records(_ used: [Int], _ width: Int?, _ style: Style) -> [String] {
    rows.enumerated().flatMap { number, row in
      (number == 0 ? [] : [""])
        + used.filter { !row[$0].text.isEmpty }.flatMap { column in
          labelled("\(headings[column].text): ", row[column].text, width) {
            style.tinted($0, row[column].tint)
          }
        }
    }
  }
}

/// Returns a text behind its label, wrapped to the width. Later lines begin below the text's
/// beginning.
func labelled(
  _ label: String, _ text: String, _ width: Int?, _ tinted: (String) -> String = { $0 }
) -> [String] {
  let room = width.map { max(1, $0 - label.columns) } ?? .max
  return text.wrapped(to: room).enumerated().map { number, line in
    (number == 0 ? label : String(repeating: " ", count: label.columns)) + tinted(line)
  }
}
