/// The result of a renewal.
public enum Renewal: Sendable {
  /// The new credential, already stored.
  case renewed(Credential)
  /// The provider refused the renewal with an OAuth error.
  case rejected(Problem)
  /// Any other failure. A later attempt may work, unless the problem is `reloginNeeded`: then the
  /// person has to sign in again.
  case failed(Problem)
}

extension StoredCredentialFlow {
  /// Renews the stored token or session and stores the new one before it is used.
  ///
  /// Cancelling the calling task does not stop a renewal that has begun: it continues until the
  /// token is stored, and keeps the lease until then.
  func renewal(
    storedIn store: AccountStore, under lease: Lease
  ) async throws(Problem) -> Renewal {
    let begun = BegunRenewal(account: account.id, generation: own?.generation ?? 0)
    try await pause(before: begun, in: store)
    return try await effects.finishing { () throws(Problem) in
      defer { lease.keepAlive() }
      let renewal: Renewal
      do throws(Problem) { renewal = try await attempt(begun, storedIn: store) } catch {
        if error.reason != .cancelled { effects.noteFailedRefresh(account, error) }
        throw error
      }
      switch renewal {
      case .renewed: break
      case .rejected(let problem), .failed(let problem): noteFailure(problem, in: store)
      }
      return renewal
    }
  }

  private func attempt(
    _ begun: BegunRenewal, storedIn store: AccountStore
  ) async throws(Problem) -> Renewal {
    if case .passwordSession(let descriptor) = descriptor {
      return try await sessionRenewal(descriptor, in: store)
    }
    store.begunRenewals.begin(begun)
    defer { store.begunRenewals.end(begun) }
    let token: OAuth2Credential
    do throws(FlowFailure) {
      token = try await answeredToken()
    } catch {
      return try refusal(error, in: store)
    }
    guard Credential.oauth2(token).isStorable else {
      return .failed(.credentialTooLarge(provider).about(provider, account.id))
    }
    if let problem = try await foreignAudience(of: token, in: store) { return .failed(problem) }
    return try await save(.oauth2(token), in: store)
  }

  /// Stores the time of the first failure since the credential was stored. An account with a health
  /// other than `ok` already tells more.
  private func noteFailure(_ problem: Problem, in store: AccountStore) {
    effects.noteFailedRefresh(account, problem)
    // Another account lacks, or a door does not show it: the server has refused nothing.
    guard problem.detail != Problem.assertionSource else { return }
    // A refusal that is worth another attempt is none for good.
    let isFinal = problem.detail == Problem.refreshRefused && !problem.isRetryable
    let mark: ServiceRefusal.Refresh = isFinal ? .refused : .failed
    guard let own, let account = try? store.account(account.id), account.health == .ok,
      !account.serviceRefusals.contains(where: { $0.refresh == mark && $0.place == own.place })
    else { return }
    var settlement = AccountStore.Settlement(basis: [own])
    settlement.time = effects.now()
    settlement.serviceRefusals = [mark.mark(of: own.place, since: settlement.time)]
    // The failure of the store must not hide that of the refresh.
    _ = try? store.settle(account.id, settlement)
  }

  /// Waits for at least a second before another process's renewal is repeated. The request of a
  /// killed process may be on its way, and if it came second, a server with a grace period might drop
  /// the token that was issued first.
  private func pause(before begun: BegunRenewal, in store: AccountStore) async throws(Problem) {
    guard store.begunRenewals.contains(begun) else { return }
    try await effects.sleepUntil(effects.now() + 2)
  }

