internal import EinlassCrypto
public import EinlassJSON

/// A protected resource and the issuer of its tokens, for `accounts.signIn {resource}`. RFC 9728.
public struct ProtectedResource: Sendable, Equatable {
  /// The issuer of the resource's tokens.
  public enum Issuer: Sendable, Equatable {
    /// A provider of the catalogue, by its id.
    case known(String)
    /// A provider to be added first, by its descriptor.
    case new(JSONValue)
  }

  /// The resource's own name, used to request and to store its tokens. RFC 8707.
  public var name: String
  /// The scopes that the resource asks for; `nil` if it names none or too many.
  public var scopes: [String]?
  /// Whether the resource has refused a token because it lacks these scopes. RFC 6750 section 3.1.
  public var isStepUp = false
  /// Whether the resource takes only tokens that are bound to a key (RFC 9449), by its metadata or by
  /// a challenge without `Bearer`.
  public var bindsTokens = false
  public var issuer: Issuer
}

extension Einlass {
  /// The number of a resource's authorization servers that are asked for their metadata.
  private static let serverLimit = 4

  /// Finds the issuer of a resource's tokens. Reads the resource's metadata, then the authorization
  /// server's, unless the catalogue has a provider with this issuer.
  ///
  /// A resource with a public address leads only to servers with public addresses. A resource in the
  /// person's own network may lead to others there.
  ///
  /// Throws `unsafeURL` for an address that is neither https nor on this machine, and for a server
  /// that must be public and is not, `invalidParameter` for an invalid challenge, `providerFailure`
  /// for missing or invalid metadata, and `networkFailure`.
  ///
  /// - Parameters:
  ///   - address: The address of the resource's requests.
  ///   - challenge: The `WWW-Authenticate` header of the resource's answer, if there was one.
  ///   - asks: Without a challenge, sends the resource one request without a token to get it.
  ///   - flowKind: The flow of the sign-in. A flow without a page needs no PKCE.
  ///   - account: The account to sign in to, which may have a flow of its own.
  public func protectedResource(
    at address: String, challenge: String? = nil, asks: Bool = false,
    for flowKind: FlowKind? = nil, of account: Account.ID? = nil
  ) async throws(Problem) -> ProtectedResource {
    guard let resource = try? WebAddress.parse(address), resource.isSafe else {
      throw Problem(
        .unsafeURL, "The resource must be an https address.",
        path: "/resource")
    }
    var found = try challenge.map { header throws(Problem) in try Challenge(bearerIn: header) }
    if found == nil, asks { found = try await self.challenge(of: resource) }
    let challenge = found
    let places =
      try challenge?.metadataAddress(of: resource).map { [$0] }
      ?? ResourceMetadata.addresses(of: resource)
    let (metadata, isInternal) = try await metadata(of: resource, at: places)
    let kind = flowKind ?? account.flatMap { tradedFlow(of: $0, for: metadata.resource) }
    return ProtectedResource(
      name: metadata.resource, scopes: challenge?.scopes ?? metadata.usualScopes,
      isStepUp: challenge?["error"].map { sameBytes($0, "insufficient_scope") } ?? false,
      bindsTokens: metadata.bindsTokens || challenge?.scheme == "dpop",
      issuer: try await issuer(
        among: metadata.authorizationServers,
        requiringS256: kind == nil || kind == .authorizationCode, isPublicOnly: !isInternal))
  }

  /// Returns the flow of an account's token for a resource if an assertion was traded for it; `nil`
  /// for another token, and without one.
  private func tradedFlow(of account: Account.ID, for resource: String) -> FlowKind? {
    let stored = try? store.credentials(account).first { stored in
      stored.assertionSource != nil && stored.resource.map { sameBytes($0, resource) } ?? false
    }
    return stored?.binding.flowKind
  }

  /// Returns the challenge in the resource's answer to a request without a token; `nil` without one
  /// that can be used. RFC 9728 section 5.1.
  private func challenge(of resource: WebAddress) async throws(Problem) -> Challenge? {
    let response: HTTPResponse
    do throws(Problem) {
      response = try await effects.send(
        HTTPRequest(
          .get, resource, headers: [.init("Accept", "application/json, text/event-stream")],
          responseLimitBytes: ServerMetadata.limitBytes, timeout: .seconds(5)))
    } catch {
      // The answer may be a stream without an end. The metadata has its own places.
      guard error.reason == .networkFailure else { throw error }
      return nil
    }
    // A server may send a header for each challenge.
    let headers = response.headers.filter { $0.name == "www-authenticate" }.map(\.value)
    guard response.status == 401 else { return nil }
    do throws(Problem) {
      let challenge = try Challenge(bearerIn: headers.joined(separator: ", "))
      _ = try challenge.metadataAddress(of: resource)
      return challenge
    } catch { return nil }
  }

  /// Returns the metadata, and whether it came from a server in the person's own network.
  private func metadata(
    of resource: WebAddress, at places: [WebAddress]
  ) async throws(Problem) -> (ResourceMetadata, isInternal: Bool) {
    var absence: String?
    for place in places {
      let response = try await effects.document(
        HTTPRequest(.get, place, responseLimitBytes: ServerMetadata.limitBytes))
      guard response.isSuccess else {
        guard response.status < 500, response.status != 429 else {
          throw .undescribed(
            .resource, at: resource,
            "its answer has status \(response.status)", isRetryable: true)
        }
        absence = absence ?? response.foreignTrait
        continue
      }
      // A server with a page for every path answers with that page where it has no document.
      guard let document = try? response.json() else {
        absence = absence ?? response.fault
        continue
      }
      do throws(ResourceMetadata.Fault) {
        return (try ResourceMetadata(document, for: resource), response.isFromInternalAddress)
      } catch { throw .undescribed(.resource, at: resource, error.sentence) }
    }
    throw .undescribed(
      .resource, at: resource, absence.map { "it \($0)" } ?? "there is no such document")
  }

