internal import EinlassCrypto
internal import EinlassJSON

/// The automatic registration of the application at a provider, when a sign-in first needs it. RFC
/// 7591.
struct AutomaticRegistration {
  /// The remaining lifetime below which a secret is no longer used.
  private static let marginSeconds: Int64 = 60
  private static let deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

  let provider: Provider
  /// The application's name on the provider's page.
  let applicationName: String
  /// The scopes that the sign-in asks for.
  let scopes: [String]
  let store: AccountStore
  let effects: Effects

  /// A registration for a sign-in.
  private struct Found {
    var registration: ClientRegistration
    /// Whether the provider issued it on request.
    var isIssued: Bool
    /// Whether the registration may be replaced if the provider does not know it: once in a
    /// sign-in, and not if it was just issued.
    var mayBeForgotten: Bool
  }

  /// Runs a sign-in with the application's registration, and once more with a new one if the
  /// provider has forgotten it.
  func run<Success: Sendable>(
    at offer: DynamicRegistration,
    _ signIn: (ClientRegistration) async throws(Problem) -> Success
  ) async throws(Problem) -> Success {
    var found = try await registration(at: offer)
    if found.mayBeForgotten, try await isForgotten(found.registration) {
      found = try await another(at: offer, insteadOf: found)
    }
    do throws(Problem) { return try await signIn(found.registration) } catch {
      guard error.isAboutUnknownClient, found.mayBeForgotten else {
        throw self.problem(error, of: found)
      }
      found = try await another(at: offer, insteadOf: found)
    }
    do throws(Problem) { return try await signIn(found.registration) } catch {
      throw self.problem(error, of: found)
    }
  }

  /// Returns the stored registration, otherwise a new one. Only one request of all processes
  /// registers at a time; those that waited use its registration.
  ///
  /// Throws `providerFailure`, with `providers.configure` as the hint, when the provider refuses.
  ///
  /// - Parameter forgotten: A registration unknown to the provider. It is replaced, unless a person
  ///   configured it.
  private func registration(
    at offer: DynamicRegistration, insteadOf forgotten: ClientRegistration? = nil
  ) async throws(Problem) -> Found {
    if let stored = try stored(insteadOf: forgotten, at: offer) { return stored }
    let lease = try await store.lease(leaseName, waiting: effects)
    defer { lease.keepAlive() }
    if let stored = try stored(insteadOf: forgotten, at: offer) { return stored }
    let redirect = try await redirect()
    let wanted = try scopes(beside: offer)
    var registered = (offer.scopes + wanted).withoutRepetitions
    var response = try await self.response(to: offer, redirect, grantTypes, registered)
    // Some servers refuse the device grant, which a browser sign-in does not need.
    if response.status == 400, provider.flowKinds.contains(.authorizationCode) {
      let others = grantTypes.filter { $0 != Self.deviceGrant }
      if others != grantTypes {
        response = try await self.response(to: offer, redirect, others, registered)
      }
    }
    // A server of an older version lacks some scopes.
    for scopes in [provider.widened(registered), wanted, provider.widened(wanted)]
    where [400, 422].contains(response.status) && scopes != registered {
      registered = scopes
      response = try await self.response(to: offer, redirect, grantTypes, registered)
    }
    let json = try? response.json()
    guard response.isSuccess else { throw refusal(response, json) }
    var registration: ClientRegistration
    let expiresAt: UnixTime?
    do throws(DynamicRegistration.Fault) {
      (registration, expiresAt) = try offer.registration(in: json, redirect: redirect)
    } catch { throw registrationFailure(error.sentence) }
    if !registered.isEmpty { registration.scopes = registered }
    _ = try store.registrations.set(
      provider.id, nil,
      StoredRegistration(
        provider: provider.id, registration: registration, origins: provider.origins,
        isIssued: true, expiresAt: expiresAt), .usual)
    // A registration that a person configured meanwhile takes precedence.
    if let stored = try stored(at: offer), !stored.isIssued { return stored }
    return Found(registration: registration, isIssued: true, mayBeForgotten: false)
  }