  /// Returns the problem of a token for another resource than the stored one's, after storing its
  /// refresh token alone, because the former refresh token may be dead by now. `nil` for a good
  /// token.
  private func foreignAudience(
    of token: OAuth2Credential, in store: AccountStore
  ) async throws(Problem) -> Problem? {
    guard let endpoint = descriptor.tokens, let own, case .oauth2(var kept) = own.credential
    else { return nil }
    do throws(FlowFailure) {
      try exchange(hiding: []).requireAudience(of: token, resource, at: endpoint)
      return nil
    } catch {
      kept.refreshToken = token.refreshToken
      if own.isRefused { kept.expiresAt = effects.now() }
      _ = try await save(.oauth2(kept), in: store)
      return error.problem.about(provider, account.id)
    }
  }

  /// Requests a fresh token. If the answer is lost or is an empty 400, the request is repeated
  /// once, at once and with the same refresh token. A server may accept a rotated refresh token for
  /// some more seconds, so a later retry has no better chance.
  private func answeredToken() async throws(FlowFailure) -> OAuth2Credential {
    do throws(FlowFailure) { return try await freshToken() } catch {
      guard error.problem.mayHaveArrived || error.isWordless else { throw error }
    }
    return try await freshToken()
  }

  /// Whether a stored credential can renew the stored token.
  var canRenew: Bool {
    switch descriptor {
    case .systemToken(let descriptor): descriptor.renew.flatMap(source) != nil
    case .clientCredentials: own != nil
    case .passwordSession: own?.remembersPassword == true
    case _ where descriptor.kind.tradesAssertion && own?.assertionSource != nil: true
    default:
      if let refresh = descriptor.tokens?.refresh, case .oauth2(let token)? = own?.credential {
        refresh.usesAccessToken ? secondsLeft > 0 : token.refreshToken != nil
      } else {
        false
      }
    }
  }

  /// Whether the provider renews tokens with a refresh token, and the stored token came without one.
  var lacksRefreshToken: Bool {
    guard let refresh = descriptor.tokens?.refresh, !refresh.usesAccessToken,
      case .oauth2(let token)? = own?.credential
    else { return false }
    return token.refreshToken == nil
  }

  /// The problem that only a new sign-in brings another credential.
  var notRenewable: Problem {
    var problem = Problem.notRenewable(provider, account)
    if lacksRefreshToken {
      problem.message = """
        This \(provider.name) credential came without a refresh token, so it cannot be renewed. It \
        is still valid. A new sign-in brings a refresh token, if \(provider.name) grants one.
        """
    }
    return problem
  }

  /// Whether the stored token serves until its end although its renewal failed with this problem. A
  /// refusal that does not name the refresh token says nothing about the access token either. A
  /// token that renews itself is renewed long before its end, and an assertion is no part of a
  /// token, so only `reloginNeeded` makes these useless.
  func keepsToken(after problem: Problem) -> Bool {
    problem.isRetryable || problem.detail == Problem.refreshRefused
      || problem.reason != .reloginNeeded
        && (descriptor.tokens?.refresh?.usesAccessToken == true || own?.assertionSource != nil)
  }

  /// Requests a new token, with the former refresh token and id_token if the answer brings none. It
  /// must be stored before it is used.
  private func freshToken() async throws(FlowFailure) -> OAuth2Credential {
    if case .systemToken(let descriptor) = descriptor, let recipe = descriptor.renew,
      let source = source(of: recipe)
    {
      return try await token(
        by: recipe, from: source, at: .renew, scopes: knownScopes(of: own) ?? permissions
      ).keeping(own)
    }
    if case .clientCredentials(let descriptor) = descriptor, let own,
      let refresh = descriptor.refresh
    {
      let former = try bearer(own)
      var exchange = exchange(hiding: [former.accessToken])
      return try await exchange.ownToken(
        descriptor, refresh.request, scopes: former.scopes, resource: resource, by: registration,
        at: .renew
      ).keeping(own)
    }
    if descriptor.kind.tradesAssertion, let endpoint = descriptor.tokens, let own,
      own.assertionSource != nil
    {
      let former = try bearer(own)
      if former.refreshToken != nil, let refresh = endpoint.refresh {
        do throws(FlowFailure) {
          return try await token(refreshing: former, by: refresh, at: endpoint).keeping(own)
        } catch {
          // A dead refresh token is dropped, because the assertion brings another.
          guard error.health == .reloginNeeded || error.isFinalRefusal else { throw error }
        }
      }
      return try await retradedToken(for: former, at: endpoint)
    }
    if canRenew, let descriptor = descriptor.tokens, let refresh = descriptor.refresh, let own {
      return try await token(refreshing: bearer(own), by: refresh, at: descriptor).keeping(own)
    }
    throw FlowFailure(own == nil ? nothingStored : .reloginNeeded(provider, account))
  }

