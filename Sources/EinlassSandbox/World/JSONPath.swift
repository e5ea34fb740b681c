import EinlassJSON

extension JSONValue {
  /// The value at a path of member names. Setting creates the objects on the path; setting `nil`
  /// removes.
  subscript(at path: String...) -> JSONValue? {
    get { value(at: path[...]) }
    set { set(newValue, at: path[...]) }
  }

  private func value(at path: ArraySlice<String>) -> JSONValue? {
    guard let name = path.first else { return self }
    return self[name]?.value(at: path.dropFirst())
  }

  private mutating func set(_ value: JSONValue?, at path: ArraySlice<String>) {
    guard let name = path.first else {
      self = value ?? .null
      return
    }
    var object = self.object ?? JSONObject()
    if path.count == 1 {
      object[name] = value
    } else {
      var member = object[name] ?? .object(JSONObject())
      member.set(value, at: path.dropFirst())
      object[name] = member
    }
    self = .object(object)
  }

  /// The strings in a list.
  var strings: [String] { (array ?? []).compactMap(\.string) }
}
