import EinlassJSON

/// One name and its value, decoded.
struct Parameter: Equatable, Sendable {
  /// What comes before the equals sign.
  var name: String
  /// What comes after it; empty if there is none.
  var value: String
}

extension [Parameter] {
  /// The parameters of a query or of a form; `nil` where an escape is broken or the bytes are no UTF-8.
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

  /// The values under this name, in their order.
  func values(of name: String) -> [String] {
    filter { sameBytes($0.name, name) }.map(\.value)
  }

  /// The value under this name, if there is exactly one.
  subscript(_ name: String) -> String? {
    let found = values(of: name)
    return found.count == 1 ? found[0] : nil
  }

  /// A name that occurs more than once among those that start like this.
  func duplicate(prefix: String = "") -> String? {
    let names = map(\.name).filter { $0.hasPrefix(prefix) }
      .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    return zip(names, names.dropFirst()).first { sameBytes($0, $1) }?.0
  }

  /// Query form: escaped, in this order.
  var formEncoded: String {
    map { PercentCoding.encode($0.name) + "=" + PercentCoding.encode($0.value) }
      .joined(separator: "&")
  }

  /// An object of name and value; where a name occurs more than once, its value is the list of them.
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
