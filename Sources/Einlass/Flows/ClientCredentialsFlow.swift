internal import EinlassCrypto
internal import EinlassJSON

/// Requests a token for the application itself, without a person. RFC 6749 section 4.4.
///
/// The account is the application, identified by its client id.
func clientCredentials(
  _ endpoint: TokenEndpoint, _ flow: InteractiveFlow
) async throws(FlowFailure) -> AccountStore.Added {
  let registration = flow.registration
  guard registration.clientSecret != nil || registration.privateKey != nil else {
    throw FlowFailure(.authenticatorUnconfigured(flow.provider, missing: [.clientSecret]))
  }
  if let path = flow.request.pageParameter {
    throw FlowFailure(.pageParameter(path, flow.provider))
  }
  flow.asker.report(.requesting)
  var exchange = flow.exchange(hiding: [])
  let token = try await exchange.ownToken(
    endpoint, endpoint.request, scopes: flow.scopes(endpoint), resource: flow.request.resource,
    by: registration, at: .token)
  flow.asker.report(.saving)
  do {
    return try await flow.save(
      .clientCredentials(endpoint), .oauth2(token),
      Identity(id: registration.clientID, username: registration.clientID), flow.asker)
  } catch { throw FlowFailure(error) }
}

extension Exchange {
  /// Requests a token with the grant of RFC 6749 section 4.4.2. A refresh token in the answer is
  /// dropped, because this grant should not issue one (RFC 6749 section 4.4.3). An id_token is
  /// dropped, because there is no person.
  mutating func ownToken(
    _ endpoint: TokenEndpoint, _ request: RequestTemplate, scopes: [String], resource: String?,
    by registration: ClientRegistration, at step: Step
  ) async throws(FlowFailure) -> OAuth2Credential {
    let scope = scopes.joined(separator: provider.permissions.separator)
    let answer = try await ask(
      endpoint, request,
      [Parameter("grant_type", "client_credentials")]
        + (scope.isEmpty ? [] : [Parameter("scope", scope)])
        + endpoint.parameters(for: resource), by: registration, at: step)
    let object = endpoint.object(answer)
    guard
      var token = TokenResponse.credential(
        in: endpoint.answer.standard(object), scopes: scopes, now: effects.now(), proof: proof)
    else {
      throw unusable(step, answer.fault(in: object, isBound: proof != nil, at: endpoint.answer))
    }
    hide(token.accessToken)
    try requireAudience(of: token, resource, at: endpoint)
    (token.refreshToken, token.idToken) = (nil, nil)
    return token
  }
}