  /// Returns the first server in the catalogue, otherwise the first with valid metadata.
  private func issuer(
    among servers: [WebAddress], requiringS256: Bool, isPublicOnly: Bool
  ) async throws(Problem) -> ProtectedResource.Issuer {
    let servers = servers.prefix(Self.serverLimit)
    var problem: Problem?
    for server in servers {
      guard let (provider, tokens) = catalog.provider(issuer: server) else { continue }
      guard !isPublicOnly || provider.isPublicOnly != false else {
        problem = problem ?? .internalIssuer(server)
        continue
      }
      guard requiringS256, !tokens.announcesS256 else { return .known(provider.id) }
      problem =
        problem
        ?? .undescribed(.issuer, at: server, ServerMetadata.Fault.lacksS256.sentence)
    }
    for server in servers where catalog.provider(issuer: server) == nil {
      do throws(Problem) {
        let id = catalog.freeID(for: server)
        var request = AddProviderRequest(.issuer(server.text), id: id)
        request.requiresS256 = requiringS256
        request.isPublicOnly = isPublicOnly
        return .new(try await descriptor(of: request).descriptor)
      } catch {
        guard error.reason != .cancelled else { throw error }
        problem = problem ?? error
      }
    }
    throw problem ?? Problem(.internal, "A resource without authorization servers was read.")
  }
}

extension Problem {
  /// A resource on the internet names a server that only a resource in the own network may name.
  fileprivate static func internalIssuer(_ server: WebAddress) -> Problem {
    Problem(
      .unsafeURL,
      "The resource names \(presentable(server.host)), which was added for a resource of your own network. Nothing was sent there.",
      detail: notPublic)
  }
}

extension ProviderCatalog {
  /// Returns the provider with this issuer, if its tokens are for resources. Others do not count,
  /// because a resource could name a provider that the person uses for other purposes, and would
  /// get a token for those.
  func provider(issuer: WebAddress) -> (Provider, TokenEndpoint)? {
    for provider in providers {
      for tokens in provider.flows.lazy.compactMap(\.tokens) where tokens.isForResources {
        guard let own = tokens.issuer, sameBytes(own.text, issuer.text) else { continue }
        return (provider, tokens)
      }
    }
    return nil
  }

  /// Returns the usual id for an issuer, or the other one if the usual one is taken.
  func freeID(for issuer: WebAddress) -> String {
    holds(issuer.providerID) ? issuer.otherProviderID : issuer.providerID
  }
}

extension Challenge {
  /// The challenge that a token answers. Throws `invalidParameter` if the header has none.
  ///
  /// A resource that takes tokens with and without proof sends two challenges, and may name its
  /// metadata in one alone. The scheme is then `bearer`.
  fileprivate init(bearerIn header: String) throws(Problem) {
    guard let challenges = Challenge.parse(header) else {
      throw .invalidParameter(
        "/challenge", "The challenge is malformed, is over 8 KiB, or names a parameter twice.")
    }
    let fitting = challenges.filter { ["bearer", "dpop"].contains($0.scheme) }
    guard
      let challenge = fitting.first(where: { $0.resourceMetadata != nil })
        ?? fitting.first(where: { $0["scope"] != nil }) ?? fitting.first
    else {
      throw .invalidParameter(
        "/challenge", "The challenge is not a WWW-Authenticate header that asks for a bearer token."
      )
    }
    self = challenge
    if fitting.contains(where: { $0.scheme == "bearer" }) { scheme = "bearer" }
  }

  /// The scopes that the request lacked; `nil` if the challenge names none. RFC 6750 section 3.
  fileprivate var scopes: [String]? {
    self["scope"].map { $0.split(separator: " ").map(String.init).filter(isIdentifier) }
      .flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Returns the address of the resource's metadata. Throws `unsafeURL` for another origin than the
  /// resource's, because only the resource may name the issuer of its tokens.
  fileprivate func metadataAddress(of resource: WebAddress) throws(Problem) -> WebAddress? {
    guard let text = resourceMetadata else { return nil }
    guard let address = try? WebAddress.parse(text), sameBytes(address.origin, resource.origin)
    else {
      throw Problem(
        .unsafeURL,
        "The challenge names metadata on another server than the resource's.",
        path: "/challenge")
    }
    return address
  }
}

extension ResourceMetadata {
  /// The scopes for a request without a challenge: all named by the resource. `nil` for none, and
  /// for more than 32, which are not meant to be requested together.
  fileprivate var usualScopes: [String]? {
    let scopes = scopes.filter(isIdentifier)
    return scopes.isEmpty || scopes.count > 32 ? nil : scopes
  }
}

extension ResourceMetadata.Fault {
  fileprivate var sentence: String {
    switch self {
    case .member(let name): "its \(name) is missing or malformed"
    case .foreignResource: "it describes another resource"
    case .unsafeAddress:
      "the address of an authorization server is not https, or is on this machine"
    case .lacksBearerHeader: "it does not accept tokens in the Authorization header"
    }
  }
}
