import EinlassJSON

/// A request as it arrived, nothing decoded yet.
struct Request: Sendable {
  /// Upper case, as sent.
  var method: String
  /// Percent-encoded, as sent, without the query.
  var path: String
  /// Percent-encoded, as sent, without the question mark.
  var rawQuery = ""
  /// In their order, names as sent.
  var headers: [Parameter] = []
  /// The whole body.
  var body: [UInt8] = []

  /// The value of a header, its name compared without regard to case; `nil` if it occurs more than once.
  func header(_ name: String) -> String? {
    let found = headers.filter { sameBytes($0.name.lowercased(), name.lowercased()) }
    return found.count == 1 ? found[0].value : nil
  }

  /// What follows the scheme in the `Authorization` header, if the scheme is this one.
  func authorization(_ scheme: String) -> String? {
    guard let value = header("Authorization") else { return nil }
    let parts = value.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, sameBytes(parts[0].lowercased(), scheme.lowercased()) else {
      return nil
    }
    return String(parts[1])
  }

  /// The parameters of the query; `nil` if they cannot be decoded.
  var query: [Parameter]? { [Parameter](formEncoded: rawQuery) }

  /// Whether the body says that it is a form.
  var hasForm: Bool {
    let type = (header("Content-Type") ?? "").split(separator: ";").first ?? ""
    return sameBytes(
      type.lowercased().trimming(" "), "application/x-www-form-urlencoded")
  }

  /// The parameters of the body: none if it is no form; `nil` if they cannot be decoded.
  var form: [Parameter]? {
    guard hasForm else { return [] }
    guard let text = String(validating: body, as: UTF8.self) else { return nil }
    return [Parameter](formEncoded: text)
  }
}

extension String {
  /// The text without these characters at both ends.
  func trimming(_ characters: String) -> String {
    let isKept = { (character: Character) in !characters.contains(character) }
    guard let first = firstIndex(where: isKept), let last = lastIndex(where: isKept) else {
      return ""
    }
    return String(self[first...last])
  }
}
