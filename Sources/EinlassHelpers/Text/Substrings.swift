extension String {
  /// Returns the offsets in bytes at which a text begins.
  package func places(of text: String) -> [Int] {
    let (bytes, pattern) = (Array(utf8), Array(text.utf8))
    return bytes.indices.filter { bytes[$0...].starts(with: pattern) }
  }

  /// Replaces byte sequences, not characters. `inPlaceOf` must not be empty.
  package func putting(_ new: String, inPlaceOf old: String) -> String {
    let (bytes, pattern) = (Array(utf8), Array(old.utf8))
    var result: [UInt8] = []
    var index = 0
    while index < bytes.count {
      if bytes[index...].starts(with: pattern) {
        result += new.utf8
        index += pattern.count
      } else {
        result.append(bytes[index])
        index += 1
      }
    }
    return String(decoding: result, as: UTF8.self)
  }
}
