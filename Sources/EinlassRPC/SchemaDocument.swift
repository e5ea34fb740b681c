public import EinlassJSON

extension Schema {
  /// The schema as JSON Schema for the OpenRPC document, limited to the keywords that draft-07 and
  /// 2020-12 share.
  ///
  /// JSON Schema has no keyword for a length in bytes or for a secret, so they are written as
  /// `x-maxBytes` and `x-secret`.
  public var jsonSchema: JSONValue {
    switch self {
    case .any: return [:]
    case .boolean: return ["type": "boolean"]
    case .integer(let range):
      return [
        "type": "integer", "minimum": JSONValue(range.lowerBound),
        "maximum": JSONValue(range.upperBound),
      ]
    case .string(let maxBytes):
      let limit = maxBytes.map { JSONValue(Int64($0)) }
      return .object(
        JSONObject(present: ["type": "string", "maxLength": limit, "x-maxBytes": limit]))
    case .identifier: return Schema.reference("Identifier").jsonSchema
    case .name: return Schema.reference("Name").jsonSchema
    case .path: return Schema.reference("Path").jsonSchema
    case .oneOf(let choices): return ["type": "string", "enum": JSONValue(choices)]
    case .array(let element, let max):
      return .object(
        JSONObject(present: [
          "type": "array", "items": element.jsonSchema,
          "maxItems": max.map { JSONValue(Int64($0)) },
        ]))
    case .object(let fields, let isClosed):
      return Schema.objectSchema(fields, isClosed: isClosed)
    case .map(let schema, let hasAnyNames):
      return .object(
        JSONObject(present: [
          "type": "object", "propertyNames": hasAnyNames ? nil : Schema.identifier.jsonSchema,
          "additionalProperties": schema.jsonSchema,
        ]))
    case .tagged(let tag, let shapes):
      return [
        "oneOf": .array(
          shapes.map { name, fields in
            Schema.objectSchema(fields, tag: tag, name: name)
          })
      ]
    case .reference(let name): return ["$ref": .string("#/components/schemas/\(name)")]
    }
  }

  /// The longest path in bytes.
  static let pathBytes = 4096

  /// The schemas that `identifier`, `name` and `path` refer to, by their names in the components.
  public static let texts: [(name: String, schema: JSONValue)] = [
    (
      "Identifier",
      naming(
        "A text that programs compare: not blank, without control characters and invisible ones.",
        without: "\u{200B}-\u{200F}", joiners: "")
    ),
    (
      "Name",
      naming(
        "A text for people: not blank, without control characters. Joiners are allowed.",
        without: "\u{200B}\u{200E}\u{200F}", joiners: "\u{200C}\u{200D}")
    ),
    (
      "Path",
      [
        "description": "A path of a file.", "type": "string", "minLength": 1,
        "maxLength": JSONValue(Int64(pathBytes)), "x-maxBytes": JSONValue(Int64(pathBytes)),
        "pattern": #"^[^\x00]*$"#,
      ]
    ),
  ]

  /// The characters above U+009F are in the pattern as they are, because RE2 has no `\u`.
  private static func naming(
    _ description: String, without invisible: String, joiners: String
  ) -> JSONValue {
    let controls =
      #"\x00-\x1F\x7F-\x9F"# + "\u{061C}\u{2028}-\u{202E}\u{2060}-\u{2069}\u{FEFF}" + invisible
    return [
      "description": .string(description), "type": "string", "minLength": 1, "maxLength": 256,
      "x-maxBytes": 256,
      "pattern": .string("^[^\(controls)]*[^\\s\(joiners)\(controls)][^\(controls)]*$"),
    ]
  }

  private static func objectSchema(
    _ fields: [Field], isClosed: Bool = false, tag: String? = nil, name: String = ""
  ) -> JSONValue {
    var properties = JSONObject()
    var required: [String] = []
    if let tag {
      properties[tag] = ["type": "string", "const": .string(name)]
      required.append(tag)
    }
    for field in fields {
      properties[field.name] = .object(field.jsonSchema)
      if field.isRequired { required.append(field.name) }
    }
    return .object(
      JSONObject(present: [
        "title": tag == nil ? nil : .string(name), "type": "object",
        "properties": .object(properties),
        "required": required.isEmpty ? nil : JSONValue(required),
        "additionalProperties": isClosed ? false : nil,
      ]))
  }
}

extension Field {
  /// The schema of the value with the member's description.
  var jsonSchema: JSONObject {
    var schema = valueSchema
    if schema["$ref"] != nil { schema = ["allOf": [.object(schema)]] }
    schema["description"] = .string(summary)
    if isSecret { schema["x-secret"] = true }
    return schema
  }

  /// The schema of the value with its default. A `$ref` is wrapped in `allOf`, because draft-07
  /// ignores its neighbours.
  var valueSchema: JSONObject {
    var schema = self.schema.jsonSchema.object ?? JSONObject()
    guard let defaultValue else { return schema }
    if schema["$ref"] != nil { schema = ["allOf": [.object(schema)]] }
    schema["default"] = defaultValue
    return schema
  }
}
