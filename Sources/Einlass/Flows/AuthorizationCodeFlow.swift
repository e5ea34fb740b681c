internal import EinlassCrypto
internal import EinlassJSON

/// Sends the person's browser to the provider and exchanges the returned code for a token. RFC 6749
/// section 4.1, with PKCE (RFC 7636) and a native application's redirect (RFC 8252).
func authorizationCode(
  _ words: FlowDescriptor.AuthorizationCode, _ visit: Visit
) async throws(Setback) -> AccountStore.Added {
  let proof = ProofKey(randomBytes: visit.effects.randomBytes(ProofKey.byteCount))
  let stateParameter = visit.randomText()
  let nonce = words.tokens.vouches ? visit.randomText() : nil
  let place = try await visit.open(words.redirect)
  defer { place.close() }

  var exchange = visit.exchange(hiding: [proof.codeVerifier, nonce.map { Secret($0) }])
  let pending = PendingAuthorization(
    stateParameter: stateParameter, issuer: words.tokens.issuer?.text,
    promisesIssuer: words.promisesIssuer)
  var request = AuthorizationRequest(
    endpoint: words.authorize.filled(.init(texts: [.clientID: visit.registration.clientID]))
      .request.address,
    clientID: visit.registration.clientID, redirectURI: place.address,
    scope: visit.scopes(words.tokens).joined(separator: visit.provider.permissions.separator),
    stateParameter: stateParameter, codeChallenge: proof.codeChallenge, nonce: nonce,
    resource: visit.request.resource, customParameters: visit.pageParameters)
  if let pushed = words.pushed {
    visit.asker.report(.requesting)
    request.reference = try await exchange.reference(to: request, pushed, words.tokens, visit)
  }
  let arrival = try await visit.sendBrowser(to: request.address, returningTo: place) {
    pending.response(query: $0)
  }

  return try await arrival.showing(visit) { response, visit throws(Setback) in
    let code = try visit.code(in: response)
    visit.asker.report(.exchanging)
    exchange.hide(code)
    let answer = try await exchange.ask(
      words.tokens, words.tokens.request,
      [
        Parameter("grant_type", "authorization_code"), Parameter("code", revealedText(code)),
        Parameter("redirect_uri", place.address),
        Parameter("code_verifier", revealedText(proof.codeVerifier)),
      ] + visit.resourceParameters, by: visit.registration, at: .token)
    return try await visit.keep(
      answer, of: .authorizationCode(words), at: words.tokens, nonce: nonce, &exchange)
  }
}

extension Exchange {
  /// Pushes the parameters to the provider and returns the `request_uri`, which replaces them in
  /// the browser's address. RFC 9126 section 2.
  fileprivate func reference(
    to request: AuthorizationRequest, _ pushed: RequestTemplate, _ words: TokenEndpoint,
    _ visit: Visit
  ) async throws(Setback) -> String {
    let answer = try await ask(
      words, pushed, request.parameters, by: visit.registration, at: .pushedAuthorization)
    guard let reference = answer.object?["request_uri"]?.string, TokenResponse.isToken(reference),
      reference.utf8.count <= WebAddress.limitBytes
    else { throw unusable(.pushedAuthorization) }
    return reference
  }
}

extension Visit {
  /// Returns the authorization code of a response, or throws the provider's error. An error about
  /// an unfinished page counts as the person's refusal, unless the request allowed no page
  /// (`prompt=none`).
  fileprivate func code(in response: AuthorizationResponse) throws(Setback) -> Secret {
    switch response {
    case .code(let code): return code
    case .anonymous(let error):
      throw .failed(
        Failure(.anonymousRefusal(provider, .init(code: cleaned(error, limitBytes: 64)))))
    case .refused(let error, let description):
      let said = Problem.ServerError(
        code: cleaned(error, limitBytes: 64),
        text: description.map { cleaned($0, limitBytes: 200) })
      let isNo = error == "access_denied" || request.prompt != "none" && isUnwilling(error)
      guard !isNo else { throw .failed(Failure(.accessDenied(provider, said))) }
      var problem = Problem(
        .providerFailure,
        "\(provider.name) refused the sign-in. See its own words and check the registration.",
        provider: provider.id, serverError: said)
      problem.isRetryable = ["temporarily_unavailable", "server_error"].contains(error)
      throw .failed(Failure(problem))
    }
  }
}

/// Whether the error says that the person did not finish a step of the page. OpenID Connect Core
/// 1.0 section 3.1.2.6.
private func isUnwilling(_ error: String) -> Bool {
  ["consent_required", "interaction_required", "login_required"].contains(error)
}
