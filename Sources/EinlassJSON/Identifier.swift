/// Whether a text is acceptable as an identifier: 1 to 256 bytes, not blank, without controls, and
/// without joiners, because they would let two different identifiers look the same.
public func isIdentifier(_ text: String) -> Bool {
  isName(text) && !text.unicodeScalars.contains(where: isJoiner)
}

/// Whether a text is acceptable as a displayed name: 1 to 256 bytes, not blank, without controls.
/// Joiners are allowed, because Persian, Indic scripts and emoji families need them.
public func isName(_ text: String) -> Bool {
  (1...256).contains(text.utf8.count) && !text.unicodeScalars.contains(where: isControl)
    && !text.unicodeScalars.allSatisfy { $0.properties.isWhitespace || isJoiner($0) }
}

/// Whether the scalar is a zero-width joiner or non-joiner (U+200C, U+200D).
public func isJoiner(_ scalar: Unicode.Scalar) -> Bool { 0x200C...0x200D ~= scalar.value }

/// Whether the scalar is a C0 or C1 control, a line or paragraph separator, or reorders or hides
/// text. Joiners are not.
public func isControl(_ scalar: Unicode.Scalar) -> Bool {
  switch scalar.value {
  case 0x00...0x1F, 0x7F...0x9F, 0x061C, 0x200B, 0x200E...0x200F, 0x2028...0x202E, 0x2060...0x2069,
    0xFEFF:
    true
  default: false
  }
}

extension String {
  /// The text without zero-width joiners, so that names that look the same compare equal.
  public var withoutJoiners: String {
    String(UnicodeScalarView(unicodeScalars.filter { !isJoiner($0) }))
  }
}
