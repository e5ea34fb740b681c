package import EinlassJSON

/// Returns foreign text with U+FFFD in place of each character that could steer a terminal, hide
/// text or reverse its direction.
package func clean(_ text: String) -> String {
  guard text.unicodeScalars.contains(where: isUnprintable) else { return text }
  var cleaned = String.UnicodeScalarView()
  for scalar in text.unicodeScalars { cleaned.append(isUnprintable(scalar) ? "\u{FFFD}" : scalar) }
  return String(cleaned)
}

/// Returns JSON with such characters written as escapes: the same value, safe on a terminal.
package func printable(_ json: JSONValue) -> String {
  var printed = ""
  for scalar in json.text.unicodeScalars {
    if isUnprintable(scalar) {
      for unit in UTF16.encode(scalar)! { printed += "\\u" + hexadecimal(unit) }
    } else {
      printed.unicodeScalars.append(scalar)
    }
  }
  return printed
}

private func hexadecimal(_ unit: UInt16) -> String {
  let digits = String(unit, radix: 16)
  return String(repeating: "0", count: 4 - digits.utf8.count) + digits
}

private func isUnprintable(_ scalar: Unicode.Scalar) -> Bool {
  if (0x20...0x7E).contains(scalar.value) || isJoiner(scalar) { return false }
  if isControl(scalar) { return true }
  return switch scalar.properties.generalCategory {
  case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate: true
  default: false
  }
}
