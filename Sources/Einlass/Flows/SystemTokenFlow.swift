internal import EinlassCrypto
internal import EinlassJSON

/// Gets the application's token with the account's own token, and asks for its owner.
///
/// A stored token is reused while access stands and it covers the request. Otherwise another is
/// minted, if the provider can do so.
func systemToken(
  _ descriptor: FlowDescriptor.SystemToken, _ flow: StoredCredentialFlow
) async throws(FlowFailure) -> StoredCredentialFlow.SignedIn {
  let token: OAuth2Credential
  var isNew = false
  switch (flow.renewed, flow.own) {
  case (.oauth2(let renewed)?, _): token = renewed
  case (_, let own?) where !flow.mintsAnother(descriptor):
    guard flow.isGoodForLongEnough else { throw flow.wantsRenewal }
    token = try flow.bearer(own)
  case (_, _):
    token = try await mintedToken(descriptor, flow)
    isNew = true
  }

  flow.report(.verifying)
  let exchange = flow.exchange(hiding: [token.accessToken])
  let identity = try await exchange.identity(
    token.bearing(clientID: flow.registration.clientID, subject: flow.account.subject))
  return StoredCredentialFlow.SignedIn(credential: .oauth2(token), identity: identity, isNew: isNew)
}

/// Mints a new token for the application with the account's own token.
func mintedToken(
  _ descriptor: FlowDescriptor.SystemToken, _ flow: StoredCredentialFlow
) async throws(FlowFailure) -> OAuth2Credential {
  guard let recipe = descriptor.applicationToken, let system = flow.accountsOwn else {
    throw FlowFailure(flow.nothingStored)
  }
  flow.report(.requesting)
  return try await flow.token(
    by: recipe, from: system, at: .applicationToken, scopes: flow.permissions)
}

extension StoredCredentialFlow {
  /// Whether a new token is needed although one is stored: access has just been granted, or the
  /// stored token covers too little or expires too soon. After a new grant, a token stored by a
  /// concurrent request is good enough.
  fileprivate func mintsAnother(_ descriptor: FlowDescriptor.SystemToken) -> Bool {
    descriptor.applicationToken != nil && accountsOwn != nil
      && (!wasGrantedBefore && adopted == nil || reachesBeyond(own) || !isGoodForLongEnough)
  }

  /// The account's own credential, unless it belongs to the application's registration.
  var accountsOwn: StoredCredential? {
    credentials.filter { !sameBytes($0.registration.clientID, registration.clientID) }.accountsOwn
  }

  /// Whether the request asks for permissions that the stored token is known to lack.
  fileprivate func reachesBeyond(_ stored: StoredCredential?) -> Bool {
    guard let scopes = knownScopes(of: stored) else { return false }
    return !permissions.allSatisfy { permission in scopes.contains { sameBytes($0, permission) } }
  }

  /// Returns the scopes of a stored token; `nil` if they are unknown.
  func knownScopes(of stored: StoredCredential?) -> [String]? {
    guard case .oauth2(let token)? = stored?.credential, !token.scopes.isEmpty else { return nil }
    return token.scopes
  }

  /// Returns the token of a stored credential. Throws `bindingMismatch` if this flow's requests go
  /// to other origins, and `reloginNeeded` if it is not an OAuth 2.0 token.
  func bearer(_ stored: StoredCredential) throws(FlowFailure) -> OAuth2Credential {
    guard case .oauth2(let token) = try sendable(stored).credential else {
      throw FlowFailure(.reloginNeeded(provider, account))
    }
    return token
  }

  /// Requests a token for the application by a recipe, with `source`'s token. `scopes` apply unless
  /// the answer names others.
  func token(
    by recipe: RequestTemplate, from source: StoredCredential, at step: Step, scopes: [String]
  ) async throws(FlowFailure) -> OAuth2Credential {
    let source = try bearer(source).accessToken
    var values = Template.Values(texts: [
      .clientID: registration.clientID,
      .systemToken: revealedText(source),
      .permissions: permissions.joined(separator: provider.permissions.separator),
    ])
    if case .oauth2(let token)? = own?.credential {
      values[.refreshToken] = token.refreshToken.map(revealedText)
    }
    values[.clientSecret] = registration.clientSecret.map(revealedText)
    values[.audience] = audience.flatMap { provider.permissions.audienceValues[$0] }
    let exchange = exchange(hiding: [source, values[.refreshToken].map { Secret($0) }])
    let answer = try await exchange.send(recipe.filled(values).request, at: step)
    let credential = TokenResponse.credential(
      in: answer.object, scopes: scopes, now: effects.now())
    guard let credential else {
      throw exchange.unusable(step, answer.fault(in: answer.object, isBound: false))
    }
    return credential
  }
}
