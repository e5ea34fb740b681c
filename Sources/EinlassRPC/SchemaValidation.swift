public import EinlassJSON

extension Schema {
  /// Throws `invalidParams` with a JSON Pointer to the first value of another shape.
  public func validate(
    _ value: JSONValue, at path: String = "", components: Components = { _ in nil }
  ) throws(RPCError) {
    switch (self, value) {
    case (.any, _), (.boolean, .bool): return
    case (.integer(let range), _):
      if let number = value.int64, range.contains(number) { return }
    case (.string(let maxBytes), .string(let string)):
      if string.utf8.count <= maxBytes ?? .max { return }
    case (.identifier, .string(let string)):
      if isIdentifier(string) { return }
    case (.name, .string(let string)):
      if isName(string) { return }
    case (.path, .string(let string)):
      if 1...Schema.pathBytes ~= string.utf8.count, !string.utf8.contains(0) { return }
    case (.oneOf(let choices), .string(let string)):
      if choices.contains(where: { sameBytes($0, string) }) { return }
    case (.array(let element, let max), .array(let values)) where values.count <= max ?? .max:
      for (index, value) in values.enumerated() {
        try element.validate(value, at: "\(path)/\(index)", components: components)
      }
      return
    case (.object(let fields, let isClosed), .object(let object)):
      if isClosed { try Schema.refuseUnknown(object, fields.map(\.name), at: path) }
      return try Schema.validate(object, fields, at: path, components: components)
    case (.map(let schema, let hasAnyNames), .object(let object)):
      for member in object.members {
        let path = appending(member.name, toPointer: path)
        if !hasAnyNames { try Schema.identifier.validate(.string(member.name), at: path) }
        try schema.validate(member.value, at: path, components: components)
      }
      return
    case (.tagged(let tag, let shapes), .object(let object)):
      return try Schema.validate(object, tag, shapes, at: path, components: components)
    case (.reference(let name), _):
      guard let schema = components(name) else { return }
      return try schema.validate(value, at: path, components: components)
    default: break
    }
    throw .invalidParams(path: path, expected: expectation)
  }

  /// Validates the described members and ignores all others.
  static func validate(
    _ object: JSONObject, _ fields: [Field], at path: String, components: Components
  ) throws(RPCError) {
    for field in fields {
      guard let value = object[field.name] else {
        guard field.isRequired else { continue }
        throw .invalidParams(
          path: appending(field.name, toPointer: path), expected: field.schema.expectation,
          isMissing: true)
      }
      try field.schema.validate(
        value, at: appending(field.name, toPointer: path), components: components)
    }
  }

  /// Throws `invalidParams` with a JSON Pointer to the first member without one of these names.
  static func refuseUnknown(
    _ object: JSONObject, _ names: [String], at path: String
  ) throws(RPCError) {
    for member in object.members where !names.contains(where: { sameBytes($0, member.name) }) {
      // A name may be as long as a line, so the error repeats only its beginning.
      let name = String(member.name.unicodeScalars.prefix(100))
      throw .unknownParam(path: appending(name, toPointer: path), known: names)
    }
  }

  private static func validate(
    _ object: JSONObject, _ tag: String, _ shapes: [(String, [Field])], at path: String,
    components: Components
  ) throws(RPCError) {
    guard let name = object[tag]?.string, let shape = shapes.first(where: { sameBytes($0.0, name) })
    else {
      throw .invalidParams(
        path: appending(tag, toPointer: path), expected: Schema.oneOf(shapes.map(\.0)).expectation,
        isMissing: object[tag] == nil)
    }
    try validate(object, shape.1, at: path, components: components)
  }

  /// The end of the message "must be …".
  var expectation: String {
    switch self {
    case .any: "a value"
    case .boolean: "true or false"
    case .integer(let range): "an integer from \(range.lowerBound) to \(range.upperBound)"
    case .string(nil): "a string"
    case .string(let maxBytes?): "a string of at most \(maxBytes) bytes"
    case .identifier, .name: "a string of 1 to 256 bytes, not blank, without control characters"
    case .path: "a path of 1 to \(Schema.pathBytes) bytes, without NUL"
    case .oneOf(let choices): "one of " + choices.joined(separator: ", ")
    case .array(_, nil): "an array"
    case .array(_, let max?): "an array of at most \(max)"
    case .object, .map, .tagged: "an object"
    case .reference(let name): "a \(name)"
    }
  }
}

extension MethodDescriptor {
  /// Returns the parameters that the method has, without unknown members.
  public func described(_ params: JSONObject) -> JSONObject {
    guard !isClosed, !params.members.isEmpty else { return params }
    let fields = self.params
    let known = params.members.filter { member in
      fields.contains { sameBytes($0.name, member.name) }
    }
    guard known.count < params.members.count else { return params }
    return JSONObject(known.map { ($0.name, $0.value) })
  }
}
