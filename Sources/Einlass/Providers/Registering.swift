internal import EinlassCrypto
internal import EinlassJSON

/// Registers the application at a provider that offers it, when a sign-in first needs that. RFC 7591.
struct Registering {
  /// How long before its end a secret is not begun with.
  private static let marginSeconds: Int64 = 60
  private static let deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

  let provider: Provider
  /// What people read on the provider's page.
  let applicationName: String
  let store: AccountStore
  let effects: Effects

  /// What there is to sign in with.
  struct Found {
    var registration: ClientRegistration
    /// Whether the provider gave it on request.
    var isIssued: Bool
    /// Whether it may be replaced when the provider does not know it: once in a sign-in, and none that has just come.
    var mayBeForgotten: Bool
  }

  /// The registration that the store keeps, else a new one. One request of one process registers at a time, and who
  /// waited for it uses what it got.
  ///
  /// - Parameter forgotten: one that the provider knows no longer: it is replaced, unless a person brought it.
  ///
  /// Throws `providerFailure`, with `providers.configure` as the hint, when the provider refuses.
  func registration(
    at offer: DynamicRegistration, insteadOf forgotten: ClientRegistration? = nil
  ) async throws(Problem) -> Found {
    if let stored = try stored(insteadOf: forgotten) { return stored }
    let lease = try await store.lease(leaseName, waiting: effects)
    defer { lease.keep() }
    if let stored = try stored(insteadOf: forgotten) { return stored }
    let redirect = try redirect()
    var response = try await answer(of: offer, redirect, grantTypes)
    // Some refuse the device's grant, which a sign-in by the browser can do without.
    if response.status == 400, provider.flowKinds.contains(.authorizationCode) {
      let others = grantTypes.filter { $0 != Self.deviceGrant }
      if others != grantTypes { response = try await answer(of: offer, redirect, others) }
    }
    let json = try? JSONReader.read(response.body)
    guard response.isSuccess else { throw refusal(response, json) }
    let registration: ClientRegistration
    let expiresAt: UnixTime?
    do throws(DynamicRegistration.Fault) {
      (registration, expiresAt) = try offer.registration(in: json, redirect: redirect)
    } catch { throw unusable(error.sentence) }
    _ = try store.registrations.set(
      provider.id,
      StoredRegistration(
        provider: provider.id, registration: registration, origins: provider.origins,
        isIssued: true, expiresAt: expiresAt), .usual)
    // A person's, who brought one meanwhile, stays.
    if let stored = try stored(), !stored.isIssued { return stored }
    return Found(registration: registration, isIssued: true, mayBeForgotten: false)
  }

  private func answer(
    of offer: DynamicRegistration, _ redirect: String?, _ grantTypes: [String]
  ) async throws(Problem) -> HTTPResponse {
    try await effects.send(
      offer.request(
        name: cleaned(applicationName, limitBytes: 128), redirect: redirect, grantTypes: grantTypes)
    )
  }

  /// The one that takes the place of one that is forgotten: made now, or by somebody else meanwhile.
  func another(
    at offer: DynamicRegistration, insteadOf forgotten: Found
  ) async throws(Problem) -> Found {
    var found = try await registration(at: offer, insteadOf: forgotten.registration)
    found.mayBeForgotten = false
    return found
  }

  /// The problem of a sign-in, unless it is that the provider does not take what it has given itself.
  func judged(_ problem: Problem, of found: Found) -> Problem {
    guard found.isIssued, problem.isAboutUnknownClient else { return problem }
    var judged = unusable("it does not take the registration that it has given")
    judged.serverError = problem.serverError
    return judged
  }

  /// Whether the provider says that it does not know the registration, when it is asked for a token with a code that
  /// there is not. Its page would say so to the person alone, and nobody would come back from there.
  func isForgotten(_ registration: ClientRegistration) async throws(Problem) -> Bool {
    guard let words = provider.flows.lazy.compactMap(\.tokens).first else { return false }
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
    do throws(Setback) {
      _ = try await Exchange(
        provider: provider, effects: effects, remaining: [], secrets: [registration.clientSecret]
      ).ask(words, words.request, grant, by: registration, at: .token)
      return false
    } catch {
      guard case .failed(let failure) = error else { return false }
      guard failure.problem.reason != .cancelled else { throw failure.problem }
      return failure.problem.isAboutUnknownClient
    }
  }

