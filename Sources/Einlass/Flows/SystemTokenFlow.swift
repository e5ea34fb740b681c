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
  switch (flow.renewed, flow.own) {
  case (let renewed?, _): token = renewed
  case (nil, let own?) where !flow.mintsAnother(words):
    guard flow.isGoodForLongEnough else { throw flow.wantsRenewal }
    token = try flow.bearer(own)
  case (nil, _):
    token = try await mintedToken(words, flow)
    isNew = true
  }

  flow.report(.verifying)
  let exchange = flow.exchange(hiding: [token.accessToken])
  let identity = try await exchange.identity(
    token.bearing(clientID: flow.registration.clientID, subject: flow.account.subject))
  return Flow.SignedIn(credential: .oauth2(token), identity: identity, isNew: isNew)
}

/// A new token for the application, that the account's own pays for.
func mintedToken(
  _ words: FlowDescriptor.SystemToken, _ flow: Flow
) async throws(Setback) -> OAuth2Credential {
  guard let recipe = words.applicationToken, let system = flow.accountsOwn else {
    throw .failed(Failure(flow.nothingStored))
  }
  flow.report(.requesting)
  return try await flow.token(
    by: recipe, from: system, at: .applicationToken, scopes: flow.permissions)
}

extension Flow {
  /// Whether a new token is needed besides the stored one: access has just been granted, or the request asks for more
  /// than that is good for. Another request's of this moment serves.
  fileprivate func mintsAnother(_ words: FlowDescriptor.SystemToken) -> Bool {
    words.applicationToken != nil && accountsOwn != nil
      && (!wasGrantedBefore && adopted == nil || reachesBeyond(own) || !isGoodForLongEnough)
  }

  /// The account's own credential, where it is another's than the application's.
  var accountsOwn: StoredCredential? {
    credentials.filter { !sameBytes($0.registration.clientID, registration.clientID) }.accountsOwn
  }

  /// Whether the request asks for more than a stored token is good for, as far as that is known.
  fileprivate func reachesBeyond(_ stored: StoredCredential?) -> Bool {
    guard let scopes = knownScopes(of: stored) else { return false }
    return !permissions.allSatisfy { permission in scopes.contains { sameBytes($0, permission) } }
  }

  /// What a stored token is good for; `nil` when nobody said.
  func knownScopes(of stored: StoredCredential?) -> [String]? {
    guard case .oauth2(let token)? = stored?.credential, !token.scopes.isEmpty else { return nil }
    return token.scopes
  }

  /// The token of a stored credential, if it may be sent where this flow's requests go.
  func bearer(_ stored: StoredCredential) throws(Setback) -> OAuth2Credential {
    guard case .oauth2(let token) = try sendable(stored).credential else {
      throw .failed(Failure(.reloginNeeded(provider, account)))
    }
    return token
  }

  /// A token of the application's, by a recipe that another token pays for. `scopes`: what it is good for, unless the
  /// answer says otherwise.
  func token(
    by recipe: RequestTemplate, from payer: StoredCredential, at step: Step, scopes: [String]
  ) async throws(Setback) -> OAuth2Credential {
    let payer = try bearer(payer).accessToken
    var values = Template.Values(texts: [
      .clientID: registration.clientID,
      .systemToken: revealedText(payer),
      .permissions: permissions.joined(separator: provider.permissions.separator),
    ])
    if case .oauth2(let token)? = own?.credential {
      values[.refreshToken] = token.refreshToken.map(revealedText)
    }
    values[.clientSecret] = registration.clientSecret.map(revealedText)
    values[.audience] = audience.flatMap { provider.permissions.audienceWords[$0] }
    let exchange = exchange(hiding: [payer, values[.refreshToken].map { Secret($0) }])
    let answer = try await exchange.send(recipe.filled(values).request, at: step)
    let credential = TokenResponse.credential(
      in: answer.object, scopes: scopes, now: effects.now())
    guard let credential else { throw exchange.unusable(step) }
    return credential
  }
}
