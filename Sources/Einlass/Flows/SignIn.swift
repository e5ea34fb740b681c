internal import EinlassCrypto
internal import EinlassJSON

/// One `auth.perform`: the loop around a flow, with its two remedies, and what is saved of it. Seeds 1.4.
struct SignIn {
  /// The largest credential that is stored and handed out, in bytes. Protocol section 1.
  static let credentialLimitBytes = 48 << 10

  let request: PerformRequest
  let provider: Provider
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
    while true {
      if let result = try await attempt(admission, &remaining) { return result }
      try gate.forgetGrant()
      admission = try await gate.admit()
    }
  }

  /// Runs the flow under the account's lease; `nil` when access has to be asked for again.
  private func attempt(
    _ admission: AccessGate.Admission, _ remaining: inout Set<Remedy>
  ) async throws(Problem) -> PerformResult? {
    let account = admission.account
    let former =
      try store.credentials(account.id)
      .stored(under: registration, for: nil)?.generation ?? 0
    let lease = try await store.lease(account.id)
    defer { lease.keep() }
    var renewed: OAuth2Credential?
    while true {
      let credentials = try store.credentials(of: account.id, under: lease)
      let descriptor = try descriptor(for: credentials, of: account.id)
      let flow = Flow(
        provider: provider.seen(by: descriptor), descriptor: descriptor, registration: registration,
        resource: nil, account: account, credentials: credentials,
        permissions: provider.permissions(asked: request.permissions),
        audience: request.audience ?? provider.defaultAudience,
        wasGrantedBefore: admission.wasGrantedBefore, formerGeneration: former, renewed: renewed,
        remaining: remaining, effects: effects, report: report,
        minValiditySeconds: request.minValiditySeconds)
      switch await flow.run() {
      case .success(let signedIn):
        if let result = try save(signedIn, of: flow) { return result }
        // Somebody changed what is stored: once more, with that.
        renewed = nil
      case .failure(.failed(let failure)):
        flow.remember(failure, in: store)
        throw failure.problem.about(provider, account.id)
      case .failure(.remedy(.regrant, _)):
        remaining.remove(.regrant)
        return nil
      case .failure(.remedy(.renew, let advice)):
        remaining.remove(.renew)
        renewed = try await renew(flow, under: lease, advice)
      }
    }
  }

  /// The flow that was asked for, else the one that has brought what is stored.
  private func descriptor(
    for credentials: [StoredCredential], of account: Account.ID
  ) throws(Problem) -> FlowDescriptor {
    let stored =
      credentials.issued(to: registration, for: nil) ?? credentials.accountsOwn
    // A person's token is not the application's own, and must not be renewed as that.
    if request.flowKind == .clientCredentials, let stored,
      stored.binding.flowKind != .clientCredentials
    {
      throw .personsAccount(provider, account)
    }
    return try provider.flow(
      request.flowKind
        ?? stored.map(\.binding.flowKind).flatMap { kind in
          provider.flowKinds.contains(kind) ? kind : nil
        })
  }

  /// A fresh token, saved before anyone uses it: the old one may be dead by now.
  private func renew(
    _ flow: Flow, under lease: Lease, _ advice: Problem.Advice?
  ) async throws(Problem) -> OAuth2Credential? {
    var problem = Problem.reloginNeeded(provider, flow.account)
    problem.advice = advice
    switch try await flow.renewal(storedIn: store, under: lease) {
    case .renewed(let credential): return credential
    // What is good for some time yet is better than nothing.
    case .failed(let why)
    where flow.descriptor.tokens != nil && flow.keepsToken(after: why) && flow.secondsLeft > 0
      && request.minValiditySeconds == nil:
      return nil
    // The standard's refusals say themselves what is to be done.
    case .rejected(let why) where flow.descriptor.tokens != nil,
      .failed(let why) where flow.descriptor.tokens != nil:
      throw why
    case .rejected: throw problem
    case .failed(let why):
      problem.isRetryable = why.reason != .reloginNeeded
      throw problem
    }
  }

  /// Keeps what came of a flow and hands it out; `nil` when it was out of date before it could be kept.
  private func save(_ signedIn: Flow.SignedIn, of flow: Flow) throws(Problem) -> PerformResult? {
    do { try signedIn.credential.requireFitting(provider) } catch {
      throw error.about(provider, flow.account.id)
    }
    report(.saving)
    let now = effects.now()
    let edit: AccountStore.Edit = { $0.adopt(signedIn.identity, at: now, isFresh: signedIn.isNew) }
    let settlement = flow.settlement(
      signedIn.isNew ? signedIn.credential : nil, edit: edit)
    guard try store.settle(flow.account.id, settlement) != nil else { return nil }
    var account = flow.account
    edit(&account)
    return PerformResult(
      account: account, identity: signedIn.identity ?? account.identity,
      clientID: registration.clientID,
      credential: signedIn.credential.handedOut(withRefreshToken: request.includesRefreshToken))
  }
}

extension Account {
  /// Takes over who the provider says it is. Its id stays the first one, because it may differ by application; a
  /// display name stays the person's. Well is an account that the provider has just known.
  mutating func adopt(_ identity: Identity?, at now: UnixTime, isFresh: Bool) {
    subject = subject ?? identity?.id
    displayName = displayName ?? identity?.name
    email = identity?.email ?? email
    avatar = identity?.avatar ?? avatar
    if isFresh || identity != nil { health = .ok }
    lastUsedAt = now
  }

  /// Who it belongs to, as far as a flow has found out before.
  var identity: Identity? {
    subject.map {
      Identity(id: $0, name: displayName, username: username, email: email, avatar: avatar)
    }
  }
}

extension Credential {
  /// What it takes of a line, besides who it belongs to.
  private var byteCount: Int {
    func count(_ text: String) -> Int { JSONValue.string(text).bytes().count - 2 }
    func count(_ secret: Secret?) -> Int { secret.map { count(revealedText($0)) } ?? 0 }
    switch self {
    case .oauth1(let credential): return count(credential.token) + count(credential.tokenSecret)
    case .oauth2(let credential):
      let secrets = [credential.accessToken, credential.refreshToken, credential.idToken]
      // Each scope has its quotes and a comma.
      return secrets.reduce(0) { $0 + count($1) }
        + credential.scopes.reduce(0) { $0 + count($1) + 3 }
    }
  }

  /// Whether it is small enough to be handed out.
  var isFitting: Bool { byteCount <= SignIn.credentialLimitBytes }

  /// Throws `providerFailure` for one that no line would hold.
  func requireFitting(_ provider: Provider) throws(Problem) {
    guard isFitting else { throw .credentialTooLarge(provider) }
  }

  /// What an application gets of it.
  func handedOut(withRefreshToken includesRefreshToken: Bool) -> Credential {
    guard case .oauth2(var credential) = self else { return self }
    if !includesRefreshToken { credential.refreshToken = nil }
    credential.proofKey = nil
    return .oauth2(credential)
  }
}

extension Problem {
  /// The same problem, saying whom it is about.
  func about(_ provider: Provider, _ account: Account.ID?) -> Problem {
    var problem = self
    problem.provider = problem.provider ?? provider.id
    problem.account = problem.account ?? account
    return problem
  }
}
