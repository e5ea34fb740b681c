internal import EinlassJSON

/// A strict reader of one object of a catalogue. Every missing, misspelt or mistyped member is
/// reported with its provider and JSON pointer.
struct DescriptorReader {
  typealias Fault = ProviderCatalog.Fault

  /// More than any object needs, and few enough for linear searches.
  private static let memberLimit = 256

  /// The provider's id, once it is known.
  let provider: String?
  /// The object's JSON pointer in the document.
  let pointer: String
  private let object: JSONObject

  /// Throws unless the value is an object and all its members have one of these names.
  init(_ value: JSONValue, at pointer: String, provider: String?, members: [String]) throws(Fault) {
    self.provider = provider
    self.pointer = pointer
    guard let object = value.object else {
      throw Fault(provider: provider, pointer: pointer, explanation: "Expected an object.")
    }
    self.object = object
    guard object.members.count <= Self.memberLimit else {
      throw Fault(
        provider: provider, pointer: pointer,
        explanation: "Expected at most \(Self.memberLimit) members.")
    }
    for member in object.members where !members.contains(where: { sameBytes($0, member.name) }) {
      throw Fault(
        provider: provider, pointer: appending(member.name, toPointer: pointer),
        explanation: "Unknown member. Known members: \(members.joined(separator: ", ")).")
    }
  }

  /// Returns a reader of the same object with the provider's id in its faults.
  func naming(_ provider: String) throws(Fault) -> DescriptorReader {
    try DescriptorReader(
      .object(object), at: pointer, provider: provider, members: object.members.map(\.name))
  }

  func fault(_ name: String, _ explanation: String) -> Fault {
    Fault(
      provider: provider, pointer: appending(name, toPointer: pointer), explanation: explanation)
  }

  func has(_ name: String) -> Bool { object[name] != nil }

  // MARK: Members that must be there

  /// Returns a member of any type.
  func value(_ name: String) throws(Fault) -> JSONValue {
    guard let value = object[name] else { throw fault(name, "This member is missing.") }
    return value
  }

  /// Returns a text that is not empty.
  func string(_ name: String) throws(Fault) -> String {
    guard let text = try value(name).string, !text.isEmpty else {
      throw fault(name, "Expected a text.")
    }
    return text
  }

  /// Returns a name for people, valid by `isName`.
  func name(_ name: String) throws(Fault) -> String {
    let text = try string(name)
    guard isName(text) else {
      throw fault(
        name,
        "Expected a text of at most 256 bytes, not blank, without control characters.")
    }
    return text
  }

  /// Returns a text for display: without control characters, which could break, hide or reorder it,
  /// and short enough for a line of the protocol.
  func shown(_ name: String) throws(Fault) -> String {
    try shown([string(name)], name)[0]
  }

  /// Returns a list of texts for display.
  func shownList(_ name: String) throws(Fault) -> [String] { try shown(strings(name), name) }

  private func shown(_ texts: [String], _ name: String) throws(Fault) -> [String] {
    for text in texts
    where text.utf8.count > 2048 || text.unicodeScalars.contains(where: isControl) {
      throw fault(
        name, "Expected a text of at most 2048 bytes without control characters.")
    }
    return texts
  }

  /// Returns a case of an enumeration.
  func word<Word: RawRepresentable & CaseIterable>(_ name: String, _: Word.Type) throws(Fault)
    -> Word
  where Word.RawValue == String {
    try word(string(name), name)
  }

  /// Returns a list of cases of an enumeration.
  func words<Word: RawRepresentable & CaseIterable>(
    _ name: String, _: Word.Type
  ) throws(Fault) -> [Word] where Word.RawValue == String {
    var words: [Word] = []
    for text in try strings(name) { words.append(try word(text, name)) }
    return words
  }

  /// Returns a list of texts, none of them empty.
  func strings(_ name: String) throws(Fault) -> [String] {
    var strings: [String] = []
    for element in try list(name) {
      guard let text = element.value.string, !text.isEmpty else {
        throw Fault(
          provider: provider, pointer: element.pointer, explanation: "Expected a text.")
      }
      strings.append(text)
    }
    return strings
  }

  /// Returns the elements of a list with their JSON pointers.
  func list(_ name: String) throws(Fault) -> [(value: JSONValue, pointer: String)] {
    guard let elements = try value(name).array else {
      throw fault(name, "Expected a list.")
    }
    let place = appending(name, toPointer: pointer)
    return elements.enumerated().map { ($1, "\(place)/\($0)") }
  }

  /// Returns a reader of a member object with only these words.
  func object(_ name: String, members: [String]) throws(Fault) -> DescriptorReader {
    try DescriptorReader(
      value(name), at: appending(name, toPointer: pointer), provider: provider, members: members)
  }

  /// Returns a JSON pointer (RFC 6901) into an answer.
  func pointer(_ name: String) throws(Fault) -> String {
    let text = try string(name)
    guard text.hasPrefix("/") else { throw fault(name, "Expected a JSON pointer, such as /id.") }
    return text
  }

  /// Returns a path segment of letters, digits, dots, hyphens and underscores.
  func segment(_ name: String) throws(Fault) -> String {
    let text = try string(name)
    let isSegment = text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"),
        UInt8(ascii: "_"):
        true
      default: false
      }
    }
    guard (1...32).contains(text.utf8.count), isSegment, !text.allSatisfy({ $0 == "." }) else {
      throw fault(name, "Expected a version, such as v2.8.")
    }
    return text
  }

  /// Returns an address that secrets may be sent to.
  func address(_ name: String) throws(Fault) -> WebAddress {
    let address: WebAddress
    do { address = try WebAddress.parse(string(name)) } catch let fault as WebAddress.Fault {
      throw self.fault(name, "This address \(fault.rawValue).")
    } catch {
      throw fault(name, "Expected an address.")
    }
    guard address.isSafe else {
      throw fault(name, "Plain http is allowed only for literal loopback addresses.")
    }
    return address
  }

  // MARK: Members that may be missing

  /// Returns the value read, or `nil` for a missing member.
  func optional<Value>(
    _ name: String, _ read: (String) throws(Fault) -> Value
  ) throws(Fault) -> Value? {
    has(name) ? try read(name) : nil
  }

  func bool(_ name: String, default fallback: Bool) throws(Fault) -> Bool {
    guard has(name) else { return fallback }
    guard let value = try value(name).bool else {
      throw fault(name, "Expected true or false.")
    }
    return value
  }

  private func word<Word: RawRepresentable & CaseIterable>(
    _ text: String, _ name: String
  ) throws(Fault) -> Word where Word.RawValue == String {
    guard let word = Word.allCases.first(where: { sameBytes($0.rawValue, text) }) else {
      let known = Word.allCases.map(\.rawValue).joined(separator: ", ")
      throw fault(name, "Unknown value. Known values: \(known).")
    }
    return word
  }
}
