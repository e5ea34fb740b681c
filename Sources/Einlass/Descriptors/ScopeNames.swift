internal import EinlassJSON

/// A provider's short names for lists of scopes: the word `scopeNames` of its descriptor.
///
///     "scopeNames": {"mail": ["https://mail.example.com/"]}
///
/// A request may name such a list in the place of its scopes. An empty list stands for the usual
/// scopes, because they suffice for that use.
public struct ScopeNames: Sendable, Equatable {
  /// The scopes of one name.
  public struct List: Sendable, Equatable {
    public var name: String
    public var scopes: [String]
  }

  /// In the descriptor's order.
  public private(set) var lists: [List] = []

  init(_ name: String, in reader: DescriptorReader) throws(DescriptorReader.Fault) {
    guard reader.has(name) else { return }
    guard let members = try reader.value(name).object?.members, !members.isEmpty else {
      throw reader.fault(name, "Expected an object of lists of scopes.")
    }
    let reader = try reader.object(name, members: members.map(\.name))
    for member in members {
      // A name in this form is no scope with an address or a colon.
      guard (1...64).contains(member.name.utf8.count), member.name.utf8.allSatisfy(isNameCharacter)
      else { throw reader.fault(member.name, "Expected a name of the characters a-z, 0-9 and -.") }
      lists.append(List(name: member.name, scopes: try reader.scopes(member.name)))
    }
  }

  /// Whether one of these scopes is a name.
  func isUsed(in scopes: [String]) -> Bool { scopes.contains { self[$0] != nil } }

  /// Returns the scopes with each name replaced by its list, and each scope at most once. Scopes
  /// without a name among them are returned unchanged.
  func replaced(in scopes: [String]) -> [String] {
    guard isUsed(in: scopes) else { return scopes }
    return scopes.flatMap { self[$0] ?? [$0] }.withoutRepetitions
  }

  private subscript(_ name: String) -> [String]? {
    lists.first { sameBytes($0.name, name) }?.scopes
  }
}

extension DescriptorReader {
  /// Returns a list of scopes, which may be empty.
  func scopes(_ name: String) throws(Fault) -> [String] {
    let scopes = try strings(name)
    guard scopes.count <= 64, scopes.allSatisfy(isIdentifier) else {
      throw fault(
        name, "Expected at most 64 texts of at most 256 bytes without control characters.")
    }
    return scopes
  }
}

extension [String] {
  /// The texts in their order, each at most once; compared as bytes.
  public var withoutRepetitions: [String] {
    reduce(into: []) { result, text in
      if !result.contains(where: { sameBytes($0, text) }) { result.append(text) }
    }
  }
}

private func isNameCharacter(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
    UInt8(ascii: "-"):
    true
  default: false
  }
}
