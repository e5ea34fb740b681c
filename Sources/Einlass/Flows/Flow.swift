internal import EinlassCrypto

/// One running flow: everything that its function reads.
struct Flow {
  /// How a flow ends well.
  struct SignedIn: Equatable {
    var credential: Credential
    /// Who the provider says it is; `nil` where it was not asked.
    var identity: Identity?
    /// Whether the credential came with this flow and has to be saved.
    var isNew: Bool
  }

  let provider: Provider
  let descriptor: FlowDescriptor
  /// The application's own; complete, as far as the provider needs it.
  let registration: ClientRegistration
  /// The protected resource that the credential is for; `nil` for none in particular. RFC 8707.
  let resource: String?
  let account: Account
  /// All that is stored for the account.
  let credentials: [StoredCredential]
  let permissions: [String]
  let audience: AccessGrant.Audience?
  /// Whether access had been granted before this request; if not, a stored token does not prove it.
  let wasGrantedBefore: Bool
  /// What was stored for the application before the account's lease was waited for; 0 for nothing.
  let formerGeneration: Int64
  /// A token that the remedy `renew` has brought.
  let renewed: OAuth2Credential?
  /// The remedies that were not tried yet.
  let remaining: Set<Remedy>
  let effects: Effects
  let report: @Sendable (Stage) -> Void
  /// How long a stored token has to be good for; `nil`: as long as is usual.
  var minValiditySeconds: Int64?

  /// Runs it: the one switch from descriptor to function.
  func run() async -> Result<SignedIn, Setback> {
    do {
      switch descriptor {
      case .reverseAuth(let words): return .success(try await reverseAuth(words, self))
      case .systemToken(let words): return .success(try await systemToken(words, self))
      case .authorizationCode, .deviceCode, .oauth1, .clientCredentials:
        return .success(try storedToken(self))
      }
    } catch {
      return .failure(error)
    }
  }

  /// What is stored for the application's registration and the resource.
  var own: StoredCredential? { credentials.issued(to: registration, for: resource) }

  /// Why nothing is stored for the application.
  var nothingStored: Problem {
    .nothingStored(for: registration, resource, among: credentials, provider, account)
  }

  /// What another request has stored for the application while this one waited: nobody needs to ask twice.
  var adopted: StoredCredential? {
    own.flatMap { $0.generation == formerGeneration || $0.isRefused ? nil : $0 }
  }

  /// A credential of the application's, asked for without a look at whose it is.
  func issued() async throws(Setback) -> Credential {
    switch descriptor {
    case .reverseAuth(let words):
      var exchange = exchange(hiding: [])
      return .oauth1(try await exchangedToken(words, self, &exchange))
    case .systemToken(let words): return .oauth2(try await mintedToken(words, self))
    case .authorizationCode, .deviceCode, .oauth1, .clientCredentials:
      throw .failed(Failure(nothingStored))
    }
  }

  /// What came of asking the provider, to be written down if nobody else changed what this flow has read.
  ///
  /// - Parameter credential: takes the place of that of the application's registration, bound to where it came from.
  func settlement(
    _ credential: Credential? = nil, edit: AccountStore.Edit? = nil
  ) -> AccountStore.Settlement {
    let former = credentials.stored(under: registration, for: resource)
    let basis = credentials.filter { $0.role == .system || $0 == former }
    // What reverse auth pays with keeps its place.
    guard let credential, former?.isSystemsAlone != true else {
      return AccountStore.Settlement(basis: basis, edit: edit)
    }
    // An account whose own credential is under the application's registration stays the system's.
    let isSystem = former?.role == .system
    return AccountStore.Settlement(
      basis: basis,
      credential: StoredCredential(
        role: isSystem ? .system : .application,
        registration: isSystem
          ? former?.registration ?? registration
          : ClientRegistration(clientID: registration.clientID),
        credential: credential,
        binding: ProviderBinding(
          origins: provider.origins(of: descriptor), clientID: registration.clientID,
          flowKind: descriptor.kind),
        resource: resource),
      edit: edit)
  }

  /// Writes down what the provider said about the account, unless somebody has changed its credentials since.
  func remember(_ failure: Failure, in store: AccountStore) {
    guard let health = failure.health else { return }
    // A store that fails now must not hide why the request failed.
    _ = try? store.settle(account.id, settlement(noting: health))
  }

  /// What is written down when the provider says how the account is. A refresh token for one resource that is dead says
  /// nothing of the others: only that is forgotten.
  func settlement(noting health: Account.Health) -> AccountStore.Settlement {
    guard resource != nil, health == .reloginNeeded, let own,
      case .oauth2(var token) = own.credential
    else { return settlement { $0.health = health } }
    token.refreshToken = nil
    if own.isRefused { token.expiresAt = effects.now() }
    return settlement(.oauth2(token))
  }

  /// For the requests of this flow.
  func exchange(hiding secrets: [Secret?]) -> Exchange {
    var proof: ProofOfPossession?
    if case .oauth2(let token)? = own?.credential { proof = ProofOfPossession(token) }
    return Exchange(
      provider: provider, effects: effects, remaining: remaining,
      secrets: [registration.clientSecret] + secrets, proof: proof)
  }

  /// The account's own credential; throws `reloginNeeded` or `notIssuedToThisClient` when there is none.
  func systemCredential() throws(Setback) -> StoredCredential {
    guard let credential = credentials.accountsOwn else { throw .failed(Failure(nothingStored)) }
    return try sendable(credential)
  }

  /// Throws `bindingMismatch` for a credential that does not belong where the requests of this flow go.
  func sendable(_ credential: StoredCredential) throws(Setback) -> StoredCredential {
    guard Set(provider.origins(of: descriptor)).isSubset(of: credential.binding.origins) else {
      throw .failed(Failure(.bindingMismatch(provider, account)))
    }
    return credential
  }
}

extension Provider {
  /// The flow of this kind, else the provider's first. Throws `flowNotSupported`.
  func flow(_ kind: FlowKind?) throws(Problem) -> FlowDescriptor {
    guard let flow = flows.first(where: { kind == nil || $0.kind == kind }) else {
      throw .flowNotSupported(self, kind?.rawValue ?? "any flow")
    }
    return flow
  }
}
