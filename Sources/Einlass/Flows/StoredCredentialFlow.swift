internal import EinlassCrypto

/// One run of a flow: the input of its function.
struct StoredCredentialFlow {
  /// The result of a successful flow.
  struct SignedIn: Equatable {
    var credential: Credential
    /// The person, as the provider reports them; `nil` if it was not asked.
    var identity: Identity?
    /// Whether the credential is new and must be stored.
    var isNew: Bool
  }

  let provider: Provider
  let descriptor: FlowDescriptor
  /// The application's registration, with every part that the provider needs.
  @Indirect private(set) var registration: ClientRegistration
  /// The protected resource of the credential (RFC 8707); `nil` for no particular one.
  let resource: String?
  @Indirect private(set) var account: Account
  /// All stored credentials of the account.
  var credentials: [StoredCredential]
  let permissions: [String]
  let audience: AccessGrant.Audience?
  /// Whether access was granted before this request. If not, a stored token does not prove that the
  /// provider allows it.
  let wasGrantedBefore: Bool
  /// The generation of the application's stored credential before the wait for the account's lease;
  /// 0 without one.
  let formerGeneration: Int64
  /// The credential from the `renew` remedy.
  let renewed: Credential?
  /// The remedies not tried yet.
  let remaining: Set<Remedy>
  let effects: Effects
  let report: @Sendable (Stage) -> Void
  /// The remaining lifetime that a stored token must have, in seconds; `nil` for the provider's
  /// margin.
  var minValiditySeconds: Int64?
  /// The token that becomes the assertion for a renewal, got before the wait for the account's
  /// lease; `nil` if none was needed then.
  @Indirect var assertionSubject: Result<AssertionSubject, Problem>?

  /// Runs the function of the descriptor's kind.
  func run() async -> Result<SignedIn, FlowFailure> {
    do {
      switch descriptor {
      case .reverseAuth(let descriptor): return .success(try await reverseAuth(descriptor, self))
      case .systemToken(let descriptor): return .success(try await systemToken(descriptor, self))
      case .authorizationCode, .deviceCode, .oauth1, .clientCredentials, .jwtBearer,
        .tokenExchange, .passwordSession:
        return .success(try storedToken(self))
      }
    } catch {
      return .failure(error)
    }
  }

  /// The credential issued to the application's registration for the resource.
  var own: StoredCredential? { credentials.issued(to: registration, for: resource) }

  /// The problem to report when nothing is stored for the application.
  var nothingStored: Problem {
    .nothingStored(for: registration, resource, among: credentials, provider, account)
  }

  /// The credential that another request stored for the application while this one waited for the
  /// lease. Using it saves a request to the provider.
  var adopted: StoredCredential? {
    own.flatMap { $0.generation == formerGeneration || $0.isRefused ? nil : $0 }
  }

  /// Gets a credential for the application without asking for its owner.
  func issued() async throws(FlowFailure) -> Credential {
    switch descriptor {
    case .reverseAuth(let descriptor):
      var exchange = exchange(hiding: [])
      return .oauth1(try await exchangedToken(descriptor, self, &exchange))
    case .systemToken(let descriptor): return .oauth2(try await mintedToken(descriptor, self))
    case .authorizationCode, .deviceCode, .oauth1, .clientCredentials, .jwtBearer, .tokenExchange,
      .passwordSession:
      throw FlowFailure(nothingStored)
    }
  }

  /// Returns the change to store after a request to the provider. The store applies it only if the
  /// credentials read by this flow are unchanged.
  ///
  /// - Parameter credential: Replaces the credential of the application's registration, bound to
  ///   the flow's origins.
  func settlement(
    _ credential: Credential? = nil, edit: AccountStore.Edit? = nil
  ) -> AccountStore.Settlement {
    let former = credentials.stored(under: registration, for: resource)
    let basis = credentials.filter { $0.role == .system || $0 == former }
    // Never overwrite the account's own token, which reverse auth exchanges.
    guard let credential, former?.isForReverseAuth != true else {
      return AccountStore.Settlement(basis: basis, edit: edit)
    }
    // A system credential under the application's registration keeps its role and registration.
    let isSystem = former?.role == .system
    return AccountStore.Settlement(
      basis: basis,
      credential: StoredCredential(
        role: isSystem ? .system : .application,
        registration: isSystem
          ? former?.registration ?? registration
          : ClientRegistration(clientID: registration.clientID),
        credential: credential,
        binding: provider.binding(of: descriptor, for: registration.clientID),
        resource: resource, assertionSource: former?.assertionSource),
      edit: edit)
  }

  /// Stores the account's health after a failure, unless its credentials have changed since.
  func remember(_ failure: FlowFailure, in store: AccountStore) {
    guard let health = failure.health else { return }
    // A store failure must not hide the reason of the request's failure.
    _ = try? store.settle(account.id, settlement(noting: health))
  }

  /// Returns the change to store for the account's health. A dead refresh token for one resource
  /// says nothing about the others, so only this token is removed.
  func settlement(noting health: Account.Health) -> AccountStore.Settlement {
    guard resource != nil, health == .reloginNeeded, let own,
      case .oauth2(var token) = own.credential
    else { return settlement { $0.health = health } }
    token.refreshToken = nil
    if own.isRefused { token.expiresAt = effects.now() }
    return settlement(.oauth2(token))
  }

  /// Returns an exchange for this flow, with errors free of the registration's secret and
  /// `secrets`.
  func exchange(hiding secrets: [Secret?]) -> Exchange {
    var proof: ProofOfPossession?
    if case .oauth2(let token)? = own?.credential { proof = ProofOfPossession(token) }
    return Exchange(
      provider: provider, effects: effects, remaining: remaining,
      secrets: [registration.clientSecret] + secrets, proof: proof,
      identity: provider.identity(of: registration))
  }

  /// Returns the account's own credential. Throws `reloginNeeded` or `notIssuedToThisClient`
  /// without one, and `bindingMismatch` if it is bound to other origins.
  func systemCredential() throws(FlowFailure) -> StoredCredential {
    guard let credential = credentials.accountsOwn else { throw FlowFailure(nothingStored) }
    return try sendable(credential)
  }

  /// Returns the credential. Throws `bindingMismatch` if the flow uses an origin outside its
  /// binding.
  func sendable(_ credential: StoredCredential) throws(FlowFailure) -> StoredCredential {
    guard Set(provider.origins(of: descriptor)).isSubset(of: credential.binding.origins) else {
      throw FlowFailure(.bindingMismatch(provider, account))
    }
    return credential
  }
}

extension Provider {
  /// Throws `flowNotSupported` if the provider has no flow of this kind.
  func requireFlow(_ kind: FlowKind?) throws(Problem) { _ = try flow(kind) }

  /// Returns the flow of this kind, or the provider's first flow for `nil`. Throws
  /// `flowNotSupported`.
  func flow(_ kind: FlowKind?) throws(Problem) -> FlowDescriptor {
    guard let flow = flows.first(where: { kind == nil || $0.kind == kind }) else {
      throw .flowNotSupported(self, kind?.rawValue ?? "any flow")
    }
    return flow
  }
}
