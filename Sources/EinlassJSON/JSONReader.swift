/// The limits of a JSON text.
public struct JSONLimits: Sendable {
  /// The maximum nesting of arrays and objects.
  public var depth: Int

  /// The default is the limit of the protocol.
  public init(depth: Int = 64) { self.depth = depth }
}

/// The reason why bytes are not an acceptable JSON text.
public enum JSONReadError: Error, Equatable {
  /// Not UTF-8, for example overlong forms, surrogates or truncated sequences.
  case invalidUTF8
  /// Not the grammar of RFC 8259, or a `\u` escape of a lone surrogate, at this byte.
  case invalidJSON(offset: Int)
  /// Deeper nesting than `JSONLimits.depth`.
  case tooDeep
  /// Well formed, but an object has two members of this name (compared as bytes).
  case duplicateKey(String)
}

/// A strict reader of RFC 8259: no comments, no trailing commas, no second value, no byte order
/// mark.
public enum JSONReader {
  /// A parsed text and its violations of strict rules.
  public struct Document: Sendable {
    /// The value. Of a duplicate name both members are present.
    public var value: JSONValue
    /// A name that two members of an object have; `nil` if there is none.
    public var duplicateKey: String?
    public var hasDuplicateKeys: Bool { duplicateKey != nil }
  }

  /// Returns the parsed value.
  public static func read(
    _ bytes: [UInt8], limits: JSONLimits = .init()
  ) throws(JSONReadError) -> JSONValue {
    try read(bytes.span, limits: limits)
  }

  /// Returns the parsed value.
  public static func read(
    _ bytes: ArraySlice<UInt8>, limits: JSONLimits = .init()
  ) throws(JSONReadError) -> JSONValue {
    try read(bytes.span, limits: limits)
  }

  /// Returns the parsed value.
  public static func read(
    _ bytes: Span<UInt8>, limits: JSONLimits = .init()
  ) throws(JSONReadError) -> JSONValue {
    let document = try readDocument(bytes, limits: limits)
    if let name = document.duplicateKey { throw .duplicateKey(name) }
    return document.value
  }

  /// Like `read`, but reports duplicate keys in the result and never throws `duplicateKey`.
  public static func readDocument(
    _ bytes: Span<UInt8>, limits: JSONLimits = .init()
  ) throws(JSONReadError) -> Document {
    do { _ = try UTF8Span(validating: bytes) } catch { throw .invalidUTF8 }
    var grammar = JSONGrammar(depthLimit: limits.depth)
    let value = try grammar.text(bytes)
    return Document(value: value, duplicateKey: grammar.duplicateKey)
  }

  /// Returns the byte ranges of an array's elements or of an object's member values; empty for any
  /// other or unacceptable text. For callers that need a value exactly as written.
  public static func childRanges(
    _ bytes: Span<UInt8>, limits: JSONLimits = .init()
  ) -> [Range<Int>] {
    var grammar = JSONGrammar(depthLimit: limits.depth, recordsChildren: true)
    guard (try? grammar.text(bytes)) != nil else { return [] }
    return grammar.children
  }
}
