import EinlassJSON

/// A decoded name and value.
struct Parameter: Equatable, Sendable {
  var name: String
  /// The decoded value, or empty without an equals sign.
  var value: String
}

extension [Parameter] {
  /// Decodes a query or form. Returns `nil` for a malformed escape or invalid UTF-8.
  init?(formEncoded text: String) {
    self.init()
    for pair in text.split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = PercentCoding.decode(parts[0], plusIsSpace: true),
        let value = PercentCoding.decode(parts.count > 1 ? parts[1] : "", plusIsSpace: true)
      else { return nil }
      append(Parameter(name: name, value: value))
    }
  }

  /// Returns the values of this name, in their order.
  func values(of name: String) -> [String] {
    filter { sameBytes($0.name, name) }.map(\.value)
  }

  /// The value of this name if it occurs exactly once.
  subscript(_ name: String) -> String? {
    let found = values(of: name)
    return found.count == 1 ? found[0] : nil
  }

  /// Returns a name with this prefix that occurs more than once.
  func duplicate(prefix: String = "") -> String? {
    let names = map(\.name).filter { $0.hasPrefix(prefix) }
      .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    return zip(names, names.dropFirst()).first { sameBytes($0, $1) }?.0
  }

  /// The parameters in the form of a query, escaped and in this order.
  var formEncoded: String {
    map { PercentCoding.encode($0.name) + "=" + PercentCoding.encode($0.value) }
      .joined(separator: "&")
  }

  /// An object of names and values. The values of a repeated name become a list.
  var json: JSONValue {
    var object = JSONObject()
    for parameter in self {
      switch object[parameter.name] {
      case nil: object[parameter.name] = .string(parameter.value)
      case .array(let list)?: object[parameter.name] = .array(list + [.string(parameter.value)])
      case let first?: object[parameter.name] = .array([first, .string(parameter.value)])
      }
    }
    return .object(object)
  }
}
