internal import EinlassJSON

/// A protected resource's metadata. RFC 9728 section 2.
struct ResourceMetadata: Equatable {
  /// The resource's own name, for token requests. RFC 8707.
  var resource: String
  /// The servers that issue tokens for it; not empty.
  var authorizationServers: [WebAddress]
  /// Empty if the document names none.
  var scopes: [String]
  /// Whether tokens must be bound to a key: `dpop_bound_access_tokens_required`. A value that is no
  /// boolean counts as true, because the member demands protection.
  var bindsTokens: Bool

  /// The reason to refuse a document, before a request to any address in it.
  enum Fault: Error, Equatable {
    /// The document is no JSON object, or a member has a wrong type or is missing.
    case member(String)
    /// The document describes a resource that does not contain the requested address. RFC 9728
    /// section 3.3.
    case foreignResource
    /// An authorization server's address is malformed, uses plain http, or points to this machine
    /// although the resource is elsewhere.
    case unsafeAddress
    /// The resource does not accept tokens in the header. RFC 9728 section 2.
    case lacksBearerHeader
  }

  /// Returns the addresses of the document in the order of the search: for the resource's path,
  /// then for the whole host. RFC 9728 section 3.1.
  static func addresses(of resource: WebAddress) -> [WebAddress] {
    let path = resource.path == "/" ? "" : resource.path
    var place = resource
    place.path = "/.well-known/oauth-protected-resource" + path
    var root = place
    (root.path, root.query) = ("/.well-known/oauth-protected-resource", nil)
    return place == root ? [place] : [place, root]
  }

  /// Reads a document fetched for this address. The resource's name must be the address itself or a
  /// prefix of it: the same origin, and a path at or above the address's.
  init(_ document: JSONValue?, for address: WebAddress) throws(Fault) {
    guard let object = document?.object else { throw .member("document") }
    guard let name = object["resource"]?.string, let resource = try? WebAddress.parse(name) else {
      throw .member("resource")
    }
    guard resource.isAtOrAbove(address) else { throw .foreignResource }
    var reader = MetadataReader(object, from: address)
    guard let servers = reader.list("authorization_servers"), !servers.isEmpty else {
      throw .member("authorization_servers")
    }
    authorizationServers = servers.compactMap { server in
      (try? WebAddress.parse(server)).flatMap { address.mayName($0) ? $0 : nil }
    }
    guard !authorizationServers.isEmpty else { throw .unsafeAddress }
    let ways = reader.list("bearer_methods_supported") ?? []
    guard ways.isEmpty || ways.contains("header") else { throw .lacksBearerHeader }
    scopes = reader.scopes("scopes_supported")
    let demand = object["dpop_bound_access_tokens_required"]?.present
    bindsTokens = demand.map { $0.bool ?? true } ?? false
    self.resource = name
  }
}

extension WebAddress {
  /// Whether the other address is this one or below it. Only whole path segments count, and a query
  /// must be equal.
  func isAtOrAbove(_ other: WebAddress) -> Bool {
    guard sameBytes(origin, other.origin) else { return false }
    let (above, below) = (steps, other.steps)
    // A server may resolve `..` and leave this path.
    guard !below.contains(where: Self.isDots) else { return false }
    guard above.count <= below.count, zip(above, below).allSatisfy({ sameBytes($0, $1) }) else {
      return false
    }
    return query.map { sameBytes($0, other.query ?? "") } ?? true
  }

  private var steps: [String] { path.split(separator: "/").map(String.init) }

  private static func isDots(_ step: String) -> Bool {
    PercentEncoding.decode(step.utf8).map { $0 == [0x2E] || $0 == [0x2E, 0x2E] } ?? true
  }
}
