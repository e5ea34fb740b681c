/// Rows under headings, set so that they fit a width.
struct Table {
  /// One place in a table; what is in it is cleaned.
  struct Cell: ExpressibleByStringLiteral {
    var text: String
    var tint: Style.Tint?

    init(_ text: String?, _ tint: Style.Tint? = nil) {
      self.text = clean(text ?? "")
      self.tint = tint
    }

    init(stringLiteral value: String) { self.init(value) }
  }

  /// What stands above a column.
  struct Heading: ExpressibleByStringLiteral {
    var text: String
    /// Never cut: an id is of no use without its end.
    var isWhole = false

    init(stringLiteral value: String) { text = value }
    init(_ text: String, isWhole: Bool) { (self.text, self.isWhole) = (text, isWhole) }
  }

  var headings: [Heading]
  var rows: [[Cell]]

  private static let gap = 2
  private static let narrowest = 6

  /// Its lines. Where the width is too small for columns, every row becomes lines of `heading: value`.
  ///
  /// - Parameter width: columns of the terminal; `nil` cuts nothing.
  func lines(width: Int?, style: Style) -> [String] {
    let used = headings.indices.filter { column in rows.contains { !$0[column].text.isEmpty } }
    guard let widths = widths(of: used, fitting: width) else { return records(used, width, style) }
    let heading = line(used.map { Cell(headings[$0].text, .heading) }, widths, style)
    return [heading] + rows.map { row in line(used.map { row[$0] }, widths, style) }
  }

  /// Its rows as lines to choose from, without headings and without the last so many columns.
  func choices(leavingOut count: Int = 0) -> [String] {
    Table(
      headings: headings.dropLast(count).map { _ in "" }, rows: rows.map { $0.dropLast(count) }
    ).lines(width: nil, style: Style(isColoured: false)).dropFirst().map { $0 }
  }

  /// How wide each of these columns becomes: the widest gives first. `nil` when that is not enough.
  private func widths(of used: [Int], fitting width: Int?) -> [Int]? {
    var widths = used.map { column in
      rows.reduce(headings[column].text.columns) { max($0, $1[column].text.columns) }
    }
    guard let width else { return widths }
    let room = width - Self.gap * max(0, widths.count - 1)
    while widths.reduce(0, +) > room {
      let givers = widths.indices.filter {
        !headings[used[$0]].isWhole
          && widths[$0] > max(Self.narrowest, headings[used[$0]].text.columns)
      }
      guard let widest = givers.max(by: { widths[$0] < widths[$1] }) else { return nil }
      widths[widest] -= 1
    }
    return widths
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

  private func records(_ used: [Int], _ width: Int?, _ style: Style) -> [String] {
    rows.enumerated().flatMap { number, row in
      (number == 0 ? [] : [""])
        + used.filter { !row[$0].text.isEmpty }.map { column in
          let name = "\(headings[column].text): "
          let room = headings[column].isWhole ? Int.max : max(1, (width ?? .max) - name.columns)
          return name + style.tinted(row[column].text.cut(to: room), row[column].tint)
        }
    }
  }
}
