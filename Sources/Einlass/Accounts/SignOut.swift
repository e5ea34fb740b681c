internal import EinlassJSON

/// What became of an account's credentials at its provider when they were forgotten here.
public struct Revocation: Sendable, Equatable {
  /// A credential that is still good there.
  public struct Remainder: Sendable, Equatable {
    /// Which one: `system`, or `application` and a client id.
    public var what: String
    /// One English sentence.
    public var reason: String

    public init(what: String, reason: String) {
      self.what = what
      self.reason = reason
    }
  }

  public var revoked: [String] = []
  public var notRevoked: [Remainder] = []
  /// Where the person ends the session that their browser still has there; holds nothing of theirs.
  public var endSession: WebAddress?
  /// The store's, after the credentials were forgotten.
  public var revision: Int64

  public init(revision: Int64) { self.revision = revision }
}

/// Forgets an account's credentials, or the account itself, and tells the provider. `accounts.signOut`, `.remove`.
struct SignOut {
  /// What is forgotten.
  enum Scope { case credentials, account }

  let account: Account
  /// `nil` for a provider that the catalogue does not hold any more.
  let provider: Provider?
  /// The front end's own at the provider, whose secret some want to see before they revoke.
  let registration: ClientRegistration?
  let store: AccountStore
  let effects: Effects

  /// Forgets first, so that nothing the provider does or fails to do keeps it here; then revokes what it can.
  func run(_ scope: Scope, revokes: Bool) async throws(Problem) -> Revocation {
    // Under the lease, because a renewal on its way would leave a token that nobody revokes; but not at any price.
    var lease: Lease?
    do { lease = try await store.lease(account.id, waiting: effects) } catch {
      guard error.reason == .accountStoreFailure else { throw error }
    }
    defer { lease?.keep() }
    // Credentials that do not open are forgotten all the same.
    let credentials = Result { () throws(Problem) in
      revokes ? try store.credentials(account.id) : []
    }
    var revocation: Revocation
    switch scope {
    case .credentials: revocation = Revocation(revision: try store.forgetCredentials(account.id))
    case .account:
      revocation = Revocation(revision: try store.remove(account.id, .usual))
      lease?.forget()
    }
    switch credentials {
    case .failure(let problem): revocation.leave("credentials", problem.message)
    case .success where !revokes: revocation.leave("credentials", "Nobody asked to revoke them.")
    case .success(let credentials):
      revocation.endSession = credentials.lazy.compactMap(endSession).first
      // What is the account's own goes last: it may be what the others hang on.
      for stored in credentials.sorted(by: { $0.role == .application && $1.role == .system }) {
        await revoke(stored, &revocation)
      }
    }
    return revocation
  }

  private func revoke(_ stored: StoredCredential, _ revocation: inout Revocation) async {
    let what =
      stored.role == .system ? "system" : "application \(stored.registration.clientID)"
    let flow = provider?.flows.first { $0.kind == stored.binding.flowKind }
    guard let provider = flow.flatMap({ provider?.seen(by: $0) }) ?? provider,
      provider.revocation != nil || flow?.tokens?.standardRevocation != nil,
      case .oauth2(let token) = stored.credential
    else {
      return revocation.leave(
        what,
        provider.map { "\($0.name) offers no way to revoke it." }
          ?? "The provider \(account.provider) is no longer known here.")
    }
    guard provider.isBound(stored) else {
      return revocation.leave(what, "It belongs to another server than this provider's.")
    }
    let exchange = Exchange(
      provider: provider, effects: effects, remaining: [],
      secrets: [
        token.accessToken, token.refreshToken, registration?.clientSecret,
        stored.registration.clientSecret,
      ])
    do throws(Setback) {
      if let recipe = provider.revocation {
        _ = try await exchange.send(
          recipe.filled(values(for: token, of: stored)).request, at: .revoke)
      } else if let words = flow?.tokens, let request = words.standardRevocation {
        try await revoke(token, of: stored, by: request, words, exchange)
      }
      revocation.revoked.append(what)
    } catch {
      guard case .failed(let failure) = error else { return }
      revocation.leave(what, failure.problem.message)
    }
  }
}

extension SignOut {
  /// OpenID Connect RP-Initiated Logout 1.0 section 2, with the application's id alone: whoever may sign out need not
  /// see an id_token, and addresses are kept by browsers and servers.
  private func endSession(_ stored: StoredCredential) -> WebAddress? {
    guard let provider, provider.isBound(stored) else { return nil }
    return provider.flows.first { $0.kind == stored.binding.flowKind }?.tokens?.endSession?
      .asking([Parameter("client_id", stored.registration.clientID)])
  }

  /// As the standard has it: a refresh token takes what came of it along. RFC 7009 section 2.1.
  private func revoke(
    _ token: OAuth2Credential, of stored: StoredCredential, by request: RequestTemplate,
    _ words: TokenEndpoint, _ exchange: Exchange
  ) async throws(Setback) {
    let own = registration.flatMap {
      sameBytes($0.clientID, stored.registration.clientID) ? $0 : nil
    }
    let kind = token.refreshToken == nil ? "access_token" : "refresh_token"
    _ = try await exchange.ask(
      words, request,
      [
        Parameter("token", revealedText(token.refreshToken ?? token.accessToken)),
        Parameter("token_type_hint", kind),
      ], by: own ?? stored.registration, at: .revoke)
  }

  /// A refresh token takes what came of it along; without one the access token stands in its place.
  private func values(for token: OAuth2Credential, of stored: StoredCredential) -> Template.Values {
    var values = Template.Values(texts: [
      .token: revealedText(token.accessToken),
      .refreshToken: revealedText(token.refreshToken ?? token.accessToken),
      .clientID: stored.registration.clientID,
    ])
    if let registration, sameBytes(registration.clientID, stored.registration.clientID) {
      values[.clientSecret] = registration.clientSecret.map(revealedText)
    }
    return values
  }
}

extension Revocation {
  fileprivate mutating func leave(_ what: String, _ reason: String) {
    notRevoked.append(Remainder(what: what, reason: reason))
  }
}
