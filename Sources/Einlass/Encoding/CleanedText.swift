/// A provider's text made fit for a screen: no controls, no line or direction marks, at most so many bytes.
func cleaned(_ text: String, limitBytes: Int = 1024) -> String {
  var kept = String.UnicodeScalarView()
  var count = 0
  for scalar in text.unicodeScalars where !isControl(scalar) {
    count += UTF8.width(scalar)
    guard count <= limitBytes else { break }
    kept.append(scalar)
  }
  return String(kept)
}

/// Whether a text can identify something: 1 to 256 bytes without controls. Protocol section 1.
func isIdentifier(_ text: String) -> Bool {
  (1...256).contains(text.utf8.count) && !text.unicodeScalars.contains(where: isControl)
}

/// Every occurrence of a part replaced, compared as bytes.
func replacing(_ part: String, in text: String, with replacement: String) -> String {
  let text = Array(text.utf8)
  let part = Array(part.utf8)
  guard !part.isEmpty else { return String(decoding: text, as: UTF8.self) }
  var result: [UInt8] = []
  var index = 0
  while index < text.count {
    if text[index...].starts(with: part) {
      result += replacement.utf8
      index += part.count
    } else {
      result.append(text[index])
      index += 1
    }
  }
  return String(decoding: result, as: UTF8.self)
}

/// Controls of either set, line and paragraph separators, and what reorders or hides text.
private func isControl(_ scalar: Unicode.Scalar) -> Bool {
  switch scalar.value {
  case 0x00...0x1F, 0x7F...0x9F, 0x061C, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x2069, 0xFEFF:
    true
  default: false
  }
}
