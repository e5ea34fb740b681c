public import EinlassJSON

// JSON null in a parameter. Many writers write it for a member that they do not have.

extension MethodDescriptor {
  /// Returns the parameters without optional members that are null, at every level. Null stays, and is
  /// refused, where a member is required or must not be absent by accident (`refusingNull`), and it
  /// stays in values of any shape.
  public func withoutNulls(
    _ params: JSONObject, components: Components = { _ in nil }
  ) -> JSONObject {
    // Most requests have no null.
    guard params.members.contains(where: \.value.hasNull) else { return params }
    return Schema.withoutNulls(params, self.params, components)
  }
}

extension Schema {
  private func withoutNulls(_ value: JSONValue, _ components: Components) -> JSONValue {
    switch (self, value) {
    case (.array(let element, _), .array(let values)):
      return .array(values.map { element.withoutNulls($0, components) })
    case (.object(let fields, _), .object(let object)):
      return .object(Self.withoutNulls(object, fields, components))
    case (.map(let schema, _), .object(let object)):
      if case .any = schema { return value }
      return .object(
        object.filter { !$0.value.isNull }.map { schema.withoutNulls($0.value, components) })
    case (.tagged(let tag, let shapes), .object(let object)):
      let name = object[tag]?.string ?? ""
      let shape = shapes.first { sameBytes($0.0, name) }
      return .object(Self.withoutNulls(object, shape?.1 ?? [], components))
    case (.reference(let name), _):
      return components(name)?.withoutNulls(value, components) ?? value
    default: return value
    }
  }

  fileprivate static func withoutNulls(
    _ object: JSONObject, _ fields: [Field], _ components: Components
  ) -> JSONObject {
    var object = object
    for field in fields {
      guard let value = object[field.name] else { continue }
      if !value.isNull {
        object[field.name] = field.schema.withoutNulls(value, components)
      } else if !field.isRequired, !field.refusesNull {
        object[field.name] = nil
      }
    }
    return object
  }
}

extension JSONValue {
  fileprivate var hasNull: Bool {
    switch self {
    case .null: true
    case .array(let values): values.contains(where: \.hasNull)
    case .object(let object): object.members.contains(where: \.value.hasNull)
    case .bool, .number, .string: false
    }
  }
}
