internal import EinlassCrypto
internal import EinlassJSON

/// Sends the person's browser to the provider and exchanges the returned code for a token. RFC 6749
/// section 4.1, with PKCE (RFC 7636) and a native application's redirect (RFC 8252).
func authorizationCode(
  _ descriptor: FlowDescriptor.AuthorizationCode, _ flow: InteractiveFlow
) async throws(FlowFailure) -> AccountStore.Added {
  let proof = descriptor.proofKey.map {
    ProofKey($0, randomBytes: flow.effects.randomBytes(ProofKey.byteCount))
  }
  let stateParameter = flow.randomText()
  let nonce = descriptor.tokens.verifiesIDTokens ? flow.randomText() : nil
  let place = try await flow.open(
    descriptor.redirect, takingFragment: descriptor.responseMode == .fragment,
    showingCode: descriptor.isPasted)
  defer { place.close() }
  guard place.listener != nil || descriptor.responseMode != .formPost else {
    throw FlowFailure(.postedElsewhere(flow.provider))
  }

  var exchange = flow.exchange(hiding: [proof?.codeVerifier, nonce.map { Secret($0) }])
  let pending = PendingAuthorization(
    stateParameter: stateParameter, issuer: descriptor.tokens.issuer?.text,
    promisesIssuer: descriptor.promisesIssuer, handedOn: descriptor.handedOn)
  var request = AuthorizationRequest(
    endpoint: descriptor.authorize.filled(.init(texts: [.clientID: flow.registration.clientID]))
      .request.address,
    clientID: flow.registration.clientID, redirectURI: place.address,
    scope: flow.scopes(descriptor.tokens).joined(separator: flow.provider.permissions.separator),
    stateParameter: stateParameter, codeChallenge: proof?.codeChallenge,
    codeChallengeMethod: proof?.method ?? .s256,
    responseMode: descriptor.responseMode?.rawValue, nonce: nonce,
    resource: descriptor.tokens.parameters(for: flow.request.resource).first?.value,
    customParameters: flow.pageParameters, page: descriptor.authorize)
  try flow.requireFree(descriptor.authorize)
  if let pushed = descriptor.pushed {
    try flow.requireFree(pushed)
    flow.asker.report(.requesting)
    do throws(FlowFailure) {
      request.reference = try await exchange.reference(
        to: request, pushed, descriptor.tokens, flow)
    } catch {
      // A server that also takes plain parameters may refuse to push them for this client.
      let status = error.problem.serverError?.status ?? 0
      guard !descriptor.requiresPushed, (400..<500).contains(status), status != 429 else {
        throw error
      }
    }
  }
  let arrival = try await flow.sendBrowser(to: request.address, returningTo: place) {
    pending.response($0)
  }

  return try await arrival.showing(flow) { response, flow throws(FlowFailure) in
    let (code, further) = try flow.code(in: response, from: pending.issuer)
    flow.asker.report(.exchanging)
    exchange.hide(code)
    let answer = try await exchange.ask(
      descriptor.tokens, descriptor.tokens.request,
      [
        Parameter("grant_type", "authorization_code"), Parameter("code", revealedText(code)),
        Parameter("redirect_uri", place.address),
      ] + (proof.map { [Parameter("code_verifier", revealedText($0.codeVerifier))] } ?? [])
        + descriptor.tokens.parameters(for: flow.request.resource) + further,
      by: flow.registration, at: .token)
    return try await flow.verifyAndSave(
      answer, of: .authorizationCode(descriptor), at: descriptor.tokens, nonce: nonce, &exchange)
  }
}

extension Exchange {
  /// Pushes the parameters to the provider and returns the `request_uri`, which replaces them in
  /// the browser's address. RFC 9126 section 2.
  fileprivate func reference(
    to request: AuthorizationRequest, _ pushed: RequestTemplate, _ descriptor: TokenEndpoint,
    _ flow: InteractiveFlow
  ) async throws(FlowFailure) -> String {
    let answer = try await ask(
      descriptor, pushed, request.parameters, by: flow.registration, at: .pushedAuthorization)
    guard let reference = answer.object?["request_uri"]?.string, TokenResponse.isToken(reference),
      reference.utf8.count <= WebAddress.limitBytes
    else { throw unusable(.pushedAuthorization) }
    return reference
  }
}

extension InteractiveFlow {
  /// Returns the authorization code of a response with its further parameters, or throws the
  /// provider's error. An error about an unfinished page counts as the person's refusal, unless the
  /// request allowed no page (`prompt=none`).
  fileprivate func code(
    in response: AuthorizationResponse, from issuer: String?
  ) throws(FlowFailure) -> (Secret, [Parameter]) {
    switch response {
    case .code(let code, let further): return (code, further)
    case .unusable(let flaw): throw FlowFailure(.unusableResponse(provider, flaw))
    case .foreign(let said):
      throw FlowFailure(.foreignResponse(provider, issuer: said, insteadOf: issuer))
    case .anonymous(let error):
      throw FlowFailure(.anonymousRefusal(provider, .init(code: cleaned(error, limitBytes: 64))))
    case .refused(let error, let description):
      let said = Problem.ServerError(
        code: cleaned(error, limitBytes: 64),
        text: description.map { cleaned($0, limitBytes: 200) })
      let isNo = error == "access_denied" || request.openID.prompt != "none" && isUnwilling(error)
      guard !isNo else { throw FlowFailure(.accessDenied(provider, said)) }
      var problem = Problem(
        .providerFailure,
        "\(provider.name) refused the sign-in.",
        provider: provider.id, serverError: said)
      problem.isRetryable = ["temporarily_unavailable", "server_error"].contains(error)
      throw FlowFailure(problem)
    }
  }
}

/// Whether the error says that the person did not finish a step of the page. OpenID Connect Core
/// 1.0 section 3.1.2.6.
private func isUnwilling(_ error: String) -> Bool {
  ["consent_required", "interaction_required", "login_required"].contains(error)
}
