internal import EinlassCrypto
internal import EinlassJSON

extension SignIn {
  /// Trades an assertion for a token, without a page: RFC 7523 section 2.1, or RFC 8693 section 2.
  ///
  /// The account is that of the person whom the provider identifies, otherwise that of the
  /// assertion's subject, because servers that take assertions often have no userinfo endpoint. The
  /// signature is not checked, because only the server has to believe it.
  func tradedAssertion(
    _ descriptor: FlowDescriptor, at endpoint: TokenEndpoint, _ flow: InteractiveFlow
  ) async throws(FlowFailure) -> AccountStore.Added {
    if let path = request.pageParameter {
      throw FlowFailure(.pageParameter(path, flow.provider))
    }
    asker.report(.requesting)
    let subject: AssertionSubject
    do throws(Problem) { subject = try await assertionSubject() } catch { throw FlowFailure(error) }
    var exchange = flow.exchange(hiding: [])
    let traded = try await exchange.token(
      trading: subject, at: endpoint, of: descriptor.kind, scopes: flow.scopes(endpoint),
      resource: request.resource, by: registration, at: .token)
    asker.report(.verifying)
    let (token, (identity, problem)) = try await verified(traded, at: endpoint, flow, exchange)
    asker.report(.saving)
    do throws(Problem) {
      var added = try await save(
        .oauth2(token), identity, from: descriptor, asserted: traded.assertion, asking: asker)
      added.identityProblem = problem
      return added
    } catch { throw FlowFailure(error) }
  }

  /// Returns the token with its verified id_token, and the person if the provider identifies them.
  private func verified(
    _ traded: Exchange.TradedToken, at endpoint: TokenEndpoint, _ flow: InteractiveFlow,
    _ exchange: Exchange
  ) async throws(FlowFailure) -> (OAuth2Credential, (Identity?, Problem?)) {
    var token = traded.token
    // This grant brings an id_token only at some servers, even with the scope `openid`.
    let idToken =
      token.idToken == nil
      ? nil : try await exchange.idToken(of: token, at: endpoint, for: registration) { _ in }
    if idToken == nil {
      token.idToken = nil
      let identity = flow.provider.identity
      guard identity?.request != nil || identity?.isInTokenAnswer == true,
        request.resource == nil
      else {
        return (token, (nil, nil))
      }
    }
    do throws(FlowFailure) {
      let subject = endpoint.answer.subject.flatMap { traded.answer?.at(pointer: $0)?.string }
      return (
        token,
        try await flow.identity(
          token, idToken, answer: traded.answer, subject: subject, exchange)
      )
    } catch {
      // Without the scope `openid` the identity request is refused, although the token is good.
      guard error.refusesCredential, idToken == nil, error.health == nil else { throw error }
      return (token, (nil, nil))
    }
  }

  /// Returns the token that becomes the assertion: from the account that the request names, from
  /// the source of the account's present credential, or from the registration's file.
  private func assertionSubject() async throws(Problem) -> AssertionSubject {
    let engine = Einlass(catalog: catalog, store: store, effects: effects)
    func credentialRequest(_ account: Account.ID) -> CredentialRequest {
      CredentialRequest(
        application: request.application, registration: request.registrations, account: account)
    }
    if let id = request.assertionFrom {
      return try await engine.assertionSubject(of: store.account(id), credentialRequest(id))
    }
    return try await engine.assertionSubject(
      rememberedSource() ?? .file, by: registration, at: provider, credentialRequest)
  }
}

extension Exchange {
  /// A token that was traded for an assertion.
  struct TradedToken {
    @Indirect var token: OAuth2Credential
    var answer: JSONValue?
    var assertion: SendableAssertion
  }

  /// Trades an assertion from this source for a token. An assertion that the server refuses, or that
  /// serves once, is not sent again by this process.
  mutating func token(
    trading subject: AssertionSubject, at endpoint: TokenEndpoint, of kind: FlowKind,
    scopes: [String], resource: String?, by registration: ClientRegistration, at step: Step
  ) async throws(FlowFailure) -> TradedToken {
    hide(subject.token)
    let assertion =
      kind == .tokenExchange
      ? try subject.exchangeable(at: endpoint, of: provider, effects)
      : try await subject.assertion(
        for: endpoint, of: provider, scopes: scopes, resource: resource, effects)
    hide(assertion.text)
    let scope = scopes.joined(separator: provider.permissions.separator)
    let grant =
      grant(kind, assertion, isFile: subject.owner == nil)
      + (scope.isEmpty ? [] : [Parameter("scope", scope)])
      + endpoint.parameters(for: resource)
    let answer: Answer
    do throws(FlowFailure) {
      answer = try await ask(endpoint, endpoint.request, grant, by: registration, at: step)
    } catch {
      if error.problem.serverError?.oauthCode == .invalidGrant {
        effects.memory.spentAssertions.write(endpoint.digest(of: assertion.text), false)
      }
      throw error
    }
    if let useName = assertion.useName {
      effects.memory.spentAssertions.write(endpoint.digest(of: useName), true)
    }
    let object = endpoint.object(answer)
    let issued = object?["issued_token_type"].map { $0.string ?? "" }
    let types = [AssertionGrant.TokenType.accessToken, AssertionGrant.TokenType.jwt]
    guard issued.map({ type in types.contains { sameBytes($0, type) } }) ?? true,
      let token = TokenResponse.credential(
        in: endpoint.answer.standard(object), scopes: scopes, now: effects.now(), proof: proof)
    else {
      throw unusable(step, answer.fault(in: object, isBound: proof != nil, at: endpoint.answer))
    }
    for secret in [token.accessToken, token.refreshToken, token.idToken].compactMap(\.self) {
      hide(secret)
    }
    try requireAudience(of: token, resource, at: endpoint)
    return TradedToken(token: token, answer: object, assertion: assertion)
  }

  private func grant(
    _ kind: FlowKind, _ assertion: SendableAssertion, isFile: Bool
  ) -> [Parameter] {
    guard kind == .tokenExchange else {
      return [
        Parameter("grant_type", AssertionGrant.jwtBearer),
        Parameter("assertion", revealedText(assertion.text)),
      ]
    }
    let type = AssertionGrant.TokenType.self
    return [
      Parameter("grant_type", AssertionGrant.tokenExchange),
      Parameter("requested_token_type", type.accessToken),
      Parameter("subject_token", revealedText(assertion.text)),
      Parameter("subject_token_type", isFile ? type.jwt : type.idToken),
    ]
  }
}

extension StoredCredentialFlow {
  /// Gets another token as the first one was got: with an assertion from the same source.
  func retradedToken(
    for former: OAuth2Credential, at endpoint: TokenEndpoint
  ) async throws(FlowFailure) -> OAuth2Credential {
    let subject: AssertionSubject
    switch assertionSubject {
    case .success(let found) where found.source == own?.assertionSource: subject = found
    case .failure(let problem): throw FlowFailure(problem)
    // The credential was replaced or refused while this request waited for the lease.
    case .success, nil: throw FlowFailure(.outOfDate(account))
    }
    var exchange = exchange(hiding: [former.accessToken, former.refreshToken])
    var token = try await exchange.token(
      trading: subject, at: endpoint, of: descriptor.kind, scopes: former.scopes,
      resource: resource, by: registration, at: .renew
    ).token
    if token.idToken != nil {
      let idToken = try? await exchange.idToken(of: token, at: endpoint, for: registration) {
        if provider.identity?.isSubject ?? true { $0.subject = account.subject }
      }
      if idToken == nil { token.idToken = nil }
    }
    return token
  }
}
