internal import EinlassHelpers
internal import EinlassSystem
internal import Glibc

/// Writes a text to standard error, broken at words if that is a terminal.
func complain(_ text: String) {
  EinlassHelpers.complain(fitted(text, to: Terminal.size(of: STDERR_FILENO)?.columns))
}

/// Returns a text whose lines are broken at words; unchanged for `nil`, so that a program reads whole
/// lines.
func fitted(_ text: String, to columns: Int?) -> String {
  guard let columns else { return text }
  return text.split(separator: "\n", omittingEmptySubsequences: false)
    .flatMap { String($0).fitted(to: columns) }.joined(separator: "\n")
}

extension String {
  /// Returns the line as lines of at most `columns` columns. A wider word stays whole, and so does a
  /// command of einlassctl at the end, on a line of its own, because it is copied.
  func fitted(to columns: Int) -> [String] {
    guard self.columns > columns else { return [self] }
    let margin = String(prefix { $0 == " " })
    let room = columns - margin.count
    let mark = ": einlassctl "
    let place = indices.last { self[$0...].hasPrefix(mark) }
    guard let place, !self[place...].contains(". ") else {
      return wrapped(to: room).map { margin + $0 }
    }
    return String(self[...place]).wrapped(to: room).map { margin + $0 }
      + ["\(margin)  \(self[place...].dropFirst(2))"]
  }
}