  /// Returns the scopes of the sign-in and of the registration that is replaced; none if a
  /// registration has no scopes.
  private func scopes(beside offer: DynamicRegistration) throws(Problem) -> [String] {
    guard offer.namesScopes else { return [] }
    let former = try store.registrations.get(provider.id, nil, .usual)?.registration.scopes ?? []
    return (former + scopes).withoutRepetitions
  }

  private func response(
    to offer: DynamicRegistration, _ redirect: String?, _ grantTypes: [String],
    _ scopes: [String]
  ) async throws(Problem) -> HTTPResponse {
    try await effects.send(
      provider.addressed(
        offer.request(
          name: cleaned(applicationName, limitBytes: 128), redirect: redirect,
          grantTypes: grantTypes,
          scope: scopes.isEmpty ? nil : scopes.joined(separator: provider.permissions.separator))))
  }

  /// Returns a replacement for a forgotten registration, possibly one that another request has
  /// made.
  private func another(
    at offer: DynamicRegistration, insteadOf forgotten: Found
  ) async throws(Problem) -> Found {
    var found = try await registration(at: offer, insteadOf: forgotten.registration)
    found.mayBeForgotten = false
    return found
  }

  /// Returns the problem of a sign-in, or `providerFailure` if the provider does not accept the
  /// registration that it has issued itself.
  private func problem(_ problem: Problem, of found: Found) -> Problem {
    guard found.isIssued, problem.isAboutUnknownClient else { return problem }
    var result = registrationFailure("it does not accept the registration that it has just issued")
    result.serverError = problem.serverError
    return result
  }

  /// Whether the provider's token endpoint reports the client as unknown, in answer to an invalid
  /// code. Otherwise only the provider's page would say so, and the browser would not return from
  /// there. Servers that keep clients in memory forget them.
  private func isForgotten(_ registration: ClientRegistration) async throws(Problem) -> Bool {
    guard let endpoint = provider.flows.lazy.compactMap(\.tokens).first else { return false }
    let secret = Secret(Base64URL.encode(effects.randomBytes(32)))
    let nothing = revealedText(secret)
    let grant =
      provider.flowKinds.contains(.authorizationCode)
      ? [
        Parameter("grant_type", "authorization_code"), Parameter("code", nothing),
        Parameter("redirect_uri", registration.redirect ?? ""), Parameter("code_verifier", nothing),
      ]
      : [
        Parameter("grant_type", Self.deviceGrant), Parameter("device_code", nothing),
      ]
    do throws(FlowFailure) {
      _ = try await Exchange(
        provider: provider, effects: effects, remaining: [], secrets: [registration.clientSecret]
      ).ask(endpoint, endpoint.request, grant, by: registration, at: .token)
      return false
    } catch {
      guard error.problem.reason != .cancelled else { throw error.problem }
      return error.problem.isAboutUnknownClient
    }
  }

  /// Returns the stored registration, unless it is forgotten, expires soon, lacks a scope of the
  /// sign-in, or was made for another server. A registration of a person is always used; for another
  /// server it throws `bindingMismatch`.
  private func stored(
    insteadOf forgotten: ClientRegistration? = nil, at offer: DynamicRegistration
  ) throws(Problem) -> Found? {
    let choice = try store.choice(nil, at: provider)
    guard choice.known.general != nil,
      let stored = try store.registrations.get(provider.id, nil, .usual)
    else { return nil }
    guard stored.isIssued else {
      return try choice.general().map {
        Found(registration: $0, isIssued: false, mayBeForgotten: false)
      }
    }
    let isOver = stored.expiresAt.map { $0 - Self.marginSeconds <= effects.now() } ?? false
    let isForgotten =
      forgotten.map { sameBytes($0.clientID, stored.registration.clientID) } ?? false
    let hasScopes =
      !offer.namesScopes
      || provider.scopes(scopes, within: stored.registration.scopes) != nil
    guard provider.takes(stored.known), !isOver, !isForgotten, hasScopes else { return nil }
    return Found(
      registration: stored.registration, isIssued: true, mayBeForgotten: true)
  }

