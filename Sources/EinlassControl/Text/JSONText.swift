internal import EinlassJSON

extension JSONValue {
  /// The value as plain text: lists with commas, strings without quotes. Not cleaned for a
  /// terminal.
  var plain: String {
    switch self {
    case .string(let text): text
    case .bool(let value): value ? "yes" : "no"
    case .null: ""
    case .array(let values): values.map(\.plain).joined(separator: ", ")
    case .number, .object: self.text
    }
  }
}
