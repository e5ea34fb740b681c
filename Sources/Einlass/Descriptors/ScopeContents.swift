internal import EinlassJSON

/// The scopes that a wider scope of a provider contains: the word `scopeContents` of its descriptor.
///
///     "scopeContents": {"repo": ["public_repo", "repo:status"]}
///
/// A token with the wider scope lacks none of them. Only the provider's own documentation says so.
public struct ScopeContents: Sendable, Equatable {
  /// A scope and those that it contains.
  public struct Wider: Sendable, Equatable {
    public var scope: String
    public var contained: [String]
  }

  /// In the descriptor's order.
  public private(set) var scopes: [Wider] = []

  init(_ name: String, in reader: DescriptorReader) throws(DescriptorReader.Fault) {
    guard reader.has(name) else { return }
    guard let members = try reader.value(name).object?.members, !members.isEmpty else {
      throw reader.fault(name, "Expected an object of lists of scopes.")
    }
    let reader = try reader.object(name, members: members.map(\.name))
    for member in members {
      let contained = try reader.scopes(member.name)
      guard !contained.isEmpty, isIdentifier(member.name) else {
        throw reader.fault(
          member.name, "Expected the name of a scope, and scopes that it contains.")
      }
      scopes.append(Wider(scope: member.name, contained: contained))
    }
  }

  /// Returns the narrowest scope that contains this one; `nil` if none does.
  func widened(_ scope: String) -> String? {
    scopes.filter { entry in entry.contained.contains { sameBytes($0, scope) } }
      .min { $0.contained.count < $1.contained.count }?.scope
  }

  /// Returns those of the wanted scopes that a token with the held ones lacks.
  func lacking(_ wanted: [String], in held: [String]) -> [String] {
    let wider = scopes.filter { entry in held.contains { sameBytes($0, entry.scope) } }
    let all = held + wider.flatMap(\.contained)
    return wanted.filter { scope in !all.contains { sameBytes($0, scope) } }
  }
}
