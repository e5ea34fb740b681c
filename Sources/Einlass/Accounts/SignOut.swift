internal import EinlassJSON

/// The outcome at the provider after an account's credentials were removed from the store.
public struct Revocation: Sendable, Equatable {
  /// A credential that is still valid at the provider.
  public struct Remainder: Sendable, Equatable {
    /// The credential's role: `system`, or `application` and a client id. Followed by the token,
    /// `refreshToken` or `accessToken`, if each token is revoked by its own request.
    public var what: String
    /// One English sentence.
    public var reason: String
    /// The next step, if there is one.
    public var advice: Problem.Advice?
    /// The request without which the provider cannot be asked, if there is one.
    public var hint: Problem.Hint?
    /// The missing parts of the registration, as in the `detail` of `authenticatorUnconfigured`.
    public var missing: String?

    public init(
      what: String, reason: String, advice: Problem.Advice? = nil, hint: Problem.Hint? = nil,
      missing: String? = nil
    ) {
      (self.what, self.reason, self.advice, self.hint) = (what, reason, advice, hint)
      self.missing = missing
    }
  }

  public var revoked: [String] = []
  public var notRevoked: [Remainder] = []
  /// The provider's page for ending the browser session. The address carries no data of the person.
  public var endSession: WebAddress?
  /// The store's revision after the credentials were removed.
  public var revision: Int64

  public init(revision: Int64) { self.revision = revision }
}

/// Removes an account's credentials, or the account itself, and revokes the credentials at the
/// provider: `accounts.signOut`, `accounts.remove`.
struct SignOut {
  enum Scope { case credentials, account }

  let account: Account
  /// `nil` if the catalogue no longer holds the provider.
  let provider: Provider?
  /// The known registrations at the provider, because some revocation requests need the client
  /// secret: the front end's own, and the stored ones. Each with its only flow.
  let registrations: [(flow: FlowKind?, client: ClientRegistration)]
  let store: AccountStore
  let effects: Effects

  init(
    _ id: Account.ID, _ registration: (String) -> ClientRegistration?, in einlass: Einlass
  ) throws(Problem) {
    (store, effects) = (einlass.store, einlass.effects)
    account = try store.account(id)
    provider = try? einlass.provider(of: account)
    // A faulty stored registration must not prevent the sign-out.
    registrations =
      provider.map { [store, account] provider in
        [registration(account.provider), nil].flatMap { own in
          (try? store.choice(own, at: provider))?.usable ?? []
        }
      } ?? []
  }

  /// Removes the credentials from the store, then revokes them at the provider. In this order no
  /// failure of the provider leaves them in the store.
  ///
  /// - Parameter isRequired: throws before anything is removed, if this process cannot revoke a
  ///   credential but would be able to with another configuration.
  func run(
    _ scope: Scope, revokes: Bool, requiringRevocation isRequired: Bool
  ) async throws(Problem) -> Revocation {
    // A renewal in flight would get a token that is never revoked, so wait for its lease. If the
    // lease is not free within its time limit, the sign-out goes on without it.
    var lease: Lease?
    do { lease = try await store.lease(account.id, waiting: effects) } catch {
      guard error.reason == .accountStoreFailure else { throw error }
    }
    defer { lease?.keepAlive() }
    // Credentials that cannot be decrypted are forgotten all the same, unless revocation is
    // required.
    let credentials = Result { () throws(Problem) in
      revokes ? try store.credentials(account.id) : []
    }
    // They are to be revoked when the database is back.
    if case .failure(let problem) = credentials, store.isAway(problem) { throw problem }
    if isRequired, let obstacle = try credentials.get().lazy.compactMap(obstacle).first {
      throw obstacle
    }
    var revocation = Revocation(revision: try await remove(scope, under: lease))
    if scope == .account {
      lease?.forget()
      store.forgetUnusedAvatars()
    }
    switch credentials {
    case .failure(let problem): revocation.leave("credentials", problem)
    case .success where !revokes:
      revocation.leave("credentials", "The request did not ask for revocation.")
    case .success(let credentials):
      revocation.endSession = credentials.lazy.compactMap(endSession).first
      // System credentials last, because application credentials may depend on them.
      for stored in credentials.sorted(by: { $0.role == .application && $1.role == .system }) {
        await revoke(stored, &revocation)
      }
    }
    return revocation
  }

  /// Returns the store's revision afterwards. Nothing is repeated without the lease, because another
  /// request may have stored a token meanwhile that was not read.
  private func remove(_ scope: Scope, under lease: Lease?) async throws(Problem) -> Int64 {
    var attempts = SaveAttempts()
    var isRepeated = false
    while true {
      do throws(Problem) {
        return switch scope {
        case .credentials: try store.forgetCredentials(account.id)
        case .account: try store.remove(account.id, .usual)
        }
      } catch {
        // An earlier attempt has removed it, and the answer was lost.
        if isRepeated, error.reason == .unknownAccount { return (try? store.revision()) ?? 0 }
        guard let lease, (try? lease.requireTime()) != nil else { throw error }
        try await attempts.wait(after: error, in: store, effects)
        isRepeated = true
      }
    }
  }

