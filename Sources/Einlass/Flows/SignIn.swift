internal import EinlassCrypto
internal import EinlassJSON

/// One `auth.perform`: the loop around a flow, with its two remedies, and what is saved of it. Seeds 1.4.
struct SignIn {
  /// The largest credential that is stored and handed out, in bytes. Protocol section 1.
  static let credentialLimitBytes = 48 << 10

  let request: PerformRequest
  let provider: Provider
  let descriptor: FlowDescriptor
  let registration: ClientRegistration
  let gate: AccessGate
  let store: AccountStore
  let effects: Effects
  let report: @Sendable (Stage) -> Void

  /// Runs the flow until it ends. Each remedy helps once: `regrant` asks for access again and starts over, `renew`
  /// gets a fresh token and goes on without asking.
  func run(_ admission: AccessGate.Admission) async throws(Problem) -> PerformResult {
    var admission = admission
    var remaining: Set<Remedy> = [.regrant, .renew]
    var renewed: OAuth2Credential?
    while true {
      let flow = try flow(admission, remaining, renewed)
      switch await flow.run() {
      case .success(let signedIn):
        return try save(signedIn, of: flow)
      case .failure(.failed(let failure)):
        remember(failure, about: flow.account)
        throw failure.problem.about(provider, flow.account)
      case .failure(.remedy(.regrant, _)):
        remaining.remove(.regrant)
        try gate.forgetGrant()
        admission = try await gate.admit()
        renewed = nil
      case .failure(.remedy(.renew, let advice)):
        remaining.remove(.renew)
        renewed = try await renew(flow, advice)
      }
    }
  }

  private func flow(
    _ admission: AccessGate.Admission, _ remaining: Set<Remedy>, _ renewed: OAuth2Credential?
  ) throws(Problem) -> Flow {
    Flow(
      provider: provider, descriptor: descriptor, registration: registration,
      account: admission.account, credentials: try store.credentials(admission.account.id),
      permissions: provider.permissions(asked: request.permissions),
      audience: request.audience ?? provider.defaultAudience,
      wasGrantedBefore: admission.wasGrantedBefore, renewed: renewed, remaining: remaining,
      effects: effects, report: report)
  }

  /// A fresh token, saved before anyone uses it: the old one may be dead by now.
  private func renew(_ flow: Flow, _ advice: Problem.Advice?) async throws(Problem)
    -> OAuth2Credential
  {
    guard case .systemToken(let words) = descriptor else {
      throw .reloginNeeded(provider, flow.account)
    }
    var problem = Problem.reloginNeeded(provider, flow.account)
    problem.advice = advice
    switch try await flow.renewal(words) {
    case .renewed(let credential):
      try save(.oauth2(credential), of: flow)
      return credential
    case .rejected(let health):
      remember(Failure(problem, health: health), about: flow.account)
      throw problem
    case .failed:
      problem.isRetryable = true
      throw problem
    }
  }

  /// Keeps what came of a flow and hands it out.
  private func save(_ signedIn: Flow.SignedIn, of flow: Flow) throws(Problem) -> PerformResult {
    guard signedIn.credential.byteCount <= Self.credentialLimitBytes else {
      throw Problem(
        .providerFailure,
        "\(provider.name)'s credential is larger than 48 KiB. Nothing was stored; report it.",
        provider: provider.id, account: flow.account.id)
    }
    report(.saving)
    if signedIn.isNew { try save(signedIn.credential, of: flow) }
    let now = effects.now()
    let edit: AccountStore.Edit = { $0.adopt(signedIn.identity, at: now) }
    _ = try store.update(flow.account.id, .usual, edit)
    var account = flow.account
    edit(&account)
    return PerformResult(
      account: account, identity: signedIn.identity,
      credential: signedIn.credential.handedOut(withRefreshToken: request.includesRefreshToken))
  }

  /// Saves a credential under (account, client id), bound to where it came from.
  private func save(_ credential: Credential, of flow: Flow) throws(Problem) {
    let former = flow.credentials.stored(under: registration)
    // What reverse auth pays with keeps its place.
    guard former?.isSystemsAlone != true else { return }
    // An account whose own credential is under the application's registration stays the system's.
    let isSystem = former?.role == .system
    _ = try store.saveCredential(
      flow.account.id,
      StoredCredential(
        role: isSystem ? .system : .application,
        registration: isSystem
          ? former?.registration ?? registration
          : ClientRegistration(clientID: registration.clientID),
        credential: credential,
        binding: ProviderBinding(
          origins: provider.origins(of: descriptor), clientID: registration.clientID,
          flowKind: descriptor.kind)))
  }

  /// Writes down what the provider said about the account.
  private func remember(_ failure: Failure, about account: Account) {
    guard let health = failure.health else { return }
    // A store that fails now must not hide why the sign-in failed.
    _ = try? store.update(account.id, .usual) { $0.health = health }
  }
}

extension Account {
  /// Takes over who the provider says it is. Its id stays the first one, because it may differ by application; a
  /// display name stays the person's.
  fileprivate mutating func adopt(_ identity: Identity, at now: UnixTime) {
    subject = subject ?? identity.id
    displayName = displayName ?? identity.name
    email = identity.email ?? email
    avatar = identity.avatar ?? avatar
    health = .ok
    lastUsedAt = now
  }
}

extension Credential {
  /// The size of all its secrets.
  fileprivate var byteCount: Int {
    switch self {
    case .oauth1(let credential): credential.token.count + credential.tokenSecret.count
    case .oauth2(let credential):
      credential.accessToken.count + (credential.refreshToken?.count ?? 0)
        + (credential.idToken?.count ?? 0)
        + credential.scopes.reduce(0) { $0 + $1.utf8.count }
    }
  }

  /// What an application gets of it.
  fileprivate func handedOut(withRefreshToken includesRefreshToken: Bool) -> Credential {
    guard case .oauth2(var credential) = self, !includesRefreshToken else { return self }
    credential.refreshToken = nil
    return .oauth2(credential)
  }
}

extension Problem {
  /// The same problem, saying whom it is about.
  fileprivate func about(_ provider: Provider, _ account: Account) -> Problem {
    var problem = self
    problem.provider = problem.provider ?? provider.id
    problem.account = problem.account ?? account.id
    return problem
  }
}
