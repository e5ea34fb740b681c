internal import EinlassCrypto
public import EinlassJSON

/// A protected resource, and who issues tokens for it. `accounts.signIn {resource}`; RFC 9728.
public struct ProtectedResource: Sendable, Equatable {
  /// Who issues tokens.
  public enum Issuer: Sendable, Equatable {
    /// A provider of the catalogue, by its id.
    case known(String)
    /// One that has to be added first, by its descriptor.
    case new(JSONValue)
  }

  /// Its own name, which tokens are asked for with and stored by. RFC 8707.
  public var name: String
  /// What the resource wants a token to be good for; `nil` when nobody says.
  public var scopes: [String]?
  public var issuer: Issuer
}

extension Einlass {
  /// How many authorization servers of one resource are asked.
  private static let serverLimit = 4

  /// Finds out who issues tokens for a resource: by the resource's own description, then by that of the authorization
  /// server, unless the catalogue has a provider with this issuer.
  ///
  /// - Parameters:
  ///   - address: of the resource, as its requests go there.
  ///   - challenge: the `WWW-Authenticate` header that the resource has answered with, if it has.
  ///
  /// Throws `unsafeURL` for what is not https (or on this machine), `invalidParameter` for a challenge that is none,
  /// `providerFailure` for a resource or server that does not describe itself as it should, `networkFailure`.
  public func protectedResource(
    at address: String, challenge: String? = nil
  ) async throws(Problem) -> ProtectedResource {
    guard let resource = try? WebAddress.parse(address), resource.isSafe else {
      throw Problem(
        .unsafeURL, "The resource is no https address. Give the one that its requests go to.",
        path: "/resource")
    }
    let challenge = try challenge.map { header throws(Problem) in try Challenge(bearerIn: header) }
    let places =
      try challenge?.metadataAddress(of: resource).map { [$0] }
      ?? ResourceMetadata.addresses(of: resource)
    let metadata = try await metadata(of: resource, at: places)
    return ProtectedResource(
      name: metadata.resource, scopes: challenge?.scopes ?? metadata.usualScopes,
      issuer: try await issuer(among: metadata.authorizationServers))
  }

  private func metadata(
    of resource: WebAddress, at places: [WebAddress]
  ) async throws(Problem) -> ResourceMetadata {
    for place in places {
      let response = try await effects.send(
        HTTPRequest(.get, place, responseLimitBytes: ServerMetadata.limitBytes))
      guard response.isSuccess else {
        guard response.status < 500, response.status != 429 else {
          throw .undescribed(resource, "try again later", isRetryable: true)
        }
        continue
      }
      do throws(ResourceMetadata.Fault) {
        return try ResourceMetadata(try? JSONReader.read(response.body), for: resource)
      } catch { throw .undescribed(resource, error.sentence) }
    }
    throw .undescribed(resource, "it has no such document")
  }

  /// The first that the catalogue has, else the first that describes itself.
  private func issuer(
    among servers: [WebAddress]
  ) async throws(Problem) -> ProtectedResource.Issuer {
    let servers = servers.prefix(Self.serverLimit)
    for server in servers {
      if let provider = catalog.provider(issuer: server) { return .known(provider.id) }
    }
    var problem: Problem?
    for server in servers {
      do throws(Problem) {
        let id = catalog.freeID(for: server)
        return .new(
          try await descriptor(of: AddProviderRequest(.issuer(server.text), id: id)))
      } catch {
        guard error.reason != .cancelled else { throw error }
        problem = problem ?? error
      }
    }
    throw problem ?? Problem(.internal, "A resource without authorization servers was read.")
  }
}

extension ProviderCatalog {
  /// The provider whose tokens this issuer signs or answers for, unless they serve everywhere: a resource could name a
  /// provider that the person uses for other things, and would get a token for those.
  func provider(issuer: WebAddress) -> Provider? {
    providers.first { provider in
      provider.flows.contains { flow in
        guard let tokens = flow.tokens, tokens.isForResources else { return false }
        return tokens.issuer.map { sameBytes($0.text, issuer.text) } ?? false
      }
    }
  }

  /// The usual id for an issuer, or another where some other provider has that.
  func freeID(for issuer: WebAddress) -> String {
    holds(issuer.providerID) ? issuer.otherProviderID : issuer.providerID
  }
}

extension Challenge {
  /// The challenge of a header that is answered with a token. Throws `invalidParameter`.
  fileprivate init(bearerIn header: String) throws(Problem) {
    let challenges = Challenge.parse(header)
    guard
      let challenge = challenges?.first(where: { ["bearer", "dpop"].contains($0.scheme) })
    else {
      throw .invalidParameter(
        "/challenge", "Give the value of a WWW-Authenticate header that asks for a bearer token.")
    }
    self = challenge
  }

  /// What the request lacked. RFC 6750 section 3.
  fileprivate var scopes: [String]? {
    self["scope"].map { $0.split(separator: " ").map(String.init).filter(isIdentifier) }
      .flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Where the resource says that it describes itself. Throws `unsafeURL` for another origin than its own: nobody else
  /// may say who issues its tokens.
  fileprivate func metadataAddress(of resource: WebAddress) throws(Problem) -> WebAddress? {
    guard let text = resourceMetadata else { return nil }
    guard let address = try? WebAddress.parse(text), sameBytes(address.origin, resource.origin)
    else {
      throw Problem(
        .unsafeURL,
        "The challenge leads to another server than the resource's, so it is not followed.",
        path: "/challenge")
    }
    return address
  }
}

extension ResourceMetadata {
  /// What is asked for when no challenge says: all that it names, unless that is too much to be meant.
  fileprivate var usualScopes: [String]? {
    let scopes = scopes.filter(isIdentifier)
    return scopes.isEmpty || scopes.count > 32 ? nil : scopes
  }
}

extension ResourceMetadata.Fault {
  fileprivate var sentence: String {
    switch self {
    case .member(let name): "its \(name) is missing or malformed"
    case .foreignResource: "it speaks for another resource"
    case .unsafeAddress: "an authorization server of it is no https address, or one of this machine"
    case .lacksBearerHeader: "it takes tokens in no header"
    }
  }
}

extension Problem {
  fileprivate static func undescribed(
    _ resource: WebAddress, _ why: String, isRetryable: Bool = false
  ) -> Problem {
    Problem(
      .providerFailure,
      "The resource at \(resource.host) does not say who issues its tokens as it should: \(why).",
      isRetryable: isRetryable)
  }
}
