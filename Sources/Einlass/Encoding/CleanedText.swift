internal import EinlassJSON

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

/// A text of a store as it may stand on a screen. What no einlass wrote loses what could fill a line or turn text around,
/// and ends in an ellipsis.
package func presentable(_ text: String, limitBytes: Int = 2048) -> String {
  text.utf8.count <= limitBytes && !text.unicodeScalars.contains(where: isControl)
    ? text : cleaned(text, limitBytes: min(limitBytes, 1024)) + "…"
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
