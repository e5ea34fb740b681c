/// Whether a text can name something without fooling the eye or a line reader: 1 to 256 bytes, not blank, no controls,
/// and nothing that makes two of two that look alike. Protocol section 1.
public func isIdentifier(_ text: String) -> Bool {
  isName(text) && !text.unicodeScalars.contains(where: isJoiner)
}

/// Whether a text can be shown as somebody's name: 1 to 256 bytes, not blank, no controls. Persian, the scripts of India
/// and families of emoji need joiners.
public func isName(_ text: String) -> Bool {
  (1...256).contains(text.utf8.count) && !text.unicodeScalars.contains(where: isControl)
    && !text.unicodeScalars.allSatisfy { $0.properties.isWhitespace || isJoiner($0) }
}

/// What joins the letters around it, or keeps them from joining, and has no width of its own.
public func isJoiner(_ scalar: Unicode.Scalar) -> Bool { 0x200C...0x200D ~= scalar.value }

/// Controls of either set, line and paragraph separators, and what reorders or hides text; joiners are none.
public func isControl(_ scalar: Unicode.Scalar) -> Bool {
  switch scalar.value {
  case 0x00...0x1F, 0x7F...0x9F, 0x061C, 0x200B, 0x200E...0x200F, 0x2028...0x202E, 0x2060...0x2069,
    0xFEFF:
    true
  default: false
  }
}