  private func revoke(_ stored: StoredCredential, _ revocation: inout Revocation) async {
    let what =
      stored.role == .system ? "system" : "application \(stored.registration.clientID)"
    guard let provider else {
      return revocation.leave(
        what,
        "The provider \(account.provider) is not in the catalogue, so the credential was not revoked.",
        advice: .nameProvidersFile
      )
    }
    if case .session(let session) = stored.credential {
      guard provider.isBound(stored) else {
        return revocation.leave(what, .elsewhere(provider, stored, account))
      }
      return await end(session, what, &revocation)
    }
    guard let way = way(of: stored), case .oauth2(let token) = stored.credential else {
      return revocation.leave(what, "\(provider.name) offers no way to revoke it.")
    }
    guard provider.isBound(stored) else {
      return revocation.leave(what, .elsewhere(provider, stored, account))
    }
    let own = own(of: stored)
    let exchange = Exchange(
      provider: provider, effects: effects, remaining: [],
      secrets: [
        token.accessToken, token.refreshToken, own?.clientSecret, stored.registration.clientSecret,
      ], identity: own.flatMap { provider.identity(of: $0) })
    var isRefreshTokenRevoked = false
    for part in parts(of: token, by: way) {
      let what = part.name.map { "\(what) \($0)" } ?? what
      do throws(FlowFailure) {
        try await revoke(part, of: stored, by: way, exchange)
        revocation.revoked.append(what)
        isRefreshTokenRevoked = true
      } catch {
        // Some providers revoke the access token together with the refresh token and then report it
        // as invalid.
        if isRefreshTokenRevoked, error.problem.serverError?.oauthCode == .invalidToken {
          revocation.revoked.append(what)
          continue
        }
        // A missing client secret is reported as missing, not as wrong.
        let isRefused =
          error.problem.reason == .authenticatorUnconfigured
          || [401, 403].contains(error.problem.serverError?.status)
        let isUnproven = isRefused && own?.clientSecret == nil && needsSecret(way, at: provider)
        revocation.leave(
          what, isUnproven ? unproven(stored, at: provider) : error.problem)
      }
    }
  }
}

extension SignOut {
  private indirect enum Way {
    case recipe(RequestTemplate)
    case standard(RequestTemplate, TokenEndpoint)
  }

  /// A token and the parameters of its revocation request.
  private struct Part {
    static let accessToken = "accessToken"

    let token: Secret
    /// `token_type_hint` of RFC 7009 section 2.1.
    let hint: String
    /// The token's name in the report, if two tokens are revoked.
    var name: String?
  }

  /// Returns both tokens, because only some providers revoke the access tokens of a refresh token
  /// together with it. A recipe without a place for the refresh token revokes the whole grant with
  /// one request.
  private func parts(of token: OAuth2Credential, by way: Way) -> [Part] {
    let takesRefreshToken =
      if case .recipe(let recipe) = way { recipe.mentions(.refreshToken) } else { true }
    guard takesRefreshToken, let refreshToken = token.refreshToken else {
      return [Part(token: token.accessToken, hint: "access_token")]
    }
    return [
      Part(token: refreshToken, hint: "refresh_token", name: "refreshToken"),
      Part(token: token.accessToken, hint: "access_token", name: Part.accessToken),
    ]
  }

  /// Sends the logout of a session.
  private func end(
    _ session: SessionCredential, _ what: String, _ revocation: inout Revocation
  ) async {
    guard let provider, let logout = provider.revocation, let flow = provider.passwordSession else {
      return revocation.leave(what, "The server has no request that ends the session.")
    }
    let exchange = Exchange(
      provider: provider, effects: effects, remaining: [], secrets: [session.id])
    do throws(FlowFailure) {
      try await exchange.ask(logout, of: session, flow, at: .revoke)
      revocation.revoked.append(what)
    } catch { revocation.leave(what, error.problem) }
  }

  /// Returns `nil` if the provider has no revocation request.
  private func way(of stored: StoredCredential) -> Way? {
    let flow = provider?.flows.first { $0.kind == stored.binding.flowKind }
    if let recipe = flow.flatMap({ provider?.specialized(for: $0) })?.revocation
      ?? provider?.revocation
    {
      return .recipe(recipe)
    }
    guard let endpoint = flow?.tokens else { return nil }
    return endpoint.standardRevocation.map { .standard($0, endpoint) }
  }

  /// Returns the reason why this process cannot revoke a credential that the provider could revoke.
  /// The right configuration removes it.
  private func obstacle(_ stored: StoredCredential) -> Problem? {
    guard let provider, let way = way(of: stored), case .oauth2 = stored.credential else {
      return nil
    }
    guard provider.isBound(stored) else { return .elsewhere(provider, stored, account) }
    guard needsSecret(way, at: provider), own(of: stored) == nil else { return nil }
    return isReplaced(stored, at: provider) ? nil : unproven(stored, at: provider)
  }

