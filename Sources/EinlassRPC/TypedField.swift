public import EinlassJSON

/// A parameter of a method with the type of its value.
///
/// A method declares it once: its descriptor lists it with `fields`, and its handler reads
/// `params[field]`. A misspelt name does not compile.
///
/// The members are inlinable, because unspecialized generic code looks up its types at each request.
public struct TypedField<Value: Sendable>: Sendable {
  /// The description for the validation and for the protocol document.
  public let field: Field
  @usableFromInline let read: @Sendable (JSONValue?) -> Value

  @inlinable init(field: Field, read: @escaping @Sendable (JSONValue?) -> Value) {
    self.field = field
    self.read = read
  }

  /// Makes a required member. Its value in validated parameters is always there.
  @inlinable
  public static func required(
    _ name: String, _ schema: TypedSchema<Value>, _ summary: String, isSecret: Bool = false
  ) -> TypedField {
    TypedField(field: .required(name, schema.schema, summary, isSecret: isSecret)) { json in
      json.flatMap(schema.read) ?? schema.placeholder
    }
  }

  /// Makes an optional member.
  @inlinable
  public static func optional<Present>(
    _ name: String, _ schema: TypedSchema<Present>, _ summary: String, isSecret: Bool = false
  ) -> TypedField where Value == Present? {
    TypedField(field: .optional(name, schema.schema, summary, isSecret: isSecret)) { json in
      json.flatMap(schema.read)
    }
  }

  /// Makes an optional member with a value for its absence, as JSON.
  @inlinable
  public static func optional(
    _ name: String, _ schema: TypedSchema<Value>, default json: JSONValue, _ summary: String,
    isSecret: Bool = false
  ) -> TypedField {
    let value = schema.read(json) ?? schema.placeholder
    return TypedField(
      field: .optional(name, schema.schema, default: json, summary, isSecret: isSecret)
    ) { $0.flatMap(schema.read) ?? value }
  }
}

extension TypedField {
  /// The same member, which refuses null (`Field.refusingNull`).
  public var refusingNull: TypedField { TypedField(field: field.refusingNull, read: read) }
}

/// The shape of a value with its Swift type.
public struct TypedSchema<Value: Sendable>: Sendable {
  @usableFromInline let schema: Schema
  @usableFromInline let placeholder: Value
  @usableFromInline let read: @Sendable (JSONValue) -> Value?

  /// Makes a shape of a value with its Swift type.
  ///
  /// - Parameters:
  ///   - placeholder: The value of a missing required member. Only parameters that were not
  ///     validated can lack it.
  ///   - read: Returns the value of validated JSON; `nil` for JSON of another shape.
  @inlinable
  public init(
    _ schema: Schema, placeholder: Value, read: @escaping @Sendable (JSONValue) -> Value?
  ) {
    self.schema = schema
    self.placeholder = placeholder
    self.read = read
  }
}

extension TypedSchema where Value == String {
  /// A text as in `Schema.identifier`.
  public static let identifier = TypedSchema(.identifier, placeholder: "") { $0.string }
  /// A name as in `Schema.name`.
  public static let name = TypedSchema(.name, placeholder: "") { $0.string }
  /// A file path as in `Schema.path`.
  public static let path = TypedSchema(.path, placeholder: "") { $0.string }
  /// Any text of at most this number of bytes.
  public static func string(maxBytes: Int) -> TypedSchema {
    TypedSchema(.string(maxBytes: maxBytes), placeholder: "") { $0.string }
  }
  /// One of these strings.
  public static func oneOf(_ words: [String]) -> TypedSchema {
    TypedSchema(.oneOf(words), placeholder: "") { $0.string }
  }
}

extension TypedSchema where Value == Bool {
  /// True or false.
  public static let boolean = TypedSchema(.boolean, placeholder: false) { $0.bool }
}

extension TypedSchema where Value == Int64 {
  /// An integer within these bounds.
  public static func integer(_ range: ClosedRange<Int64> = Schema.exactIntegers) -> TypedSchema {
    TypedSchema(.integer(range), placeholder: 0) { $0.int64 }
  }
}

extension TypedSchema where Value == [String] {
  /// A list of at most this number of identifiers.
  public static func identifiers(max: Int) -> TypedSchema {
    TypedSchema(.array(.identifier, max: max), placeholder: []) { $0.array?.compactMap(\.string) }
  }
}

extension TypedSchema where Value == JSONValue {
  /// A value that its reader decodes itself.
  public static func json(_ schema: Schema) -> TypedSchema {
    TypedSchema(schema, placeholder: .null) { $0 }
  }
}

extension TypedSchema where Value == JSONObject {
  /// An object with these members.
  public static func object(_ fields: [Field], isClosed: Bool = false) -> TypedSchema {
    TypedSchema(.object(fields, isClosed: isClosed), placeholder: [:]) { $0.object }
  }
  /// An object of the schema with this name in the document's components.
  public static func reference(_ name: String) -> TypedSchema {
    TypedSchema(.reference(name), placeholder: [:]) { $0.object }
  }
  /// An object with identifiers as member names.
  public static func map(_ schema: Schema) -> TypedSchema {
    TypedSchema(.map(schema), placeholder: [:]) { $0.object }
  }
}

/// Returns the descriptions of these fields, for a descriptor.
public func fields<each Value>(_ field: repeat TypedField<each Value>) -> [Field] {
  var fields: [Field] = []
  repeat fields.append((each field).field)
  return fields
}

extension JSONObject {
  /// Returns the value of a declared field.
  ///
  /// A method's parameters are validated before its handler runs. Other JSON is read without a
  /// trap: a member of another type counts as missing, bounds are not checked, and a missing
  /// required member is read as its placeholder.
  @inlinable
  public subscript<Value>(field: TypedField<Value>) -> Value { field.read(self[field.field.name]) }
}
