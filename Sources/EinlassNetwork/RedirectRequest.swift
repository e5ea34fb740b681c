import Einlass

/// The check of a request at the redirect address.
enum RedirectRequest {
  /// The maximum size of a head. Browsers send the cookies of a host to each of its ports.
  static let headLimitBytes = 64 << 10
  /// The path at which another process asks what the port is. It is no path of a sign-in.
  static let probePath = "/.well-known/einlass"

  /// The result of the check.
  enum Verdict: Equatable {
    /// The request is not complete yet.
    case incomplete
    /// The response of a provider at one of the places.
    case answer(RedirectPlace, RedirectParameters)
    /// A page whose fragment may hold the response.
    case fragment
    /// Any other request, to be answered with this status.
    case refused(Int)
  }

  /// Checks the bytes received so far. Only a `GET` or a posted form for exactly the host and path of
  /// a place is a response. A prefetch gets a 503, so that the browser sends the request again when
  /// the person opens the page.
  static func verdict(on bytes: [UInt8], at places: [RedirectPlace], port: UInt16) -> Verdict {
    guard let end = endOfHead(bytes) else {
      return bytes.count >= headLimitBytes ? .refused(431) : .incomplete
    }
    guard end <= headLimitBytes else { return .refused(431) }
    // The cookies of other programs may have any bytes (RFC 9110 section 5.5).
    let text = String(decoding: bytes[..<end], as: UTF8.self)
    guard let head = Head(text) else { return .refused(400) }
    // The other process does not know the host.
    guard head.path != probePath else { return .refused(404) }
    // Another name would let pages of other sites reach this listener (DNS rebinding).
    let here = places.filter { head["host"] == [$0.authority(port: port)] }
    guard !here.isEmpty else { return .refused(421) }
    let ours = here.filter { $0.path.utf8.elementsEqual(head.path.utf8) }
    guard let place = ours.first else { return .refused(404) }
    switch head.method {
    case "GET":
      guard head["content-length"].allSatisfy({ $0 == "0" }), head["transfer-encoding"].isEmpty
      else { return .refused(400) }
      let purposes = head["sec-purpose"] + head["purpose"] + head["x-moz"]
      guard !purposes.contains(where: isPrefetch) else { return .refused(503) }
      guard head.query != nil || !ours.contains(where: \.takesFragment) else { return .fragment }
      return .answer(place, RedirectParameters(head.query ?? ""))
    case "POST": return form(head, bytes[(end + endMark.count)...], at: place)
    default: return .refused(405)
    }
  }

  /// Checks a posted form. OAuth 2.0 Form Post Response Mode.
  private static func form(
    _ head: Head, _ body: ArraySlice<UInt8>, at place: RedirectPlace
  ) -> Verdict {
    guard head.query == nil else { return .refused(400) }
    guard isForm(head["content-type"]) else { return .refused(415) }
    let lengths = head["content-length"]
    guard lengths.count == 1, head["transfer-encoding"].isEmpty else { return .refused(411) }
    guard lengths[0].utf8.allSatisfy({ (0x30...0x39).contains($0) }), !lengths[0].isEmpty else {
      return .refused(400)
    }
    guard let length = Int(lengths[0]), length <= RedirectParameters.formLimitBytes else {
      return .refused(413)
    }
    guard body.count >= length else { return .incomplete }
    guard let text = String(validating: body.prefix(length), as: UTF8.self) else {
      return .refused(400)
    }
    return .answer(place, RedirectParameters(text, isForm: true))
  }

  private static let endMark = Array("\r\n\r\n".utf8)

  private static func endOfHead(_ bytes: [UInt8]) -> Int? {
    guard bytes.count >= endMark.count else { return nil }
    return (0...(bytes.count - endMark.count)).first {
      bytes[$0] == endMark[0] && bytes[$0..<($0 + endMark.count)].elementsEqual(endMark)
    }
  }

  /// Whether the only media type is that of a form, with any parameters.
  private static func isForm(_ types: [String]) -> Bool {
    guard types.count == 1 else { return false }
    let type = types[0].prefix { $0 != ";" && $0 != " " && $0 != "\t" }
    return type.lowercased() == FormEncoding.mediaType
  }
}

/// The head of a request.
private struct Head {
  let method: String
  let path: String
  /// Without `?`; `nil` without one.
  let query: String?
  private var fields: [(name: String, value: String)] = []

  /// Returns `nil` for text that is no head of HTTP/1, or was not UTF-8 in the request's target.
  init?(_ text: String) {
    var lines = text.split(separator: "\r\n", omittingEmptySubsequences: true)[...]
    let words = lines.popFirst()?.split(separator: " ", omittingEmptySubsequences: false) ?? []
    guard words.count == 3, words[2].hasPrefix("HTTP/1."),
      !words[1].unicodeScalars.contains(where: { $0 == "\u{FFFD}" })
    else { return nil }
    method = String(words[0])
    let target = words[1].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    path = String(target[0])
    query = target.count > 1 ? String(target[1]) : nil
    for line in lines {
      // Search bytes, because a colon with a combining accent is another `Character`.
      guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else {
        return nil
      }
      fields.append(
        (line[..<colon].lowercased(), trimmed(line[line.utf8.index(after: colon)...])))
    }
  }

  /// Returns the values of a field, given in lower case.
  subscript(_ name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }
}

private func trimmed(_ text: Substring) -> String {
  let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
  return String(text.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
}

/// Whether a purpose header contains the word `prefetch`. Splits into words, because a substring
/// search would link the regular expression library.
private func isPrefetch(_ purpose: String) -> Bool {
  purpose.lowercased().split { !$0.isLetter }.contains("prefetch")
}
