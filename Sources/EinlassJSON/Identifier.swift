/// Whether a text can name something without fooling the eye or a line reader: 1 to 256 bytes, no controls, not
/// blank. Protocol section 1.
public func isIdentifier(_ text: String) -> Bool {
  (1...256).contains(text.utf8.count) && !text.unicodeScalars.contains(where: isControl)
    && !text.unicodeScalars.allSatisfy(\.properties.isWhitespace)
}

/// Controls of either set, line and paragraph separators, and what reorders or hides text.
public func isControl(_ scalar: Unicode.Scalar) -> Bool {
  switch scalar.value {
  case 0x00...0x1F, 0x7F...0x9F, 0x061C, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x2069, 0xFEFF:
    true
  default: false
  }
}
