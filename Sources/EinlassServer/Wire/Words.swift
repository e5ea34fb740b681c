internal import Einlass

/// The language of the words that a person reads in a prompt.
public enum PromptLanguage: Sendable {
  case english
  /// English with an accent on each letter, in brackets: it shows a front end that has words of its
  /// own, or reads those of the server.
  case pseudo
}

/// A text of a prompt: words of the server, and texts of other programs and servers. An interpolated
/// text is one of those. It stands in quotation marks, without controls, and cut.
struct Words: ExpressibleByStringInterpolation {
  /// The length of a label and of a quoted text in characters.
  static let limit = 64

  fileprivate enum Piece {
    case own(String)
    case foreign(String)
  }

  private var pieces: [Piece]

  init(stringLiteral: String) { pieces = [.own(stringLiteral)] }
  init(stringInterpolation: Interpolation) { pieces = stringInterpolation.pieces }
  /// Makes a text that another program or server has chosen, without quotation marks.
  init(foreign text: String) { pieces = [.foreign(presentable(text))] }

  struct Interpolation: StringInterpolationProtocol {
    fileprivate var pieces: [Piece] = []

    init(literalCapacity: Int, interpolationCount: Int) {}
    mutating func appendLiteral(_ literal: String) { pieces.append(.own(literal)) }
    mutating func appendInterpolation(_ words: Words) { pieces += words.pieces }
    mutating func appendInterpolation(_ foreign: String) {
      appendInterpolation(whole: shortened(presentable(foreign)))
    }
    /// Appends an address, a path or a permission, whose end matters too. More than 2 KiB are cut.
    mutating func appendInterpolation(whole foreign: String) {
      // A quotation mark within the text must not look like its end. It is one with a combining mark
      // too, and then it is another character, but the same scalar.
      var scalars = String.UnicodeScalarView()
      for scalar in presentable(foreign).unicodeScalars {
        scalars.append(scalar == "“" || scalar == "”" ? "\"" : scalar)
      }
      pieces.append(.foreign("“\(String(scalars))”"))
    }
  }

  /// Returns the texts, one after the other.
  static func joined(_ all: [Words], by separator: String) -> Words {
    var result = Words(stringLiteral: "")
    for (index, words) in all.enumerated() {
      if index > 0 { result.pieces.append(.own(separator)) }
      result.pieces += words.pieces
    }
    return result
  }

  func text(in language: PromptLanguage) -> String {
    let parts = pieces.map { piece in
      switch piece {
      case .own(let text): language == .pseudo ? accented(text) : text
      case .foreign(let text): text
      }
    }
    let isOwn = pieces.contains { if case .own(let text) = $0 { !text.isEmpty } else { false } }
    let text = parts.joined()
    return language == .pseudo && isOwn ? "[\(text)]" : text
  }

  func label(in language: PromptLanguage) -> String { shortened(text(in: language)) }
}

private func shortened(_ text: String) -> String {
  text.count <= Words.limit ? text : "\(text.prefix(Words.limit - 1))…"
}

/// Returns the text with an accent on each letter.
private func accented(_ text: String) -> String {
  let accents: [(Character, [Character])] = [
    ("a", Array("áƀćďéƒǵĥíĵķĺḿńóṕɋŕśţúṽŵẋýź")), ("A", Array("ÁɃĆĎÉƑǴĤÍĴĶĹḾŃÓṔɊŔŚŢÚṼŴẊÝŹ")),
  ]
  return String(
    text.map { letter in
      for (first, accented) in accents {
        guard let ascii = letter.asciiValue, let start = first.asciiValue else { continue }
        if (start..<start + 26).contains(ascii) { return accented[Int(ascii - start)] }
      }
      return letter
    })
}
