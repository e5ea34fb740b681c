internal import EinlassCrypto
internal import EinlassJSON

/// Gets the application's token from the account itself and asks whose it is. Seeds 1.4, F3.
///
/// A token that is stored for the application serves while access stands; a new grant mints another, where the
/// provider can.
func systemToken(
  _ words: FlowDescriptor.SystemToken, _ flow: Flow
) async throws(Setback) -> Flow.SignedIn {
  let token: OAuth2Credential
  var isNew = false
  switch (flow.renewed, words.applicationToken, flow.own, flow.accountsOwn) {
  case (let renewed?, _, _, _): token = renewed
  case (nil, let recipe?, let own, let system?) where own == nil || !flow.wasGrantedBefore:
    flow.report(.requesting)
    token = try await flow.token(by: recipe, from: system, at: .applicationToken)
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
  /// The provider does not renew it: an OAuth error.
  case rejected
  /// Anything else; another time it may work.
  case failed
}

extension Flow {
  /// Gets a fresh token for one that was refused. Throws only when cancelled.
  func renewal(_ words: FlowDescriptor.SystemToken) async throws(Problem) -> Renewal {
    guard let recipe = words.renew, let payer = accountsOwn ?? own else { return .rejected }
    do {
      return .renewed(try await token(by: recipe, from: payer, at: .renew))
    } catch {
      guard case .failed(let failure) = error else { return .rejected }
      guard failure.problem.reason != .cancelled else { throw failure.problem }
      let isOAuthError = failure.problem.serverError?.code != nil && !failure.problem.isRetryable
      return isOAuthError ? .rejected : .failed
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

  /// The token of a stored credential, if it may be sent where this flow's requests go.
  fileprivate func bearer(_ stored: StoredCredential) throws(Setback) -> OAuth2Credential {
    guard case .oauth2(let token) = try sendable(stored).credential else {
      throw .failed(Failure(.reloginNeeded(provider, account)))
    }
    return token
  }

  /// A token of the application's, by a recipe that another token pays for.
  fileprivate func token(
    by recipe: RequestTemplate, from payer: StoredCredential, at step: Step
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
      in: answer.object, scopes: permissions, now: effects.now())
    guard let credential else { throw exchange.unusable(step) }
    return credential
  }
}