  /// Returns the redirect address to register; `nil` for a provider without a browser flow. The
  /// port of a loopback address is free now. Many servers compare the address exactly, so the port
  /// must stay usable. It is outside the ephemeral range, because the system would soon give such a
  /// port to another program.
  private func redirect() async throws(Problem) -> String? {
    switch provider.redirect {
    case nil: return nil
    case .address(let address): return address
    case .loopback(let host, let ports, let path):
      let place = try await effects.openRedirect(
        RedirectPlace(
          host: host, ports: ports.isEmpty ? lastingPorts : ports, path: path ?? "/callback"))
      defer { place.close() }
      return place.address
    }
  }

  /// Eight random ports from 20480 to 28671, below those that the system hands out. One of them is
  /// kept, because many servers compare the whole redirect address.
  private var lastingPorts: [UInt16] {
    let bytes = effects.randomBytes(16)
    return (0..<8).map { 20480 + (UInt16(bytes[$0]) % 32) << 8 + UInt16(bytes[$0 + 8]) }
  }

  private var grantTypes: [String] {
    let kinds = provider.flowKinds
    return (kinds.contains(.authorizationCode) ? ["authorization_code"] : [])
      + (kinds.contains(.deviceCode) ? [Self.deviceGrant] : [])
      + ["refresh_token"]
  }

  /// The lease of a registration, which is no account. The digest keeps it valid as a file name.
  private var leaseName: Account.ID {
    let digest = Digest.sha256(Array(provider.id.utf8))
    return Account.ID(rawValue: "registration-" + Base64URL.encode(Array(digest.prefix(16))))
  }

  private func refusal(_ response: HTTPResponse, _ json: JSONValue?) -> Problem {
    var problem = registrationFailure("status \(response.status)")
    problem.serverError = Problem.ServerError(
      status: response.status,
      code: json?["error"]?.string.map { cleaned($0, limitBytes: 64) },
      text: json?["error_description"]?.string.map { cleaned($0, limitBytes: 200) })
    problem.isRetryable = response.status >= 500 || response.status == 429
    return problem
  }

  private func registrationFailure(_ why: String) -> Problem {
    Problem(
      .providerFailure,
      "The automatic registration at \(provider.name) failed: \(why).",
      detail: Problem.selfRegistration, provider: provider.id,
      hint: .init("providers.configure", ["provider": provider.id]))
  }
}

extension DynamicRegistration.Fault {
  fileprivate var sentence: String {
    switch self {
    case .member(let name): "the answer's \(name) is missing or malformed"
    case .foreignAuthentication:
      "it demands a client authentication that einlass does not support"
    case .foreignRedirect: "it would send the browser to another address"
    }
  }
}

extension Problem {
  /// The detail of a provider's refusal to register the application.
  public static let selfRegistration = "selfRegistration"

  /// The refusal of the last automatic registration, while nothing is registered at the provider.
  static func registrationRefused(_ sentence: String, _ provider: Provider) -> Problem {
    Problem(
      .providerFailure, sentence, detail: selfRegistration, provider: provider.id,
      hint: .init("providers.configure", ["provider": provider.id]))
  }

  /// Whether the provider itself reports the client as unknown. `unauthorized_client` does not
  /// count, because the provider knows such a client. RFC 6749 section 5.2.
  var isAboutUnknownClient: Bool { serverError?.oauthCode == .invalidClient }
}

extension AccountStore {
  /// Returns the same problem, or `reloginNeeded` if the provider has forgotten a registration that
  /// it issued on request. Only the next sign-in can help then, because it registers anew.
  func problem(_ problem: Problem, at provider: Provider, by own: ClientRegistration?) -> Problem {
    guard own?.isDocument != false, problem.isAboutUnknownClient,
      let stored = try? registrations.get(provider.id, nil, .usual), stored.isIssued
    else { return problem }
    var result = problem
    result.reason = .reloginNeeded
    result.message =
      "\(provider.name) no longer knows this application's automatic registration."
    result.hint = .relogin(provider)
    return result
  }
}