  /// The stored one while its secret is good; one that was made for another server does not count, and is replaced only
  /// if nobody brought it.
  private func stored(insteadOf forgotten: ClientRegistration? = nil) throws(Problem) -> Found? {
    guard try store.knownRegistration(at: provider) != nil,
      let stored = try store.registrations.get(provider.id, .usual)
    else { return nil }
    guard stored.isIssued else {
      return try store.registration(nil, at: provider).map {
        Found(registration: $0, isIssued: false, mayBeForgotten: false)
      }
    }
    let isOver = stored.expiresAt.map { $0 - Self.marginSeconds <= effects.now() } ?? false
    let isForgotten =
      forgotten.map { sameBytes($0.clientID, stored.registration.clientID) } ?? false
    guard provider.takes(stored.known), !isOver, !isForgotten else { return nil }
    return Found(
      registration: stored.registration, isIssued: true, mayBeForgotten: true)
  }

  /// An address of this machine with a port that is free now. Many servers compare it exactly, so it stays; it is none
  /// of those that the system hands out, which would soon be somebody else's.
  private func redirect() throws(Problem) -> String? {
    let words = provider.flows.lazy.compactMap { flow in
      if case .authorizationCode(let words) = flow { words.redirect } else { nil }
    }.first
    switch words {
    case nil: return nil
    case .address(let address): return address
    case .loopback(let host, let ports, let path):
      let place = try effects.openRedirect(
        RedirectPlace(
          host: host, ports: ports.isEmpty ? lastingPorts : ports, path: path ?? "/callback"))
      defer { place.close() }
      return place.address
    }
  }

  /// Some between 20480 and 28671, by chance.
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

  /// What is leased is no account, and may hold nothing but what file names are made of.
  private var leaseName: Account.ID {
    let digest = Digest.sha256(Array(provider.id.utf8))
    return Account.ID(rawValue: "registration-" + Base64URL.encode(Array(digest.prefix(16))))
  }

  private func refusal(_ response: HTTPResponse, _ json: JSONValue?) -> Problem {
    var problem = unusable("status \(response.status)")
    problem.serverError = Problem.ServerError(
      status: response.status,
      code: json?["error"]?.string.map { cleaned($0, limitBytes: 64) },
      text: json?["error_description"]?.string.map { cleaned($0, limitBytes: 200) })
    problem.isRetryable = response.status >= 500 || response.status == 429
    return problem
  }

  private func unusable(_ why: String) -> Problem {
    Problem(
      .providerFailure,
      "\(provider.name) did not register this application by itself: \(why). Register one there and bring it with providers.configure.",
      detail: Problem.selfRegistration, provider: provider.id,
      hint: .init("providers.configure", ["provider": provider.id]))
  }
}

extension DynamicRegistration.Fault {
  fileprivate var sentence: String {
    switch self {
    case .member(let name): "the answer's \(name) is missing or malformed"
    case .foreignAuthentication:
      "it wants the client to prove itself in a way that is not known here"
    case .foreignRedirect: "it would send the browser to another address"
    }
  }
}

extension Problem {
  /// The detail of a provider's refusal to register the application.
  public static let selfRegistration = "selfRegistration"

  /// The refusal of the last self-registration at a provider, while nothing is registered there.
  static func registrationRefused(_ sentence: String, _ provider: Provider) -> Problem {
    Problem(
      .providerFailure, sentence, detail: selfRegistration, provider: provider.id,
      hint: .init("providers.configure", ["provider": provider.id]))
  }

  /// Whether the provider's own word is that it does not know the client. One that may not do this it knows. RFC 6749
  /// section 5.2.
  var isAboutUnknownClient: Bool { serverError?.code == "invalid_client" }
}

extension AccountStore {
  /// The same problem. Where a registration that was made on request is forgotten, nobody can configure it better: the
  /// next sign-in registers anew.
  func mended(_ problem: Problem, at provider: Provider, by own: ClientRegistration?) -> Problem {
    guard own == nil, problem.isAboutUnknownClient,
      let stored = try? registrations.get(provider.id, .usual), stored.isIssued
    else { return problem }
    var mended = problem
    mended.reason = .reloginNeeded
    mended.message =
      "\(provider.name) has forgotten the registration that this application had got by itself. Sign in again to get another one."
    mended.hint = .relogin(provider)
    return mended
  }
}
