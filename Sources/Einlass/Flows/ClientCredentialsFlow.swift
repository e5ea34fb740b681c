internal import EinlassCrypto
internal import EinlassJSON

/// Requests a token for the application itself, without a person. RFC 6749 section 4.4.
///
/// The account is the application, identified by its client id.
func clientCredentials(
  _ words: TokenEndpoint, _ visit: Visit
) async throws(Setback) -> AccountStore.Added {
  let registration = visit.registration
  guard registration.clientSecret != nil || registration.privateKey != nil else {
    throw .failed(
      Failure(.authenticatorUnconfigured(visit.provider, missing: [.clientSecret])))
  }
  if let name = visit.request.pageParameterName {
    throw .failed(Failure(.pageParameter(name, visit.provider)))
  }
  visit.asker.report(.requesting)
  var exchange = visit.exchange(hiding: [])
  let token = try await exchange.ownToken(
    words, words.request, scopes: visit.scopes(words), resource: visit.request.resource,
    by: registration, at: .token)
  visit.asker.report(.saving)
  do {
    return try await visit.keep(
      .clientCredentials(words), .oauth2(token),
      Identity(id: registration.clientID, username: registration.clientID), visit.asker)
  } catch { throw .failed(Failure(error)) }
}

extension Exchange {
  /// Requests a token with the grant of RFC 6749 section 4.4.2. A refresh token in the answer is
  /// dropped, because this grant should not issue one (RFC 6749 section 4.4.3). An id_token is
  /// dropped, because there is no person.
  mutating func ownToken(
    _ words: TokenEndpoint, _ request: RequestTemplate, scopes: [String], resource: String?,
    by registration: ClientRegistration, at step: Step
  ) async throws(Setback) -> OAuth2Credential {
    let scope = scopes.joined(separator: provider.permissions.separator)
    let answer = try await ask(
      words, request,
      [Parameter("grant_type", "client_credentials")]
        + (scope.isEmpty ? [] : [Parameter("scope", scope)])
        + (resource.map { [Parameter("resource", $0)] } ?? []), by: registration, at: step)
    guard
      var token = TokenResponse.credential(
        in: words.object(answer), scopes: scopes, now: effects.now(), proof: proof)
    else { throw unusable(step) }
    hide(token.accessToken)
    (token.refreshToken, token.idToken) = (nil, nil)
    return token
  }
}
