extension Character {
  /// The width on a terminal: 0, 1 or 2 columns, after Unicode's East Asian Width and emoji
  /// properties.
  var columns: Int {
    if isASCII { return 1 }
    if unicodeScalars.contains("\u{FE0F}") { return 2 }
    return unicodeScalars.map(\.columns).max() ?? 0
  }
}

extension String {
  /// The width on a terminal in columns, without the escape sequences of a tint.
  var columns: Int {
    var isSequence = false
    return reduce(0) { sum, character in
      if character == "\u{1B}" { isSequence = true }
      defer { if character == "m" { isSequence = false } }
      return isSequence ? sum : sum + character.columns
    }
  }

  /// Returns the beginning of the text in at most `columns` columns, with an ellipsis if it was
  /// cut.
  func cut(to columns: Int) -> String {
    guard self.columns > columns else { return self }
    guard columns > 0 else { return "" }
    var kept = ""
    var rest = columns - 1
    for character in self {
      rest -= character.columns
      guard rest >= 0 else { break }
      kept.append(character)
    }
    return kept + "…"
  }

  /// The width of the widest word in columns.
  var longestWord: Int { split(separator: " ").reduce(0) { max($0, String($1).columns) } }

  /// Returns lines of at most `columns` columns, broken at blanks. A wider word gets a line of its
  /// own.
  func wrapped(to columns: Int) -> [String] {
    guard self.columns > columns else { return [self] }
    var lines: [String] = []
    for word in split(separator: " ", omittingEmptySubsequences: false) {
      if let line = lines.last, line.columns + 1 + String(word).columns <= columns {
        lines[lines.count - 1] += " \(word)"
      } else {
        lines.append(String(word))
      }
    }
    return lines
  }

  /// Returns the text with blanks behind it, at least `columns` columns wide.
  func padded(to columns: Int) -> String {
    self + String(repeating: " ", count: max(0, columns - self.columns))
  }
}

extension Unicode.Scalar {
  fileprivate var columns: Int {
    switch properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format, .control: return 0
    default: break
    }
    if properties.isEmojiPresentation { return 2 }
    switch value {
    case 0x1160...0x11FF: return 0  // vowels and finals of Hangul join the syllable before them
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF,
      0xA000...0xA4CF, 0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
      0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F900...0x1F9FF, 0x20000...0x3FFFD:
      return 2
    default: return 1
    }
  }
}
