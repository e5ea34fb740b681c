public import EinlassJSON

/// The replacement in a trace for secret and undescribed values.
let hiddenValue: JSONValue = "[hidden]"

extension Schema {
  /// Returns the value with secret members replaced. Members without a description are replaced
  /// too, because a misspelled name may carry a secret.
  public func redacted(_ value: JSONValue, components: Components = { _ in nil }) -> JSONValue {
    switch (self, value) {
    case (_, .null), (.boolean, .bool), (.integer, .number), (.string, .string),
      (.identifier, .string), (.name, .string), (.path, .string), (.oneOf, .string), (.any, _):
      return value
    case (.array(let element, _), .array(let values)):
      return .array(values.map { element.redacted($0, components: components) })
    case (.object(let fields, _), .object(let object)):
      return .object(Schema.redacted(object, fields, components: components))
    case (.map(let schema, _), .object(let object)):
      return .object(object.map { schema.redacted($0.value, components: components) })
    case (.tagged(let tag, let shapes), .object(let object)):
      let name = object[tag]?.string ?? ""
      guard let shape = shapes.first(where: { sameBytes($0.0, name) }) else { return hiddenValue }
      let tagged = Field.required(tag, .any, "")
      return .object(Schema.redacted(object, [tagged] + shape.1, components: components))
    case (.reference(let name), _):
      return components(name)?.redacted(value, components: components) ?? hiddenValue
    default: return hiddenValue
    }
  }

  /// Returns the object with the values of secret and undescribed members replaced.
  static func redacted(
    _ object: JSONObject, _ fields: [Field], components: Components
  ) -> JSONObject {
    object.map { member in
      let field = fields.first { sameBytes($0.name, member.name) }
      guard let field else { return hiddenValue }
      return field.isSecret
        ? field.schema.hidden(member.value, components: components)
        : field.schema.redacted(member.value, components: components)
    }
  }

  /// Returns the secret value with everything replaced but the names of its members and its tag, so
  /// that a trace of it can be replayed.
  private func hidden(_ value: JSONValue, components: Components) -> JSONValue {
    switch (self, value) {
    case (.tagged(let tag, let shapes), .object(let object)):
      guard let shape = shapes.first(where: { sameBytes($0.0, object[tag]?.string ?? "") }) else {
        return hiddenValue
      }
      return .object(
        object.map { member in
          if sameBytes(member.name, tag) { return member.value }
          let field = shape.1.first { sameBytes($0.name, member.name) }
          return field?.schema.hidden(member.value, components: components) ?? hiddenValue
        })
    case (.reference(let name), _):
      return components(name)?.hidden(value, components: components) ?? hiddenValue
    default: return hiddenValue
    }
  }
}

extension RPCError {
  /// Returns the error for a trace, with these members of its data hidden at any depth.
  func redacted(_ secretMembers: [String]) -> RPCError {
    var error = self
    error.data = data.hiding(
      { _, name, _ in secretMembers.contains { sameBytes($0, name) } }, in: "")
    return error
  }
}

/// Returns whether a trace hides a member, by the name of the object that it belongs to, its own
/// name and its value.
public typealias MemberTest = @Sendable (_ parent: String, _ name: String, JSONValue) -> Bool

extension JSONObject {
  /// Returns the object, the member `parent` of another one, with these members hidden at any depth.
  fileprivate func hiding(_ isHidden: MemberTest, in parent: String) -> JSONObject {
    map { member in
      isHidden(parent, member.name, member.value)
        ? member.value.hidden : member.value.hiding(isHidden, in: member.name)
    }
  }
}

extension JSONValue {
  /// Returns the value with these members hidden at any depth.
  func hiding(_ isHidden: MemberTest, in parent: String = "") -> JSONValue {
    switch self {
    case .object(let object): .object(object.hiding(isHidden, in: parent))
    case .array(let values): .array(values.map { $0.hiding(isHidden, in: parent) })
    default: self
    }
  }

  /// The replacement for the value. Objects, lists and booleans stay, so that a trace of them can be
  /// replayed.
  fileprivate var hidden: JSONValue {
    switch self {
    case .object(let object): .object(object.map(\.value.hidden))
    case .array(let values): .array(values.map(\.hidden))
    case .bool, .null: self
    default: hiddenValue
    }
  }
}

extension MethodDescriptor {
  /// Returns the parameters for a trace.
  public func redacted(params: JSONObject, components: Components = { _ in nil }) -> JSONObject {
    Schema.redacted(params, self.params, components: components)
  }

  /// Returns the result for a trace.
  public func redacted(result: JSONValue, components: Components = { _ in nil }) -> JSONValue {
    self.result.redacted(result, components: components)
  }
}

extension NotificationDescriptor {
  /// Returns the parameters for a trace.
  public func redacted(params: JSONObject, components: Components = { _ in nil }) -> JSONObject {
    Schema.redacted(params, self.params, components: components)
  }
}