  /// Refreshes a token by RFC 6749 section 6, or by the provider's own request. If the account's id
  /// is the subject of the id_token, a token for another person is refused (OpenID Connect Core 1.0
  /// section 12.2).
  private func token(
    refreshing former: OAuth2Credential, by refresh: TokenEndpoint.Refresh,
    at descriptor: TokenEndpoint
  ) async throws(FlowFailure) -> OAuth2Credential {
    var exchange = exchange(hiding: [former.refreshToken, former.accessToken, former.idToken])
    var grant = descriptor.parameters(for: resource)
    if !refresh.usesAccessToken, let refreshToken = former.refreshToken {
      grant += [
        Parameter("grant_type", "refresh_token"),
        Parameter("refresh_token", revealedText(refreshToken)),
      ]
    }
    let answer = try await exchange.ask(
      descriptor, refresh.request, grant, by: registration, token: former.accessToken, at: .renew)
    let (object, places) = (descriptor.object(answer), refresh.answer ?? descriptor.answer)
    let token = TokenResponse.credential(
      in: places.standard(object), scopes: former.scopes, now: effects.now(),
      proof: exchange.proof)
    guard var token else {
      throw exchange.unusable(
        .renew, answer.fault(in: object, isBound: exchange.proof != nil, at: places))
    }
    for secret in [token.accessToken, token.refreshToken, token.idToken].compactMap(\.self) {
      exchange.hide(secret)
    }
    do {
      if token.idToken != nil {
        let idToken = try await exchange.idToken(of: token, at: descriptor, for: registration) {
          if provider.identity?.isSubject ?? true { $0.subject = account.subject }
        }
        if idToken == nil { token.idToken = nil }
      }
    } catch {
      if error.problem.isAboutAnotherPerson { throw error }
      // The old refresh token may be dead by now, so an invalid id_token is dropped and the new
      // tokens are kept.
      token.idToken = nil
    }
    return token
  }

  /// Returns the credential that authorizes the request: the application's if the recipe uses its
  /// refresh token. Otherwise it is the account's own, or the application's if there is no other.
  private func source(of recipe: RequestTemplate) -> StoredCredential? {
    guard recipe.mentions(.refreshToken) else { return accountsOwn ?? own }
    guard case .oauth2(let token)? = own?.credential, token.refreshToken != nil else { return nil }
    return own
  }

  /// Stores the credential durably. If another request has changed the stored credential meanwhile,
  /// returns the stored one.
  func save(
    _ credential: Credential, in store: AccountStore
  ) async throws(Problem) -> Renewal {
    var settlement = self.settlement(credential)
    if account.health != .ok { settlement.edit = { $0.health = .ok } }
    var attempts = SaveAttempts()
    while true {
      do throws(Problem) {
        let revision = try store.settle(account.id, settlement)
        return revision == nil ? try newer(in: store) : .renewed(credential)
      } catch {
        // Space on the disk or memory is short, and either may be free again in a second.
        guard [.accountStoreFailure, .internal].contains(error.reason) else { throw error }
        guard try await attempts.wait(effects) else {
          throw .tokenNotSaved(error).about(provider, account.id)
        }
      }
    }
  }

