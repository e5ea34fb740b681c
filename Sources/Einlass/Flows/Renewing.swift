/// How a renewal ended, in the words of the original's account store. Seeds 1.1, protocol section 3.
public enum Renewal: Sendable {
  /// With a token that is stored.
  case renewed(OAuth2Credential)
  /// The provider does not renew it: an OAuth error.
  case rejected(Problem)
  /// Anything else. Another time it may work, unless the problem is `reloginNeeded`: then only the person can.
  case failed(Problem)
}

extension Flow {
  /// How often and how far apart a token is tried to be saved that the store has no room for. Security T-26.
  private static let saveAttempts = 60

  /// Gets a fresh token for the stored one with one request and stores it before anyone uses it. Security C-41 to C-44.
  ///
  /// Once the request is sent, it goes on to the commit whatever happens to this task, and keeps the lease until then.
  func renewal(
    storedIn store: AccountStore, under lease: Lease
  ) async throws(Problem) -> Renewal {
    try await effects.finishing { () throws(Problem) in
      defer { lease.keep() }
      let begun = BegunRenewal(account: account.id, generation: own?.generation ?? 0)
      store.begunRenewals.begin(begun)
      defer { store.begunRenewals.end(begun) }
      let token: OAuth2Credential
      do throws(Setback) {
        token = try await answeredToken().keeping(own)
      } catch {
        return try refusal(error, in: store)
      }
      guard Credential.oauth2(token).isFitting else {
        return .failed(.credentialTooLarge(provider).about(provider, account.id))
      }
      return try await keep(token, in: store)
    }
  }

  /// A fresh token. When its answer is lost, or an empty 400, it is asked for once more, at once and with the same
  /// refresh token: a server may take that for some seconds yet, and any later use of it is no better.
  private func answeredToken() async throws(Setback) -> OAuth2Credential {
    do throws(Setback) { return try await freshToken() } catch {
      guard error.isLostAnswer || error.isWordless else { throw error }
    }
    return try await freshToken()
  }

  /// Whether there is something to renew the stored token with.
  var canRenew: Bool {
    switch descriptor {
    case .systemToken(let words): words.renew.flatMap(payer) != nil
    case .clientCredentials: own != nil
    default:
      if let refresh = descriptor.tokens?.refresh, case .oauth2(let token)? = own?.credential {
        refresh.isPaidByToken ? secondsLeft > 0 : token.refreshToken != nil
      } else {
        false
      }
    }
  }

  /// Whether the stored token, while it lasts, serves on after a renewal that failed so: a token that pays for its own
  /// successor is renewed a day before its end, and only who says that it is dead makes it worthless.
  func keepsToken(after problem: Problem) -> Bool {
    problem.isRetryable
      || descriptor.tokens?.refresh?.isPaidByToken == true && problem.reason != .reloginNeeded
  }

  /// What the provider gives for the stored token, which nobody may use before it is stored.
  private func freshToken() async throws(Setback) -> OAuth2Credential {
    if case .systemToken(let words) = descriptor, let recipe = words.renew,
      let payer = payer(of: recipe)
    {
      return try await token(
        by: recipe, from: payer, at: .renew, scopes: knownScopes(of: own) ?? permissions)
    }
    if case .clientCredentials(let words) = descriptor, let own, let refresh = words.refresh {
      let former = try bearer(own)
      var exchange = exchange(hiding: [former.accessToken])
      return try await exchange.ownToken(
        words, refresh.request, scopes: former.scopes, resource: resource, by: registration,
        at: .renew)
    }
    if canRenew, let words = descriptor.tokens, let refresh = words.refresh, let own {
      return try await token(refreshing: bearer(own), by: refresh, at: words)
    }
    throw .failed(Failure(own == nil ? nothingStored : .reloginNeeded(provider, account)))
  }

