internal import EinlassJSON

/// Reads the members of a metadata document.
///
/// People cannot repair their server's document, so a member that is not needed does not spoil it: one
/// that cannot be read counts as absent, and an unsafe address is never used.
struct MetadataReader {
  let object: JSONObject
  /// The server that the document was fetched for.
  let home: WebAddress?
  /// The members that cannot be read, in the order of reading.
  private(set) var ignored: [String] = []

  init(_ object: JSONObject, from home: WebAddress?) {
    (self.object, self.home) = (object, home)
  }

  /// Returns an address that the description needs; `nil` if it is absent. Throws if it cannot be
  /// used.
  func needed(_ name: String) throws(ServerMetadata.Fault) -> WebAddress? {
    guard let value = object[name]?.present else { return nil }
    guard let text = value.string else { throw .member(name) }
    guard let address = usable(text) else { throw .unsafeAddress(name) }
    return address
  }

  /// Returns an address that the description does not need; `nil` if it cannot be used.
  mutating func address(_ name: String) -> WebAddress? {
    guard let value = object[name]?.present else { return nil }
    guard let address = usable(value.string) else {
      note(name)
      return nil
    }
    return address
  }

  /// Returns an address in a group of addresses. One with a query is not used.
  mutating func address(_ name: String, in group: String) -> WebAddress? {
    guard let members = object[group]?.present else { return nil }
    guard members.object != nil else {
      note(group)
      return nil
    }
    guard let value = members[name]?.present else { return nil }
    guard let address = usable(value.string), address.query == nil else {
      note(group)
      return nil
    }
    return address
  }

  /// Returns the texts of a list, or a single text as a list of one.
  mutating func list(_ name: String) -> [String]? {
    read(name) { value in
      if let text = value.string {
        text.isEmpty ? nil : [text]
      } else {
        value.array?.compactMap(\.string)
      }
    }
  }

  /// Returns the known names of a list. One of unknown names alone counts as unreadable.
  mutating func list<Name>(_ name: String, of known: (String) -> Name?) -> [Name] {
    guard let names = list(name), !names.isEmpty else { return [] }
    let found = names.compactMap(known)
    if found.isEmpty { note(name) }
    return found
  }

  /// Returns a list of scopes. A text has them between blanks, as in a request.
  mutating func scopes(_ name: String) -> [String] {
    (list(name) ?? []).flatMap { $0.split(separator: " ").map(String.init) }
  }

  /// Returns whether a feature is announced.
  mutating func flag(_ name: String) -> Bool { read(name) { $0.bool } ?? false }

  private mutating func read<Value>(_ name: String, _ reading: (JSONValue) -> Value?) -> Value? {
    guard let value = object[name]?.present else { return nil }
    let read = reading(value)
    if read == nil { note(name) }
    return read
  }

  private mutating func note(_ name: String) {
    if !ignored.contains(name) { ignored.append(name) }
  }

  private func usable(_ text: String?) -> WebAddress? {
    guard let address = text.flatMap({ try? WebAddress.parse($0) }),
      home?.mayName(address) == true
    else { return nil }
    return address
  }
}

extension MetadataReader {
  /// Throws for a member that promises or demands protection and cannot be read, because it would
  /// protect nobody if it counted as absent. Members that einlass does not know are among them.
  func requireProtectionReadable() throws(ServerMetadata.Fault) {
    for member in object.members where !member.value.isNull {
      let isReadable =
        if Self.isListOfProtection(member.name) {
          member.value.string.map { !$0.isEmpty }
            ?? member.value.array?.allSatisfy { $0.string != nil } ?? false
        } else if Self.isFlagOfProtection(member.name) {
          member.value.bool != nil
        } else {
          true
        }
      guard isReadable else { throw .member(member.name) }
    }
  }

  fileprivate static func isListOfProtection(_ name: String) -> Bool {
    name.hasSuffix("_signing_alg_values_supported") || name == "code_challenge_methods_supported"
  }

  fileprivate static func isFlagOfProtection(_ name: String) -> Bool {
    name.hasPrefix("require_") || name.hasPrefix("dpop_")
      || name == "authorization_response_iss_parameter_supported"
      || name == "tls_client_certificate_bound_access_tokens"
  }
}

extension ServerMetadata.Fault {
  /// Whether a member that promises or demands protection is the cause.
  var isOfProtection: Bool {
    switch self {
    case .member(let name):
      MetadataReader.isListOfProtection(name) || MetadataReader.isFlagOfProtection(name)
    case .demand, .lacksS256: true
    case .foreignIssuer, .unsafeAddress, .unsupported: false
    }
  }
}