  /// Interprets a refusal. If the refused token is no longer the stored one, the refusal is
  /// irrelevant.
  func refusal(_ failure: FlowFailure, in store: AccountStore) throws(Problem) -> Renewal {
    guard failure.remedy == nil else {
      return .rejected(.reloginNeeded(provider, account))
    }
    guard failure.problem.reason != .cancelled else { throw failure.problem }
    if failure.isWordless || failure.isFinalRefusal, try !isCurrent(in: store) {
      return try newer(in: store)
    }
    if failure.isWordless {
      return .failed(.refusedWithoutAWord(provider, account, failure.problem.serverError))
    }
    if failure.isFinalRefusal, descriptor.tokens != nil, !descriptor.kind.isSilent {
      return .rejected(.renewalRefused(provider, account, failure.problem.serverError))
    }
    let isOAuthError = failure.problem.serverError?.code != nil && !failure.problem.isRetryable
    guard isOAuthError else { return .failed(failure.problem.about(provider, account.id)) }
    if let health = failure.health,
      try store.settle(account.id, settlement(noting: health)) == nil
    {
      return try newer(in: store)
    }
    guard failure.health == .reloginNeeded else {
      return .rejected(failure.problem.about(provider, account.id))
    }
    var problem = Problem.reloginNeeded(provider, account)
    if own?.assertionSource != nil { problem = problem.withSignInHint(at: provider) }
    problem.serverError = failure.problem.serverError
    return .rejected(problem)
  }

  /// Whether the credential that this flow has read is still the stored one.
  private func isCurrent(in store: AccountStore) throws(Problem) -> Bool {
    guard let own else { return true }
    return try store.credentials(account.id).contains {
      $0.place == own.place && $0.generation == own.generation
    }
  }

  /// Returns the credential now stored in place of the one that this flow has read.
  func newer(in store: AccountStore) throws(Problem) -> Renewal {
    let stored = try store.credentials(account.id).issued(to: registration, for: resource)
    guard let stored, !stored.isRefused else {
      return .failed(.reloginNeeded(provider, account))
    }
    return .renewed(stored.credential)
  }
}

extension FlowFailure {
  /// Whether the provider has refused a renewal for good without saying that the refresh token is
  /// dead. Many providers have a code of their own for that.
  fileprivate var isFinalRefusal: Bool {
    remedy == nil && health == nil && !problem.isRetryable && problem.reason == .providerFailure
      && problem.advice == nil
      && problem.serverError?.status.map((400..<500).contains) == true
      && problem.serverError?.oauthCode?.isAboutRequest != true
  }
}

extension OAuth2Credential {
  /// Returns the token with the former refresh token and id_token if the answer brought none. RFC
  /// 6749 section 6, OpenID Connect Core 1.0 section 12.2.
  fileprivate func keeping(_ former: StoredCredential?) -> OAuth2Credential {
    guard case .oauth2(let former)? = former?.credential else { return self }
    var token = self
    if refreshToken == nil {
      token.refreshToken = former.refreshToken
      token.refreshExpiresAt = refreshExpiresAt ?? former.refreshExpiresAt
    }
    if idToken == nil {
      token.idToken = former.idToken
      token.hasFormerIDToken = former.idToken != nil
    }
    token.proofKey = proofKey ?? former.proofKey
    return token
  }
}

extension Problem {
  /// Another request has changed the account's credentials.
  static func outOfDate(_ account: Account) -> Problem {
    .store(
      .locked, "The account's credentials have changed meanwhile.", account: account.id)
  }
}

extension StoredCredentialFlow {
  /// Whether the account's own credential can be exchanged for one of the application's.
  var canIssue: Bool {
    switch descriptor {
    case .reverseAuth: true
    case .systemToken(let descriptor): descriptor.applicationToken != nil && accountsOwn != nil
    case .authorizationCode, .deviceCode, .oauth1, .clientCredentials, .jwtBearer, .tokenExchange,
      .passwordSession:
      false
    }
  }
}