  /// The refresh of RFC 6749 section 6, or the provider's own. Who gets another person's token instead does not take it,
  /// where the account's id is the id_token's subject (C-44).
  private func token(
    refreshing former: OAuth2Credential, by refresh: TokenEndpoint.Refresh,
    at words: TokenEndpoint
  ) async throws(Setback) -> OAuth2Credential {
    var exchange = exchange(hiding: [former.refreshToken, former.accessToken, former.idToken])
    var grant = resource.map { [Parameter("resource", $0)] } ?? []
    if !refresh.isPaidByToken, let refreshToken = former.refreshToken {
      grant += [
        Parameter("grant_type", "refresh_token"),
        Parameter("refresh_token", revealedText(refreshToken)),
      ]
    }
    let answer = try await exchange.ask(
      words, refresh.request, grant, by: registration, token: former.accessToken, at: .renew)
    let token = TokenResponse.credential(
      in: words.object(answer), scopes: former.scopes, now: effects.now(),
      proof: exchange.proof)
    guard var token else { throw exchange.unusable(.renew) }
    for secret in [token.accessToken, token.refreshToken, token.idToken].compactMap(\.self) {
      exchange.hide(secret)
    }
    do {
      if token.idToken != nil {
        let idToken = try await exchange.idToken(of: token, at: words, for: registration) {
          if provider.identity?.isSubject ?? true { $0.subject = account.subject }
        }
        if idToken == nil { token.idToken = nil }
      }
    } catch {
      if case .failed(let failure) = error, failure.problem.isAboutAnotherPerson { throw error }
      // The refresh token may be dead by now: what came instead is worth more than a word on who it is for.
      token.idToken = nil
    }
    return token
  }

  /// Whose token the request is made with: that of the application where it is renewed by itself, else the account's.
  private func payer(of recipe: RequestTemplate) -> StoredCredential? {
    guard recipe.mentions(.refreshToken) else { return accountsOwn ?? own }
    guard case .oauth2(let token)? = own?.credential, token.refreshToken != nil else { return nil }
    return own
  }

  /// Stores it durably; what somebody else has stored meanwhile counts instead.
  private func keep(_ token: OAuth2Credential, in store: AccountStore) async throws(Problem)
    -> Renewal
  {
    var settlement = self.settlement(.oauth2(token))
    if account.health != .ok { settlement.edit = { $0.health = .ok } }
    var attemptsLeft = Self.saveAttempts
    while true {
      do throws(Problem) {
        let revision = try store.settle(account.id, settlement)
        return revision == nil ? try newer(in: store) : .renewed(token)
      } catch {
        // No room, or no memory: either may come back.
        guard [.accountStoreFailure, .internal].contains(error.reason) else { throw error }
        attemptsLeft -= 1
        guard attemptsLeft > 0 else { throw .tokenNotSaved(error) }
      }
      try await effects.sleepUntil(effects.now() + 1)
    }
  }

  /// What a refusal means. One of a token that is not the stored one any more means nothing.
  private func refusal(_ setback: Setback, in store: AccountStore) throws(Problem) -> Renewal {
    guard case .failed(let failure) = setback else {
      return .rejected(.reloginNeeded(provider, account))
    }
    guard failure.problem.reason != .cancelled else { throw failure.problem }
    if failure.isWordless {
      return .failed(.refusedWithoutAWord(provider, account, failure.problem.serverError))
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
    problem.serverError = failure.problem.serverError
    return .rejected(problem)
  }

  /// What is stored now in the place of what this flow has read.
  private func newer(in store: AccountStore) throws(Problem) -> Renewal {
    let stored = try store.credentials(account.id).issued(to: registration, for: resource)
    guard case .oauth2(let token)? = stored?.credential else {
      return .failed(.reloginNeeded(provider, account))
    }
    return .renewed(token)
  }
}

extension Setback {
  fileprivate var isLostAnswer: Bool {
    if case .failed(let failure) = self { failure.problem.mayHaveArrived } else { false }
  }

  fileprivate var isWordless: Bool {
    if case .failed(let failure) = self { failure.isWordless } else { false }
  }
}

extension OAuth2Credential {
  /// An answer without a refresh token leaves the old one in force. RFC 6749 section 6. So it is with the id_token.
  fileprivate func keeping(_ former: StoredCredential?) -> OAuth2Credential {
    guard case .oauth2(let former)? = former?.credential else { return self }
    var token = self
    token.refreshToken = refreshToken ?? former.refreshToken
    if idToken == nil {
      token.idToken = former.idToken
      token.hasFormerIDToken = former.idToken != nil
    }
    token.proofKey = proofKey ?? former.proofKey
    return token
  }
}
