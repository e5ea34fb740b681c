import EinlassJSON

/// A request as received, not decoded.
struct Request: Sendable {
  /// As sent; methods are case-sensitive.
  var method: String
  /// Percent-encoded as sent, without the query.
  var path: String
  /// Percent-encoded as sent, without the question mark.
  var rawQuery = ""
  /// In order, with the names as sent.
  var headers: [Parameter] = []
  var body: [UInt8] = []

  /// Returns the value of a header, or `nil` if it is missing or repeated. Names are compared
  /// without case.
  func header(_ name: String) -> String? {
    let found = headers.filter { sameBytes($0.name.lowercased(), name.lowercased()) }
    return found.count == 1 ? found[0].value : nil
  }

  /// Returns the credentials of the `Authorization` header if it has this scheme.
  func authorization(_ scheme: String) -> String? {
    guard let value = header("Authorization") else { return nil }
    let parts = value.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, sameBytes(parts[0].lowercased(), scheme.lowercased()) else {
      return nil
    }
    return String(parts[1])
  }

  /// The decoded query; `nil` if it is malformed.
  var query: [Parameter]? { [Parameter](formEncoded: rawQuery) }

  /// Whether the content type is that of a form.
  var hasForm: Bool {
    let type = (header("Content-Type") ?? "").split(separator: ";").first ?? ""
    return sameBytes(
      type.lowercased().trimming(" "), "application/x-www-form-urlencoded")
  }

  /// The decoded form: empty for another content type, `nil` if it is malformed.
  var form: [Parameter]? {
    guard hasForm else { return [] }
    guard let text = String(validating: body, as: UTF8.self) else { return nil }
    return [Parameter](formEncoded: text)
  }

  /// The members of a JSON object of texts; `nil` for any other body.
  var texts: [Parameter]? {
    guard header("Content-Type") == "application/json",
      let members = (try? JSONReader.read(body))?.object?.members
    else { return nil }
    let texts = members.compactMap { member in
      member.value.string.map { Parameter(name: member.name, value: $0) }
    }
    return texts.count == members.count ? texts : nil
  }
}

extension String {
  /// Returns the text without these characters at either end.
  func trimming(_ characters: String) -> String {
    let isKept = { (character: Character) in !characters.contains(character) }
    guard let first = firstIndex(where: isKept), let last = lastIndex(where: isKept) else {
      return ""
    }
    return String(self[first...last])
  }
}
