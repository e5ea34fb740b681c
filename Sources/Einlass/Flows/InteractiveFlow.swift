internal import EinlassCrypto
internal import EinlassJSON

/// One interactive sign-in at a provider: the input of its flow's function.
struct InteractiveFlow {
  let provider: Provider
  /// The application's registration, with every part that the provider needs.
  @Indirect private(set) var registration: ClientRegistration
  @Indirect private(set) var request: SignInRequest
  /// The front end's parameters for the provider's page, already checked.
  let pageParameters: [Parameter]
  let store: AccountStore
  let effects: Effects
  var asker: Asker
  /// The key for the new tokens (RFC 9449); `nil` if the provider does not bind tokens.
  let proof: ProofOfPossession?
  /// Stores the credential. If the identity is `nil` and the request names no account, the person
  /// is asked for the account. Throws if the credential belongs to another person than the named
  /// account.
  let save:
    @Sendable (FlowDescriptor, Credential, Identity?, Asker) async throws(Problem) ->
      AccountStore.Added

  /// Returns 256 random bits as text, for values that nobody may guess.
  func randomText() -> String { Base64URL.encode(effects.randomBytes(32)) }

  /// Returns an exchange for this sign-in, with errors free of the registration's secret and
  /// `secrets`.
  func exchange(hiding secrets: [Secret?]) -> Exchange {
    Exchange(
      provider: provider, effects: effects, remaining: [],
      secrets: [registration.clientSecret] + secrets, proof: proof,
      identity: provider.identity(of: registration))
  }

  /// Returns the scopes to request. For a resource, only `openid` and `offline_access` are added
  /// from the provider's own, to the scopes of the request too, because it needs an identity and a
  /// refresh token but no further access. A name of the provider's adds the provider's own scopes,
  /// because the account needs its identity.
  func scopes(_ endpoint: TokenEndpoint) -> [String] {
    let usual =
      request.resource == nil
      ? provider.scopes(endpoint.scopes, within: registration.scopes) ?? endpoint.scopes
      : endpoint.scopes.filter { ["openid", "offline_access"].contains($0) }
    if let scopes = request.scopes {
      let names = provider.scopeNames
      return request.resource != nil || names.isUsed(in: scopes)
        ? (names.replaced(in: scopes) + usual).withoutRepetitions : scopes
    }
    guard request.resource != nil else { return usual }
    let wanted = request.resourceScopes
    return wanted + usual.filter { !wanted.contains($0) }
  }

  /// Verifies the answer of an OAuth 2.0 grant and stores its token for its owner's account.
  ///
  /// - Parameters:
  ///   - nonce: The nonce that the id_token must contain; `nil` if none was sent.
  ///   - exchange: Hides the new tokens in errors from here on.
  func verifyAndSave(
    _ answer: Exchange.Answer, of flow: FlowDescriptor, at endpoint: TokenEndpoint, nonce: String?,
    _ exchange: inout Exchange
  ) async throws(FlowFailure) -> AccountStore.Added {
    let object = endpoint.object(answer)
    let token = TokenResponse.credential(
      in: endpoint.answer.standard(object), scopes: scopes(endpoint), now: effects.now(),
      proof: proof)
    guard var token else {
      throw exchange.unusable(
        .token, answer.fault(in: object, isBound: proof != nil, at: endpoint.answer))
    }
    for secret in [token.accessToken, token.refreshToken, token.idToken].compactMap(\.self) {
      exchange.hide(secret)
    }
    asker.report(.verifying)
    try exchange.requireAudience(of: token, request.resource, at: endpoint)
    let idToken = try await idToken(of: token, at: endpoint, nonce: nonce, exchange)
    if idToken == nil { token.idToken = nil }
    let (identity, problem) = try await identity(
      token, idToken, answer: object,
      subject: endpoint.answer.subject.flatMap { object?.at(pointer: $0)?.string }, exchange)
    asker.report(.saving)
    do {
      var added = try await save(flow, .oauth2(token), identity, asker)
      added.identityProblem = problem
      return added
    } catch { throw FlowFailure(error) }
  }

  /// Returns the verified id_token; `nil` if there is none to verify. The issuer of a resource's
  /// token may leave it out although it was asked for, because the resource needs no identity.
  private func idToken(
    of token: OAuth2Credential, at endpoint: TokenEndpoint, nonce: String?, _ exchange: Exchange
  ) async throws(FlowFailure) -> IDToken? {
    guard request.resource == nil || token.idToken != nil else { return nil }
    return try await exchange.idToken(of: token, at: endpoint, for: registration) { expected in
      expected.nonce = nonce
      expected.maxAgeSeconds = request.openID.maxAgeSeconds
    }
  }

  /// Returns the token's owner, from the provider's identity request if it has one, otherwise from
  /// the id_token or the token's own answer. Throws if the two name different subjects.
  ///
  /// An identity request that fails without a word about the person or the token does not end the
  /// sign-in if the id_token names the person. The failure is the second value then.
  func identity(
    _ token: OAuth2Credential, _ idToken: IDToken?, answer: JSONValue?, subject: String?,
    _ exchange: Exchange
  ) async throws(FlowFailure) -> (Identity?, Problem?) {
    guard let endpoint = provider.identity else { return (nil, nil) }
    if endpoint.isInTokenAnswer, request.resource == nil {
      var identity = try exchange.identity(in: answer)
      // The answer has tokens, also of others than this person.
      identity.profile = nil
      return (identity, nil)
    }
    // A resource's token must not be sent anywhere else, not even to the provider's identity
    // request.
    if request.resource != nil {
      guard let idToken, endpoint.pointers[.id] == "/sub", !endpoint.isInTokenAnswer else {
        return (nil, nil)
      }
      return (try exchange.identity(in: .object(idToken.claims)), nil)
    }
    guard endpoint.request != nil else {
      return (try exchange.identity(in: idToken.map { .object($0.claims) }), nil)
    }
    let identity: Identity
    do throws(FlowFailure) {
      identity = try await exchange.identity(
        signedFor: registration,
        token.bearing(clientID: registration.clientID, subject: subject))
    } catch {
      guard error.leavesPersonUnknown, endpoint.isSubject, let idToken,
        let person = try? exchange.identity(in: .object(idToken.claims))
      else { throw error }
      return (person, error.problem)
    }
    guard let idToken, endpoint.isSubject, !sameBytes(identity.id, idToken.subject) else {
      return (identity, nil)
    }
    throw FlowFailure(.idTokenRejected(provider, .subject))
  }
}
