/// What a value may be: it validates parameters, prints the protocol document and drives redaction.
public indirect enum Schema: Sendable {
  /// Any JSON value.
  case any
  case boolean
  /// An integer that fits 64 bits, within these bounds.
  case integer(ClosedRange<Int64>? = nil)
  /// Free text.
  case string(maxBytes: Int? = nil)
  /// 1 to 256 bytes, not blank, without controls, line separators and characters that turn or hide text: `isIdentifier`.
  case identifier
  /// The same for people, which may hold joiners: `isName`.
  case name
  /// A file's name: 1 to 4096 bytes, none of them NUL, where the system would take it to end.
  case path
  /// One of these strings.
  case oneOf([String])
  case array(Schema, max: Int? = nil)
  /// An object with these members; others are ignored.
  case object([Field])
  /// An object whose member names are identifiers of the data's own.
  case map(Schema)
  /// An object whose member `by` says which of these shapes the others have.
  case tagged(by: String, [(String, [Field])])
  /// A schema of this name in the document's components.
  case reference(String)
}

/// One member of an object.
public struct Field: Sendable {
  /// The member's name.
  public var name: String
  /// What its value may be.
  public var schema: Schema
  /// Whether it must be there.
  public var isRequired: Bool
  /// Whether its value must never reach a trace or a log.
  public var isSecret: Bool
  /// What it means, in one sentence for the document.
  public var summary: String

  private init(
    _ name: String, _ schema: Schema, _ summary: String, isRequired: Bool, isSecret: Bool
  ) {
    self.name = name
    self.schema = schema
    self.isRequired = isRequired
    self.isSecret = isSecret
    self.summary = summary
  }

  /// A member that must be there.
  public static func required(
    _ name: String, _ schema: Schema, _ summary: String, isSecret: Bool = false
  ) -> Field {
    Field(name, schema, summary, isRequired: true, isSecret: isSecret)
  }

  /// A member that may be missing.
  public static func optional(
    _ name: String, _ schema: Schema, _ summary: String, isSecret: Bool = false
  ) -> Field {
    Field(name, schema, summary, isRequired: false, isSecret: isSecret)
  }
}

/// Schemas by the name that `Schema.reference` uses.
public typealias Components = [String: Schema]
