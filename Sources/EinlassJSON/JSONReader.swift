/// How much a JSON text may ask of its reader.
public struct JSONLimits: Sendable {
  /// How many arrays and objects may stand inside each other.
  public var depth: Int

  /// The limits of the protocol unless said otherwise.
  public init(depth: Int = 64) { self.depth = depth }
}

/// Why bytes are no acceptable JSON text.
public enum JSONReadError: Error, Equatable {
  /// Not UTF-8: overlong forms, surrogates and cut sequences included.
  case invalidUTF8
  /// Not the grammar of RFC 8259, or a `\u` escape that is half a character, at this byte.
  case invalidJSON(offset: Int)
  /// More nesting than `JSONLimits.depth`.
  case tooDeep
  /// Well formed, but an object at some depth has two members of one name (compared as bytes).
  case duplicateKey
}

/// Reads JSON as RFC 8259 has it and nothing more: no comments, no trailing commas, no second value, no byte
/// order mark.
public enum JSONReader {
  /// A text together with what a strict reader refuses.
  public struct Document: Sendable {
    /// What was written; where names stand twice, both members are there.
    public var value: JSONValue
    /// Whether any object in it has two members of one name.
    public var hasDuplicateKeys: Bool
  }

  /// The value that these bytes write.
  public static func read(
    _ bytes: [UInt8], limits: JSONLimits = .init()
  ) throws(JSONReadError) -> JSONValue {
    try read(bytes.span, limits: limits)
  }

  /// The value that these bytes write.
  public static func read(
    _ bytes: ArraySlice<UInt8>, limits: JSONLimits = .init()
  ) throws(JSONReadError) -> JSONValue {
    try read(bytes.span, limits: limits)
  }

  /// The value that these bytes write.
  public static func read(
    _ bytes: Span<UInt8>, limits: JSONLimits = .init()
  ) throws(JSONReadError) -> JSONValue {
    let document = try readDocument(bytes, limits: limits)
    guard !document.hasDuplicateKeys else { throw .duplicateKey }
    return document.value
  }

  /// Like `read`, but leaves it to the caller to refuse duplicate keys. Never throws `duplicateKey`.
  public static func readDocument(
    _ bytes: Span<UInt8>, limits: JSONLimits = .init()
  ) throws(JSONReadError) -> Document {
    do { _ = try UTF8Span(validating: bytes) } catch { throw .invalidUTF8 }
    var grammar = JSONGrammar(depthLimit: limits.depth)
    let value = try grammar.text(bytes)
    return Document(value: value, hasDuplicateKeys: grammar.hasDuplicateKeys)
  }

  /// Where the elements of an array, or the values of an object's members, stand in an acceptable text; empty
  /// for anything else. For those who need a value as it was written.
  public static func childRanges(
    _ bytes: Span<UInt8>, limits: JSONLimits = .init()
  ) -> [Range<Int>] {
    var grammar = JSONGrammar(depthLimit: limits.depth, recordsChildren: true)
    guard (try? grammar.text(bytes)) != nil else { return [] }
    return grammar.children
  }
}
