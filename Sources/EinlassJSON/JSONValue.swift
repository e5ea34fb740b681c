/// A JSON value as written: numbers keep their lexeme, objects keep their order. RFC 8259.
///
/// Equality is by bytes: strings compare as UTF-8, never by canonical equivalence, because
/// identifiers that look alike are different identifiers.
public enum JSONValue: Sendable {
  case null
  case bool(Bool)
  case number(JSONNumber)
  case string(String)
  case array([JSONValue])
  case object(JSONObject)
}

/// A number as its lexeme, so that no precision is lost.
public struct JSONNumber: Sendable, Hashable {
  /// The characters between the neighbouring tokens, for example `-12.50e3`.
  public let lexeme: String

  /// A lexeme that the reader has validated.
  init(checkedLexeme: String) { lexeme = checkedLexeme }

  /// A whole number.
  public init(_ value: Int64) { lexeme = String(value) }

  /// Whether the lexeme has neither fraction nor exponent. Its size does not matter.
  public var isInteger: Bool {
    lexeme.utf8.allSatisfy { 0x30...0x39 ~= $0 || $0 == UInt8(ascii: "-") }
  }

  /// The same number without a fraction of zeros, which some writers give every number.
  public var withoutZeroFraction: JSONNumber {
    // By bytes, because every request has a number and characters are slow to find.
    let bytes = lexeme.utf8
    guard bytes.last == UInt8(ascii: "0"), let point = bytes.firstIndex(of: UInt8(ascii: ".")),
      bytes[point...].dropFirst().allSatisfy({ $0 == UInt8(ascii: "0") })
    else { return self }
    return JSONNumber(checkedLexeme: String(lexeme[..<point]))
  }

  /// The value of a lexeme without fraction and exponent that fits 64 bits.
  public var int64: Int64? { Int64(lexeme) }
}

/// The members of an object in the order as written. Names compare as bytes.
public struct JSONObject: Sendable {
  /// One name and its value.
  public struct Member: Sendable {
    /// The name, with escapes resolved.
    public var name: String
    public var value: JSONValue
  }

  /// The members, as written.
  public private(set) var members: [Member] = [] { didSet { keptText = nil } }

  /// The cached JSON text of `keepingText`.
  private(set) var keptText: [UInt8]?

  /// An object without members.
  public init() {}

  /// The value of the member with this name, compared as UTF-8 bytes. Setting `nil` removes it.
  public subscript(_ name: String) -> JSONValue? {
    get { members.first { sameBytes($0.name, name) }?.value }
    set {
      let index = members.firstIndex { sameBytes($0.name, name) }
      switch (index, newValue) {
      case (let index?, let value?): members[index].value = value
      case (let index?, nil): members.remove(at: index)
      case (nil, let value?): members.append(Member(name: name, value: value))
      case (nil, nil): break
      }
    }
  }

  /// Returns an object of the same names in the same order with transformed values.
  public func map(_ transform: (Member) -> JSONValue) -> JSONObject {
    var object = JSONObject()
    object.members = members.map { Member(name: $0.name, value: transform($0)) }
    return object
  }

  /// Returns an object of the members that a test accepts.
  public func filter(_ isIncluded: (Member) -> Bool) -> JSONObject {
    var object = JSONObject()
    object.members = members.filter(isIncluded)
    return object
  }

  /// Returns the same object with its JSON text cached until the next change. For objects that are
  /// sent repeatedly.
  public func keepingText() -> JSONObject {
    var object = self
    object.keptText = JSONValue.object(self).bytes()
    return object
  }

  /// Adds a member at the end. The caller guarantees or checks that the name is unique.
  mutating func append(_ name: String, _ value: JSONValue) {
    members.append(Member(name: name, value: value))
  }

  mutating func reserveCapacity(_ count: Int) { members.reserveCapacity(count) }

