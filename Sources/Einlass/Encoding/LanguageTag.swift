/// The language of a person: `de`, `pt-BR`, `zh-Hant-TW`. RFC 5646.
public struct LanguageTag: Sendable, Equatable {
  /// The tag as it was given.
  public let text: String

  /// Returns `nil` for a text that is no language tag of at most 64 bytes. Only its form is checked:
  /// a language of two to eight letters, then parts of one to eight letters or digits.
  public init?(_ text: String) {
    let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    guard text.utf8.count <= 64, let language = parts.first, language.count >= 2,
      language.allSatisfy(isLetter),
      parts.allSatisfy({ part in
        (1...8).contains(part.count) && part.allSatisfy { isLetter($0) || isDigit($0) }
      })
    else { return nil }
    self.text = text
  }
}

private func isLetter(_ byte: UInt8) -> Bool {
  (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
}

private func isDigit(_ byte: UInt8) -> Bool {
  (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
}
