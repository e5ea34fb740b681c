internal import EinlassSystem

/// The colours of text on an output, or none.
package struct Style {
  /// The meaning of a text. The raw value is a parameter of SGR (ECMA-48 8.3.117).
  package enum Tint: String {
    case heading = "1"
    case good = "32"
    case warning = "33"
    case bad = "31"
    case faint = "2"
  }

  package var isColoured: Bool

  /// Chooses colours for a terminal, unless `NO_COLOR` is set or the terminal is dumb.
  package init(for descriptor: Int32) {
    isColoured =
      Terminal.isTerminal(descriptor) && Environment.value("NO_COLOR") == nil
      && Environment.value("TERM") != "dumb"
  }

  package init(isColoured: Bool) { self.isColoured = isColoured }

  /// Returns the text in this tint.
  package func tinted(_ text: String, _ tint: Tint?) -> String {
    guard isColoured, let tint, !text.isEmpty else { return text }
    return "\u{1B}[\(tint.rawValue)m\(text)\u{1B}[0m"
  }
}
