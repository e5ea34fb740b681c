internal import EinlassJSON

/// What a protected resource says of itself. RFC 9728 section 2.
struct ResourceMetadata: Equatable {
  /// The resource's own name, which tokens are asked for with. RFC 8707.
  var resource: String
  /// Those that issue tokens for it; not empty.
  var authorizationServers: [WebAddress]
  /// Empty when it does not say.
  var scopes: [String]

  /// Why a document is refused, before anything is sent to any address in it.
  enum Fault: Error, Equatable {
    /// It is no JSON object, or a member has a wrong type or is missing.
    case member(String)
    /// It speaks for a resource that the address asked for is not part of. RFC 9728 section 3.3.
    case foreignResource
    /// An authorization server's address is plain http, or not one, or of this machine though the resource is elsewhere.
    case unsafeAddress
    /// It takes tokens in another place than a header alone. Section 2.
    case lacksBearerHeader
  }

  /// Where the document may be, in the order in which it is looked for: before the resource's path, then for the whole
  /// host. RFC 9728 section 3.1.
  static func addresses(of resource: WebAddress) -> [WebAddress] {
    let path = resource.path == "/" ? "" : resource.path
    var place = resource
    place.path = "/.well-known/oauth-protected-resource" + path
    var root = place
    (root.path, root.query) = ("/.well-known/oauth-protected-resource", nil)
    return place == root ? [place] : [place, root]
  }

  /// Reads a document that was fetched for this resource. Its name has to be the resource's address, or lead to it:
  /// the same origin, and a path that it begins with.
  init(_ document: JSONValue?, for address: WebAddress) throws(Fault) {
    guard let object = document?.object else { throw .member("document") }
    guard let name = object["resource"]?.string, let resource = try? WebAddress.parse(name) else {
      throw .member("resource")
    }
    guard resource.isAtOrAbove(address) else { throw .foreignResource }
    guard let servers = object["authorization_servers"]?.array, !servers.isEmpty else {
      throw .member("authorization_servers")
    }
    authorizationServers = []
    for server in servers {
      guard let text = server.string, let server = try? WebAddress.parse(text),
        address.mayName(server)
      else { throw .unsafeAddress }
      authorizationServers.append(server)
    }
    if let ways = object["bearer_methods_supported"] {
      guard let ways = ways.array else { throw .member("bearer_methods_supported") }
      guard ways.isEmpty || ways.contains("header") else { throw .lacksBearerHeader }
    }
    scopes = object["scopes_supported"]?.array?.compactMap(\.string) ?? []
    self.resource = name
  }
}

extension WebAddress {
  /// Whether another address is this one, or below it: whole steps of the path count, and a query has to be the same.
  fileprivate func isAtOrAbove(_ other: WebAddress) -> Bool {
    guard sameBytes(origin, other.origin) else { return false }
    let (above, below) = (steps, other.steps)
    // A server may walk up again.
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