  /// A name that two members have, compared as bytes; `nil` if there is none. Sorts the names of a
  /// large object, so that a hostile one costs n log n instead of n².
  var duplicateName: String? {
    guard members.count > 16 else {
      for (index, member) in members.enumerated() {
        for earlier in members[..<index] where sameBytes(earlier.name, member.name) {
          return member.name
        }
      }
      return nil
    }
    let names = members.map(\.name).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    return zip(names, names.dropFirst()).first { sameBytes($0, $1) }?.0
  }
}

/// Whether two strings are the same UTF-8 bytes. `==` on `String` is canonical equivalence, which
/// equates U+212A (KELVIN SIGN) with `K`.
public func sameBytes(_ left: String, _ right: String) -> Bool {
  // Equal bytes imply canonical equivalence, and `==` rejects unequal strings faster.
  guard left.utf8.count == right.utf8.count, left == right else { return false }
  // Another spelling of ASCII text has more bytes.
  guard !left.utf8Span.isKnownASCII else { return true }
  let (left, right) = (left.utf8Span.span, right.utf8Span.span)
  for index in left.indices where left[index] != right[index] { return false }
  return true
}

extension JSONValue: Equatable {
  public static func == (left: JSONValue, right: JSONValue) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.bool(let left), .bool(let right)): left == right
    case (.number(let left), .number(let right)): left == right
    case (.string(let left), .string(let right)): sameBytes(left, right)
    case (.array(let left), .array(let right)): left == right
    case (.object(let left), .object(let right)): left == right
    default: false
    }
  }
}

extension JSONObject: Equatable {
  /// Whether both have the same names with the same values, in any order.
  public static func == (left: JSONObject, right: JSONObject) -> Bool {
    left.members.count == right.members.count
      && left.members.allSatisfy { right[$0.name] == $0.value }
  }
}

// MARK: - Taking apart

extension JSONValue {
  /// The characters of a string, with escapes resolved.
  public var string: String? { if case .string(let value) = self { value } else { nil } }
  /// The value of an integer without fraction and exponent that fits 64 bits.
  public var int64: Int64? { if case .number(let value) = self { value.int64 } else { nil } }
  /// `true` or `false`.
  public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
  /// The elements of an array.
  public var array: [JSONValue]? { if case .array(let value) = self { value } else { nil } }
  /// The members of an object.
  public var object: JSONObject? { if case .object(let value) = self { value } else { nil } }
  /// Whether the value is `null`, as opposed to absent.
  public var isNull: Bool { if case .null = self { true } else { false } }
  /// The value unless it is `null`, for members that count as absent then.
  public var present: JSONValue? { isNull ? nil : self }

  /// The member of an object; `nil` for a missing member or a value that is not an object.
  public subscript(_ name: String) -> JSONValue? { object?[name] }
}

// MARK: - Putting together

// There is no `ExpressibleByNilLiteral`, because `condition ? value : nil` would silently mean
// null, and a missing value and null are different.
extension JSONValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByIntegerLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  public init(stringLiteral value: String) { self = .string(value) }
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  public init(integerLiteral value: Int64) { self = .number(JSONNumber(value)) }
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(JSONObject(elements))
  }

  /// A whole number.
  public init(_ value: Int64) { self = .number(JSONNumber(value)) }
  /// A list of strings.
  public init(_ values: [String]) { self = .array(values.map(JSONValue.string)) }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
  public init(dictionaryLiteral elements: (String, JSONValue)...) { self.init(elements) }

  /// Creates an object of these members. A later member replaces an earlier one of the same name.
  public init(_ elements: [(String, JSONValue)]) {
    for (name, value) in elements { self[name] = value }
  }

  /// Creates an object of the members with a value: `JSONObject(present: ["email":
  /// email.map(JSONValue.string)])`.
  public init(present elements: KeyValuePairs<String, JSONValue?>) {
    for (name, value) in elements { if let value { self[name] = value } }
  }
}
