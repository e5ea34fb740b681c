public import EinlassJSON

/// The shape of a value. It drives validation, the protocol document and redaction.
public indirect enum Schema: Sendable {
  /// Any JSON value.
  case any
  case boolean
  /// An integer within these bounds.
  case integer(ClosedRange<Int64> = Schema.exactIntegers)
  /// Any text.
  case string(maxBytes: Int? = nil)
  /// A text of 1 to 256 bytes without control characters, line separators and invisible or
  /// bidirectional formatting characters, and not blank: `isIdentifier`.
  case identifier
  /// A name shown to people. Other than an identifier it may contain joiners: `isName`.
  case name
  /// A file path of 1 to 4096 bytes without NUL, because NUL ends a path in system calls.
  case path
  /// One of these strings.
  case oneOf([String])
  case array(Schema, max: Int? = nil)
  /// An object with these members. Other members are ignored, or refused if it is closed: a
  /// condition with a misspelt name must not count as absent.
  case object([Field], isClosed: Bool = false)
  /// An object with member names that the data chooses: identifiers, or any names in an object that
  /// a provider wrote.
  case map(Schema, hasAnyNames: Bool = false)
  /// An object whose string member `by` selects the shape of its other members.
  case tagged(by: String, [(String, [Field])])
  /// The schema of this name in the document's components.
  case reference(String)
}

extension Schema {
  /// The integers that every JSON reader keeps exactly (RFC 8259 section 6).
  public static let exactIntegers: ClosedRange<Int64> = -(1 << 53) + 1...(1 << 53) - 1
  /// A number of things, a size in bytes or a revision.
  public static let count = Schema.integer(0...exactIntegers.upperBound)
}

/// One member of an object.
public struct Field: Sendable {
  public var name: String
  /// The shape of the member's value.
  public var schema: Schema
  public var isRequired: Bool
  /// Whether the value must never reach a trace or a log.
  public var isSecret: Bool
  /// Whether null is refused although the member is optional.
  public private(set) var refusesNull = false
  /// The value that stands for a missing one, if it is always the same.
  public var defaultValue: JSONValue?
  /// The meaning in one sentence, for the protocol document.
  public var summary: String

  private init(
    _ name: String, _ schema: Schema, _ summary: String, isRequired: Bool, isSecret: Bool,
    defaultValue: JSONValue? = nil
  ) {
    self.name = name
    self.schema = schema
    self.isRequired = isRequired
    self.isSecret = isSecret
    self.defaultValue = defaultValue
    self.summary = summary
  }

  /// Makes a required member.
  public static func required(
    _ name: String, _ schema: Schema, _ summary: String, isSecret: Bool = false
  ) -> Field {
    Field(name, schema, summary, isRequired: true, isSecret: isSecret)
  }

  /// Makes an optional member.
  public static func optional(
    _ name: String, _ schema: Schema, default value: JSONValue? = nil, _ summary: String,
    isSecret: Bool = false
  ) -> Field {
    Field(
      name, schema, summary, isRequired: false, isSecret: isSecret, defaultValue: value)
  }
}

extension Field {
  /// The same member, which refuses null: for a condition and for a pin, because without it the
  /// request would do more, or trust more, than was meant.
  public var refusingNull: Field {
    var field = self
    field.refusesNull = true
    return field
  }
}

/// Schemas by their names in `Schema.reference`.
public typealias Components = @Sendable (String) -> Schema?