  /// Whether the provider has issued another registration since. No configuration has the former
  /// secret then.
  private func isReplaced(_ stored: StoredCredential, at provider: Provider) -> Bool {
    let known = (try? store.knownRegistrations(at: provider)) ?? []
    return own(of: stored) == nil && known.general?.isIssued == true
      && known.allSatisfy { $0.flow != stored.binding.flowKind }
  }

  /// The revocation request needs the client secret, which is not known here.
  private func unproven(_ stored: StoredCredential, at provider: Provider) -> Problem {
    let client = stored.registration.clientID
    guard !isReplaced(stored, at: provider) else {
      return Problem(
        .providerFailure,
        "The registration \(client) is not known here any more, so the credential was not revoked.",
        provider: provider.id, account: account.id)
    }
    return Problem(
      .authenticatorUnconfigured,
      """
      \(provider.name) revokes the credential only with the clientSecret of the registration \
      \(client), which is missing.
      """, detail: Provider.RegistrationPart.clientSecret.rawValue, provider: provider.id,
      account: account.id, hint: .init("providers.configure", ["provider": provider.id]))
  }

  private func needsSecret(_ way: Way, at provider: Provider) -> Bool {
    switch way {
    case .recipe(let recipe): recipe.mentions(.clientSecret)
    case .standard:
      !Set(provider.registrationNeeds).isDisjoint(with: [.clientSecret, .privateKey])
    }
  }

  /// Returns the known registration that the credential was issued to.
  private func own(of stored: StoredCredential) -> ClientRegistration? {
    registrations.first { known in
      (known.flow ?? stored.binding.flowKind) == stored.binding.flowKind
        && sameBytes(known.client.clientID, stored.registration.clientID)
    }?.client
  }
}

extension SignOut {
  /// OpenID Connect RP-Initiated Logout 1.0 section 2. The address carries `client_id` but no
  /// `id_token_hint`, because browsers and servers keep addresses, and a caller with the right to
  /// sign out need not have the right to see an id_token.
  private func endSession(_ stored: StoredCredential) -> WebAddress? {
    guard let provider, provider.isBound(stored) else { return nil }
    return provider.flows.first { $0.kind == stored.binding.flowKind }?.tokens?.endSession?
      .asking([Parameter("client_id", stored.registration.clientID)])
  }

  private func revoke(
    _ part: Part, of stored: StoredCredential, by way: Way, _ exchange: Exchange
  ) async throws(FlowFailure) {
    switch way {
    case .recipe(let recipe):
      let values: Template.Values
      do { values = try self.values(for: part, of: stored, at: recipe.address) } catch {
        throw FlowFailure(error)
      }
      _ = try await exchange.send(
        exchange.presenting(recipe.filled(values).request), at: .revoke)
    case .standard(let request, let endpoint):
      _ = try await exchange.ask(
        endpoint, request,
        [
          Parameter("token", revealedText(part.token)), Parameter("token_type_hint", part.hint),
        ], by: own(of: stored) ?? stored.registration,
        authentication: endpoint.revocationAuthentication, at: .revoke)
    }
  }

  private func values(
    for part: Part, of stored: StoredCredential, at place: WebAddress
  ) throws(Problem) -> Template.Values {
    var values = Template.Values(texts: [
      .token: revealedText(part.token), .refreshToken: revealedText(part.token),
      .clientID: stored.registration.clientID,
    ])
    if let own = own(of: stored) {
      values[.clientSecret] = try provider?.clientSecret(of: own, at: place, effects).map(
        revealedText)
    }
    return values
  }
}

extension Revocation {
  fileprivate mutating func leave(
    _ what: String, _ reason: String, advice: Problem.Advice? = nil, hint: Problem.Hint? = nil,
    missing: String? = nil
  ) {
    notRevoked.append(
      Remainder(what: what, reason: reason, advice: advice, hint: hint, missing: missing))
  }

  fileprivate mutating func leave(_ what: String, _ problem: Problem) {
    // Any other hint is about the credential, and that has been removed here.
    let isAboutSettings = problem.reason == .authenticatorUnconfigured
    leave(
      what, problem.message, advice: problem.advice, hint: isAboutSettings ? problem.hint : nil,
      missing: isAboutSettings ? problem.detail : nil)
  }
}

extension Problem {
  /// The credential is bound to other origins than the provider's current ones.
  fileprivate static func elsewhere(
    _ provider: Provider, _ stored: StoredCredential, _ account: Account
  ) -> Problem {
    Problem(
      .bindingMismatch,
      """
      The credential is bound to \(stored.binding.origins.joined(separator: ", ")), but \
      \(provider.name) has other addresses in this configuration, so it was not revoked.
      """, advice: .useOtherConfiguration, provider: provider.id, account: account.id)
  }
}
