internal import EinlassCrypto
internal import EinlassJSON

/// Gets the application's token from the account itself and asks whose it is. Seeds 1.4, F3.
///
/// A token that is stored for the application serves while access stands and it reaches as far as the request; else
/// another is minted, where the provider can.
func systemToken(
  _ words: FlowDescriptor.SystemToken, _ flow: Flow
) async throws(Setback) -> Flow.SignedIn {
  let token: OAuth2Credential
  var isNew = false
  switch (flow.renewed, words.applicationToken, flow.own, flow.accountsOwn) {
  case (let renewed?, _, _, _): token = renewed
  case (nil, let recipe?, let own, let system?)
  where own == nil || !flow.wasGrantedBefore || flow.reachesBeyond(own):
    flow.report(.requesting)
    token = try await flow.token(
      by: recipe, from: system, at: .applicationToken, scopes: flow.permissions)
    isNew = true
  case (nil, _, let own?, _): token = try flow.bearer(own)
  case (nil, _, nil, .some): throw .failed(Failure(.bindingMismatch(flow.provider, flow.account)))
  case (nil, _, nil, nil): throw .failed(Failure(.reloginNeeded(flow.provider, flow.account)))
  }

  flow.report(.verifying)
  let exchange = flow.exchange(hiding: [token.accessToken])
  let identity = try await exchange.identity(
    by: flow.provider.identity.request.filled(
      .init(texts: [.token: revealedText(token.accessToken)])
    ).request)
  return Flow.SignedIn(credential: .oauth2(token), identity: identity, isNew: isNew)
}

/// How a renewal ended, in the words of the original's account store. Seeds 1.1, protocol section 3.
enum Renewal: Sendable {
  case renewed(OAuth2Credential)
  /// The provider does not renew it: an OAuth error. `health`: what its error rules say of the account.
  case rejected(health: Account.Health?)
  /// Anything else; another time it may work.
  case failed
}

extension Flow {
  /// Gets a fresh token for one that was refused. Throws only when cancelled.
  func renewal(_ words: FlowDescriptor.SystemToken) async throws(Problem) -> Renewal {
    guard let recipe = words.renew, let payer = accountsOwn ?? own else {
      return .rejected(health: nil)
    }
    do {
      return .renewed(
        try await token(
          by: recipe, from: payer, at: .renew, scopes: knownScopes(of: own) ?? permissions))
    } catch {
      guard case .failed(let failure) = error else { return .rejected(health: nil) }
      guard failure.problem.reason != .cancelled else { throw failure.problem }
      let isOAuthError = failure.problem.serverError?.code != nil && !failure.problem.isRetryable
      return isOAuthError ? .rejected(health: failure.health) : .failed
    }
  }

  /// What is stored for the application's registration.
  fileprivate var own: StoredCredential? { credentials.issued(to: registration) }

  /// The account's own credential, where it is another's than the application's.
  fileprivate var accountsOwn: StoredCredential? {
    credentials.first {
      $0.role == .system && !sameBytes($0.registration.clientID, registration.clientID)
    }
  }

  /// Whether the request asks for more than a stored token is good for, as far as that is known.
  fileprivate func reachesBeyond(_ stored: StoredCredential?) -> Bool {
    guard let scopes = knownScopes(of: stored) else { return false }
    return !permissions.allSatisfy { permission in scopes.contains { sameBytes($0, permission) } }
  }

  /// What a stored token is good for; `nil` when nobody said.
  private func knownScopes(of stored: StoredCredential?) -> [String]? {
    guard case .oauth2(let token)? = stored?.credential, !token.scopes.isEmpty else { return nil }
    return token.scopes
  }

  /// The token of a stored credential, if it may be sent where this flow's requests go.
  fileprivate func bearer(_ stored: StoredCredential) throws(Setback) -> OAuth2Credential {
    guard case .oauth2(let token) = try sendable(stored).credential else {
      throw .failed(Failure(.reloginNeeded(provider, account)))
    }
    return token
  }

  /// A token of the application's, by a recipe that another token pays for. `scopes`: what it is good for, unless the
  /// answer says otherwise.
  fileprivate func token(
    by recipe: RequestTemplate, from payer: StoredCredential, at step: Step, scopes: [String]
  ) async throws(Setback) -> OAuth2Credential {
    let payer = try bearer(payer).accessToken
    let exchange = exchange(hiding: [payer])
    var values = Template.Values(texts: [
      .clientID: registration.clientID,
      .systemToken: revealedText(payer),
      .permissions: permissions.joined(separator: provider.permissions.separator),
    ])
    values[.clientSecret] = registration.clientSecret.map(revealedText)
    values[.audience] = audience.flatMap { provider.permissions.audienceWords[$0] }
    let answer = try await exchange.send(recipe.filled(values).request, at: step)
    let credential = TokenResponse.credential(
      in: answer.object, scopes: scopes, now: effects.now())
    guard let credential else { throw exchange.unusable(step) }
    return credential
  }
}
