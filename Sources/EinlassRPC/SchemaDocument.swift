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
      return .object(
        JSONObject(present: [
          "type": "integer", "minimum": range.map { JSONValue($0.lowerBound) },
          "maximum": range.map { JSONValue($0.upperBound) },
        ]))
    case .string(let maxBytes):
      return .object(
        JSONObject(present: [
          "type": "string", "x-maxBytes": maxBytes.map { JSONValue(Int64($0)) },
        ]))
    case .identifier: return Schema.naming(without: #"\u200B-\u200F"#)
    case .name: return Schema.naming(without: #"\u200B\u200E\u200F"#)
    case .path:
      return [
        "type": "string", "minLength": 1, "x-maxBytes": JSONValue(Int64(Schema.pathBytes)),
        "pattern": #"^[^\u0000]*$"#,
      ]
    case .oneOf(let choices): return ["type": "string", "enum": JSONValue(choices)]
    case .array(let element, let max):
      return .object(
        JSONObject(present: [
          "type": "array", "items": element.jsonSchema,
          "maxItems": max.map { JSONValue(Int64($0)) },
        ]))
    case .object(let fields): return Schema.objectSchema(fields)
    case .map(let schema): return ["type": "object", "additionalProperties": schema.jsonSchema]
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

  private static func naming(without invisible: String) -> JSONValue {
    let controls = #"\u0000-\u001F\u007F-\u009F\u061C\u2028-\u202E\u2060-\u2069\uFEFF"# + invisible
    return [
      "type": "string", "minLength": 1, "maxLength": 256, "x-maxBytes": 256,
      "pattern": .string("^[^\(controls)]*[^\\s\\u200C\\u200D\(controls)][^\(controls)]*$"),
    ]
  }

  private static func objectSchema(
    _ fields: [Field], tag: String? = nil, name: String = ""
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
        "type": "object", "properties": .object(properties),
        "required": required.isEmpty ? nil : JSONValue(required),
      ]))
  }
}

extension Field {
  /// The schema of the value with the member's description. A `$ref` is wrapped in `allOf`, because
  /// draft-07 ignores a description beside `$ref`.
  var jsonSchema: JSONObject {
    var schema = self.schema.jsonSchema.object ?? JSONObject()
    if schema["$ref"] != nil { schema = ["allOf": [.object(schema)]] }
    schema["description"] = .string(summary)
    if isSecret { schema["x-secret"] = true }
    return schema
  }
}
