package import EinlassJSON

extension JSONValue {
  /// The value as plain text: lists with commas, strings without quotes. Not cleaned for a
  /// terminal.
  package var plain: String {
    switch self {
    case .string(let text): text
    case .bool(let value): value ? "yes" : "no"
    case .null: ""
    case .array(let values): values.map(\.plain).joined(separator: ", ")
    case .number, .object: self.text
    }
  }
}

extension JSONValue {
  /// The value as JSON for people: one member or element for each line, indented by two spaces.
  package func indented(by depth: Int = 0) -> String {
    let margin = String(repeating: "  ", count: depth + 1)
    let end = "\n" + String(repeating: "  ", count: depth)
    switch self {
    case .object(let object) where !object.members.isEmpty:
      let lines = object.members.map { member in
        "\(margin)\(JSONValue.string(member.name).text): \(member.value.indented(by: depth + 1))"
      }
      return "{\n\(lines.joined(separator: ",\n"))\(end)}"
    case .array(let elements) where !elements.isEmpty:
      let lines = elements.map { "\(margin)\($0.indented(by: depth + 1))" }
      return "[\n\(lines.joined(separator: ",\n"))\(end)]"
    default: return text
    }
  }
}
