internal import Einlass

/// The check of a request head at the redirect address.
enum RedirectRequest {
  /// The maximum size of a head.
  static let limitBytes = 16 << 10

  /// The result of the check.
  enum Verdict: Equatable {
    /// The head is not complete yet.
    case incomplete
    /// An authorization response, with its query.
    case answer(String)
    /// Any other request, to be answered with this status.
    case refused(Int)
  }

  /// Checks the bytes received so far. Only `GET` of `path` for exactly this host, without a body,
  /// is an authorization response. A prefetch gets a 503, so that the browser sends the request
  /// again when the person opens the page.
  static func verdict(on bytes: [UInt8], path: String, host: String) -> Verdict {
    guard let end = endOfHead(bytes) else {
      return bytes.count >= limitBytes ? .refused(431) : .incomplete
    }
    guard end <= limitBytes else { return .refused(431) }
    guard let text = String(validating: bytes[..<end], as: UTF8.self) else { return .refused(400) }
    var lines = text.split(separator: "\r\n", omittingEmptySubsequences: true)[...]
    let words = lines.popFirst()?.split(separator: " ", omittingEmptySubsequences: false) ?? []
    guard words.count == 3, words[2].hasPrefix("HTTP/1.") else { return .refused(400) }
    var fields: [(name: String, value: String)] = []
    for line in lines {
      // Search bytes, because a colon with a combining accent is another `Character`.
      guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else {
        return .refused(400)
      }
      fields.append(
        (line[..<colon].lowercased(), trimmed(line[line.utf8.index(after: colon)...])))
    }
    func values(_ name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }
    // Another name would let pages of other sites reach this listener (DNS rebinding).
    guard values("host") == [host] else { return .refused(421) }
    let (target, query) = parts(String(words[1]))
    guard target.utf8.elementsEqual(path.utf8) else { return .refused(404) }
    guard words[0] == "GET" else { return .refused(405) }
    guard values("content-length").allSatisfy({ $0 == "0" }), values("transfer-encoding").isEmpty
    else { return .refused(400) }
    let purposes = values("sec-purpose") + values("purpose") + values("x-moz")
    guard !purposes.contains(where: isPrefetch) else {
      return .refused(503)
    }
    return .answer(query)
  }

  private static func endOfHead(_ bytes: [UInt8]) -> Int? {
    let mark = Array("\r\n\r\n".utf8)
    guard bytes.count >= mark.count else { return nil }
    return (0...(bytes.count - mark.count)).first {
      bytes[$0..<($0 + mark.count)].elementsEqual(mark)
    }
  }

  private static func parts(_ target: String) -> (path: String, query: String) {
    let halves = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    return (String(halves[0]), halves.count > 1 ? String(halves[1]) : "")
  }

  private static func trimmed(_ text: Substring) -> String {
    let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
    return String(text.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
  }
}

/// Whether a purpose header contains the word `prefetch`. Splits into words, because a substring
/// search would link the regular expression library.
private func isPrefetch(_ purpose: String) -> Bool {
  purpose.lowercased().split { !$0.isLetter }.contains("prefetch")
}
