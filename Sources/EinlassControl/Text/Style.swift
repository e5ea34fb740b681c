internal import EinlassSystem

/// How text is set off: by colours, or not at all.
struct Style {
  /// What a piece of text says.
  enum Tint: String {
    case heading = "1"
    case good = "32"
    case warning = "33"
    case bad = "31"
    case faint = "2"
  }

  var isColoured: Bool

  /// Colours for a terminal behind this descriptor, unless the person wants none.
  init(for descriptor: Int32) {
    isColoured =
      Terminal.isTerminal(descriptor) && Environment.value("NO_COLOR") == nil
      && Environment.value("TERM") != "dumb"
  }

  /// Colours or none.
  init(isColoured: Bool) { self.isColoured = isColoured }

  /// The text in this tint.
  func tinted(_ text: String, _ tint: Tint?) -> String {
    guard isColoured, let tint, !text.isEmpty else { return text }
    return "\u{1B}[\(tint.rawValue)m\(text)\u{1B}[0m"
  }
}
