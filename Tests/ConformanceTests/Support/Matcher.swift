import EinlassJSON

/// Comparison of messages with a transcript, and the captured values. protocol/README.md has the
/// rules.
struct Matcher {
  private(set) var captures: [String: JSONValue] = [:]

  mutating func capture(_ name: String, _ value: JSONValue) {
    captures[name] = value
  }

  /// Returns the first difference of two values, or `nil` if they match. Captures the values of
  /// `$capture`.
  mutating func difference(
    expected: JSONValue, actual: JSONValue, path: String = ""
  ) -> String? {
    switch (expected, actual) {
    case (.string("$any"), _): return nil
    case (.string("$string"), .string): return nil
    case (.string(let text), _) where text.hasPrefix("$capture:"):
      captures[String(text.dropFirst("$capture:".count))] = actual
      return nil
    case (.object(let expected), .object(let actual)):
      return difference(expected: expected, actual: actual, path: path)
    case (.array(let expected), .array(let actual)) where expected.count == actual.count:
      for index in expected.indices {
        if let found = difference(
          expected: expected[index], actual: actual[index], path: "\(path)/\(index)")
        {
          return found
        }
      }
      return nil
    default:
      let expected = resolved(expected)
      return expected == actual ? nil : "\(path): expected \(expected.text), got \(actual.text)"
    }
  }

  private mutating func difference(
    expected: JSONObject, actual: JSONObject, path: String
  ) -> String? {
    // An error has the next steps that its line leaves out.
    let ofErrors = path.hasSuffix("error/data") ? ["next", "final"] : []
    for member in actual.members
    where expected[member.name] == nil && !ofErrors.contains(member.name) {
      return "\(path)/\(member.name): not expected: \(member.value.text)"
    }
    for member in expected.members {
      let path = "\(path)/\(member.name)"
      guard let value = actual[member.name] else { return "\(path): missing" }
      // The wording of an error message may change, but it must not be empty.
      if path.hasSuffix("error/message"), case .string(let text) = value, !text.isEmpty { continue }
      if let found = difference(expected: member.value, actual: value, path: path) { return found }
    }
    return nil
  }

  /// Returns the value with every `$ref:name` replaced by its captured value.
  func resolved(_ value: JSONValue) -> JSONValue {
    switch value {
    case .array(let elements): .array(elements.map(resolved))
    case .object(let object):
      .object(JSONObject(object.members.map { ($0.name, resolved($0.value)) }))
    case .string(let text): resolved(text)
    default: value
    }
  }

  private func resolved(_ text: String) -> JSONValue {
    guard text.contains("$ref:") else { return .string(text) }
    if let whole = captures[String(text.dropFirst("$ref:".count))], text.hasPrefix("$ref:") {
      return whole
    }
    // The longest names first, so that `$ref:ada2` is not taken for `$ref:ada`.
    var text = text
    for (name, value) in captures.sorted(by: { $0.key.count > $1.key.count }) {
      text = text.replacing("$ref:\(name)", with: value.string ?? value.text)
    }
    return .string(text)
  }
}
