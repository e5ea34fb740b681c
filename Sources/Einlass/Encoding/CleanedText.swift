internal import EinlassJSON

/// Returns a provider's text safe for display: without controls, line separators and direction
/// marks, at most `limitBytes` of UTF-8.
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

/// Returns a stored text safe for display. A text that einlass would not have written is cleaned,
/// shortened and marked with an ellipsis.
package func presentable(_ text: String, limitBytes: Int = 2048) -> String {
  text.utf8.count <= limitBytes && !text.unicodeScalars.contains(where: isControl)
    ? text : cleaned(text, limitBytes: min(limitBytes, 1024)) + "…"
}

/// Returns the text with every occurrence of a part replaced. Compares bytes.
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
