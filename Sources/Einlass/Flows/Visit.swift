internal import EinlassCrypto
internal import EinlassJSON

/// One person's visit to a provider: everything that the function of an interactive flow reads.
struct Visit {
  let provider: Provider
  /// The application's own; complete, as far as the provider needs it.
  let registration: ClientRegistration
  let request: SignInRequest
  /// What the front end adds to the provider's page, checked.
  let pageParameters: [Parameter]
  let effects: Effects
  var asker: Asker
  /// What the tokens that come of it are bound to, where the provider binds them.
  let proof: ProofOfPossession?
  /// Stores the credential, and asks the provider for the person where the answer names none. Throws when the credential
  /// is another person's than was asked for.
  let keep:
    @Sendable (FlowDescriptor, Credential, Identity?, Asker) async throws(Problem) ->
      AccountStore.Added

  /// 256 random bits, as text: for what must not be guessed.
  func randomText() -> String { Base64URL.encode(effects.randomBytes(32)) }

  /// For the requests of this visit.
  func exchange(hiding secrets: [Secret?]) -> Exchange {
    Exchange(
      provider: provider, effects: effects, remaining: [],
      secrets: [registration.clientSecret] + secrets, proof: proof)
  }

  /// The scopes to ask for: of what is the provider's own, a resource needs to know only who it is and to be renewed.
  func scopes(_ words: TokenEndpoint) -> [String] {
    if let scopes = request.scopes { return scopes }
    guard request.resource != nil else { return words.scopes }
    let wanted = request.resourceScopes
    return wanted
      + words.scopes.filter { ["openid", "offline_access"].contains($0) && !wanted.contains($0) }
  }

  /// What a grant says of the resource that the token is for. RFC 8707 section 2.
  var resourceParameters: [Parameter] { request.resource.map { [Parameter("resource", $0)] } ?? [] }

  /// The token that a grant of OAuth 2.0 brought, kept for the account of whose it is.
  ///
  /// - Parameters:
  ///   - expected: of the id_token; issuer and tokens are filled in here.
  ///   - exchange: hides the token from here on.
  func keep(
    _ answer: Exchange.Answer, of flow: FlowDescriptor, at words: TokenEndpoint, nonce: String?,
    _ exchange: inout Exchange
  ) async throws(Setback) -> AccountStore.Added {
    let object = words.object(answer)
    let token = TokenResponse.credential(
      in: object, scopes: scopes(words), now: effects.now(), proof: proof)
    guard var token else { throw exchange.unusable(.token) }
    for secret in [token.accessToken, token.refreshToken, token.idToken].compactMap(\.self) {
      exchange.hide(secret)
    }
    asker.report(.verifying)
    let idToken = try await exchange.idToken(of: token, at: words, for: registration) { expected in
      expected.nonce = nonce
      expected.maxAgeSeconds = request.maxAgeSeconds
    }
    if idToken == nil { token.idToken = nil }
    let identity = try await identity(
      token, idToken, subject: words.subject.flatMap { object?.at(pointer: $0)?.string }, exchange)
    asker.report(.saving)
    do { return try await keep(flow, .oauth2(token), identity, asker) } catch {
      throw .failed(Failure(error))
    }
  }

  /// Whose the token is: by the provider's question, else by the id_token; both must agree.
  private func identity(
    _ token: OAuth2Credential, _ idToken: IDToken?, subject: String?, _ exchange: Exchange
  ) async throws(Setback) -> Identity? {
    guard let words = provider.identity else { return nil }
    // A token for a resource is of no use elsewhere, the provider's own questions included.
    if request.resource != nil {
      guard let idToken, words.pointers[.id] == "/sub" else { return nil }
      return try exchange.identity(in: .object(idToken.claims))
    }
    guard words.request != nil else {
      return try exchange.identity(in: idToken.map { .object($0.claims) })
    }
    let identity = try await exchange.identity(
      token.bearing(clientID: registration.clientID, subject: subject))
    guard let idToken, words.isSubject, !sameBytes(identity.id, idToken.subject) else {
      return identity
    }
    throw .failed(Failure(.unbelievable(provider, .subject)))
  }
}
