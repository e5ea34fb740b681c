internal import EinlassJSON

/// The name of an issuer as a descriptor has it: an address, or a template of those of its tenants.
struct IssuerName {
  /// The place for the id of a tenant: one whole segment of the path.
  static let place = "{tenantid}"

  let text: String

  init(_ text: String) { self.text = text }

  var isTemplate: Bool { text.split(separator: "/").contains { $0 == Self.place } }

  /// Whether a text names this issuer, in a template the one of this tenant. `nil` stands for any
  /// tenant.
  func isNamed(by said: String, tenant: String? = nil) -> Bool {
    guard isTemplate else { return sameBytes(said, text) }
    let parts = text.utf8.split(separator: UInt8(ascii: "{"), maxSplits: 1)
    guard parts.count == 2, let start = String(parts[0]),
      let end = String(parts[1].dropFirst(Self.place.utf8.count - 1)), said.hasPrefix(start),
      said.hasSuffix(end), said.utf8.count == start.utf8.count + 36 + end.utf8.count
    else { return false }
    let named = said.dropFirst(start.utf8.count).dropLast(end.utf8.count)
    return Self.isTenant(named) && tenant.map { sameBytes($0, String(named)) } ?? true
  }

  /// Whether the template is that of this address, which has the name of a group of tenants in the
  /// place. The id of one tenant is not that of every other.
  func isTemplate(of address: String) -> Bool {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    let named = address.split(separator: "/", omittingEmptySubsequences: false)
    return isTemplate && parts.count == named.count
      && zip(parts, named).allSatisfy {
        $0 == Self.place ? !Self.isTenant($1.lowercased()) : sameBytes(String($0), String($1))
      }
  }

  /// Whether a text is a GUID in lower case: 8, 4, 4, 4 and 12 hexadecimal digits.
  static func isTenant(_ text: some StringProtocol) -> Bool {
    let groups = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    return groups.map(\.count) == [8, 4, 4, 4, 12]
      && groups.joined().allSatisfy { byte in
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
          || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
      }
  }
}

extension JSONValue {
  /// The person of a token of a template's issuer, because `sub` differs by person only within the
  /// tenant; `nil` without the id of a tenant.
  func subject(ofTenant subject: String) -> String? {
    guard let tenant = self["tid"]?.string, IssuerName.isTenant(tenant) else { return nil }
    return "\(tenant)/\(subject)"
  }
}

extension DescriptorReader {
  /// Returns the issuer; `nil` without this word.
  func issuer(_ name: String) throws(Fault) -> WebAddress? {
    guard has(name) else { return nil }
    let text = try string(name)
    guard IssuerName(text).isTemplate else {
      let address = try address(name)
      guard sameBytes(address.text, text) else { throw unlike(name) }
      return address
    }
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    let fillings = parts.map { $0 == IssuerName.place ? "0" : String($0) }
    guard parts.count(where: { $0 == IssuerName.place }) == 1,
      var address = try? WebAddress.parse(fillings.joined(separator: "/")), address.isSafe,
      address.query == nil, text.hasPrefix(address.origin + "/")
    else { throw unlike(name) }
    address.path = String(text.dropFirst(address.origin.count))
    return address
  }

  private func unlike(_ name: String) -> Fault {
    fault(name, "Expected the address exactly as in the issuer's metadata.")
  }
}

extension Provider {
  /// Returns the identity of a provider, which is that of a tenant if an issuer is a template. Then
  /// only the id_token has the tenant, and the tenant itself decides about addresses.
  static func identity(
    _ identity: IdentityDescriptor?, of flows: [FlowDescriptor], in reader: DescriptorReader
  ) throws(DescriptorReader.Fault) -> IdentityDescriptor? {
    let issuers = flows.compactMap(\.tokens?.issuer?.text)
    guard issuers.contains(where: { IssuerName($0).isTemplate }) else { return identity }
    guard var identity, identity.isSubject, identity.request == nil, identity.idPrefix == nil,
      identity.emailVerified == nil, Set(issuers).count == 1,
      flows.allSatisfy({ $0.tokens?.identity == nil && $0.tokens?.verifiesIDTokens == true })
    else {
      throw reader.fault(
        "identity",
        """
        With a template as issuer, every flow needs the same one and its keySet, and the identity is \
        id /sub of the id_token, without request, idPrefix and emailVerified.
        """)
    }
    identity.isOfTenant = true
    return identity
  }
}
