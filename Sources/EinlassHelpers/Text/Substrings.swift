extension String {
  /// Whether the text holds another, compared by bytes: the standard library's search would add a
  /// megabyte to `einlass`.
  package func holds(_ text: String) -> Bool {
    let (bytes, pattern) = (Array(utf8), Array(text.utf8))
    return bytes.indices.contains { bytes[$0...].starts(with: pattern) }
  }
}
