internal import EinlassCrypto
internal import EinlassJSON

/// One `auth.perform`: runs the flow with its two remedies and stores the result.
struct PerformRun {
  /// The largest credential that is stored and returned, in bytes of a JSON line.
  static let credentialLimitBytes = 48 << 10

  @Indirect private(set) var request: PerformRequest
  /// The provider as the catalogue has it.
  let described: Provider
  let choice: RegistrationChoice
  /// The provider as the registration changes it.
  private(set) var provider: Provider
  @Indirect private(set) var registration: ClientRegistration
  let gate: AccessGate
  let store: AccountStore
  let effects: Effects
  let einlass: Einlass
  let report: @Sendable (Stage) -> Void

  /// Runs the flow until it ends. Each remedy is tried once: `regrant` asks for access again and
  /// starts over, `renew` gets a fresh token and continues without a prompt.
  func run(_ admission: AccessGate.Admission) async throws(Problem) -> PerformResult {
    var admission = admission
    var remaining: Set<Remedy> = [.regrant, .renew]
    while true {
      if let result = try await registered(for: admission.account.id).attempt(
        admission, &remaining)
      {
        return result
      }
      try gate.forgetGrant()
      admission = try await gate.admit()
    }
  }

  /// Returns the run by the registration that the account's credential was issued to.
  private func registered(for account: Account.ID) throws(Problem) -> PerformRun {
    guard !choice.flows.isEmpty else { return self }
    var run = self
    run.registration = try described.complete(
      choice.registration(for: account, by: request.flowKind), with: described.registrationNeeds)
    run.provider = described.registered(as: run.registration)
    return run
  }

  /// Runs the flow under the account's lease; `nil` if access has to be asked for again.
  private func attempt(
    _ admission: AccessGate.Admission, _ remaining: inout Set<Remedy>
  ) async throws(Problem) -> PerformResult? {
    let account = admission.account
    let stored = try store.credentials(account.id).stored(under: registration, for: nil)
    let former = stored?.generation ?? 0
    let subject = await assertionSubject(for: stored, of: account.id)
    let lease = try await store.lease(account.id)
    defer { lease.keepAlive() }
    var renewed: Credential?
    while true {
      let credentials = try store.credentials(of: account.id, under: lease)
      let provider = provider.located(for: credentials)
      let descriptor = try descriptor(for: credentials, of: account.id, at: provider)
      var flow = StoredCredentialFlow(
        provider: provider.specialized(for: descriptor), descriptor: descriptor,
        registration: registration,
        resource: nil, account: account, credentials: credentials,
        permissions: provider.permissions(asked: request.permissions),
        audience: request.audience ?? provider.defaultAudience,
        wasGrantedBefore: admission.wasGrantedBefore, formerGeneration: former, renewed: renewed,
        remaining: remaining, effects: effects.holding(lease), report: report,
        minValiditySeconds: request.minValiditySeconds)
      flow.assertionSubject = subject
      if try await flow.checksStored(in: store) { continue }
      switch await flow.run() {
      case .success(let signedIn):
        if let result = try save(signedIn, of: flow) { return result }
        // The stored credentials have changed, so run the flow again with them.
        renewed = nil
      case .failure(let failure):
        if let remedy = failure.remedy { remaining.remove(remedy) }
        switch failure.remedy {
        case .regrant: return nil
        case .renew: renewed = try await renew(flow, under: lease, failure.problem.advice)
        case nil:
          flow.remember(failure, in: store)
          throw failure.problem.about(provider, account.id)
        }
      }
    }
  }

  /// Returns the token that becomes the assertion for another token; `nil` if the stored token
  /// lasts, or came from no assertion.
  private func assertionSubject(
    for stored: StoredCredential?, of account: Account.ID
  ) async -> Result<AssertionSubject, Problem>? {
    guard let stored, stored.assertionSource != nil, case .oauth2(let token) = stored.credential
    else { return nil }
    let margin = max(request.minValiditySeconds ?? 0, provider.marginSeconds(of: stored))
    guard stored.isRefused || (token.expiresAt ?? .max) <= effects.now() + margin else {
      return nil
    }
    return await einlass.assertionSubject(for: stored, by: registration, at: provider) { source in
      var asked = CredentialRequest(
        application: request.application, registration: request.registrations, account: source)
      asked.dependents = [account]
      return asked
    }
  }

  /// Returns the requested flow, otherwise that of the stored credential, otherwise the provider's
  /// first.
  private func descriptor(
    for credentials: [StoredCredential], of account: Account.ID, at provider: Provider
  ) throws(Problem) -> FlowDescriptor {
    let stored =
      credentials.issued(to: registration, for: nil) ?? credentials.accountsOwn
    // A person's token must not be renewed as the application's own.
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

  /// Renews the token and stores it before it is used, because the old one may be dead by now;
  /// `nil` if the old one is still to be used.
  private func renew(
    _ flow: StoredCredentialFlow, under lease: Lease, _ advice: Problem.Advice?
  ) async throws(Problem) -> Credential? {
    var problem = Problem.reloginNeeded(provider, flow.account)
    problem.advice = advice
    let isSession = flow.descriptor.kind == .passwordSession
    func isKept(after why: Problem) -> Bool {
      flow.descriptor.tokens != nil && flow.keepsToken(after: why) && flow.secondsLeft > 0
        && request.minValiditySeconds == nil
    }
    switch try await flow.renewal(storedIn: store, under: lease) {
    case .renewed(let credential): return credential
    // The renewal failed, but the token is valid for some more time.
    case .failed(let why) where isKept(after: why), .rejected(let why) where isKept(after: why):
      return nil
    // The errors of a token endpoint and of a login already name the next step.
    case .rejected(let why) where flow.descriptor.tokens != nil || isSession,
      .failed(let why) where flow.descriptor.tokens != nil || isSession:
      throw why
    case .rejected: throw problem
    case .failed(let why):
      problem.isRetryable = why.reason != .reloginNeeded
      throw problem
    }
  }

  /// Stores a flow's result and returns it; `nil` if the stored credentials have changed meanwhile.
  private func save(_ signedIn: StoredCredentialFlow.SignedIn, of flow: StoredCredentialFlow)
    throws(Problem) -> PerformResult?
  {
    do { try signedIn.credential.requireStorable(provider) } catch {
      throw error.about(provider, flow.account.id)
    }
    report(.saving)
    let now = effects.now()
    // A token that a front end has added may belong to anybody. Reverse auth is signed by the
    // application, so its answer is about a token for the application.
    let reporter = flow.descriptor.kind == .reverseAuth ? einlass.catalog.reporter(provider) : 0
    let edit: AccountStore.Edit = {
      $0.adopt(signedIn.identity, at: now, isFresh: signedIn.isNew, reportedBy: reporter)
    }
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

extension Einlass {
  /// Runs `auth.perform`. If only a sign-in helps and the request allows one, signs the person in
  /// and runs it again.
  func performOrSignIn(
    _ request: PerformRequest, asking asker: Asker
  ) async throws(Problem) -> PerformResult {
    let maySignIn = request.signsInIfNeeded && request.isInteractive
    let revision = maySignIn ? try store.revision() : nil
    let problem: Problem
    switch try await attempt(request, asking: asker) {
    case .success(let result): return result
    case .failure(let failure): problem = failure
    }
    guard maySignIn, var signIn = request.signIn else {
      throw problem.withSignInHint(at: try catalog.provider(request.provider))
    }
    signIn.account = problem.account ?? request.account
    return try await signInOnce(signIn, asking: asker) { () throws(Problem) in
      guard try store.revision() != revision else { return nil }
      guard case .success(let result) = try await attempt(request, asking: asker) else {
        return nil
      }
      return result
    } else: { () throws(Problem) in
      let signedIn = try await signedIn(signIn, asking: asker)
      var request = request
      request.account = signedIn.account.id
      var result = try await run(request, asking: asker)
      result.created = signedIn.created
      return result
    }
  }

  /// Runs the request. A failure is a problem that a sign-in solves; other problems are thrown.
  private func attempt(
    _ request: PerformRequest, asking asker: Asker
  ) async throws(Problem) -> Result<PerformResult, Problem> {
    do throws(Problem) { return .success(try await run(request, asking: asker)) } catch {
      let provider = try catalog.provider(request.provider)
      let error = store.problem(error, at: provider, by: request.registration)
      guard error.isMended(bySigningInAt: provider, asking: asker.kinds) else { throw error }
      return .failure(error)
    }
  }

  private func run(
    _ request: PerformRequest, asking asker: Asker
  ) async throws(Problem) -> PerformResult {
    let provider = try catalog.provider(request.provider)
    let gate = AccessGate(
      request: request, provider: provider, store: store, effects: effects, asker: asker)
    guard request.fetchesCredential else {
      return try await PerformResult(account: gate.admit().account)
    }
    try provider.requireFlow(request.flowKind)
    let choice = try store.choice(request.registration, at: provider)
    let registration = try registration(for: request, at: provider, choice)
    let run = PerformRun(
      request: request, described: provider, choice: choice,
      provider: provider.registered(as: registration), registration: registration, gate: gate,
      store: store, effects: effects, einlass: self, report: asker.report)
    return try await run.run(gate.admit())
  }

  /// Returns the registration to use. Throws if a part of it is missing.
  private func registration(
    for request: PerformRequest, at provider: Provider, _ choice: RegistrationChoice
  ) throws(Problem) -> ClientRegistration {
    let found = try choice.registration(for: nil, by: request.flowKind)
    if found == nil, provider.dynamicRegistration != nil {
      if let id = request.account { _ = try store.account(id, of: provider) }
      // The first sign-in registers the application dynamically.
      throw .noSystemAccount(provider)
    }
    return try provider.complete(found, with: provider.registrationNeeds)
  }
}

extension Account {
  /// Takes over the identity that the provider reports. The first `subject` stays, because it may
  /// differ by application, and so does a display name of the person's choice. The account is
  /// healthy if its credential is new or the provider has just identified its owner.
  ///
  /// - Parameter reportedBy: the provider that has just named the owner of a token for einlass, as
  ///   `ProviderCatalog.reporter`; 0 for none.
  mutating func adopt(
    _ identity: Identity?, at now: UnixTime, isFresh: Bool, reportedBy reporter: Int64
  ) {
    subject = subject ?? identity?.id
    displayName = displayName ?? identity?.name
    avatar = identity?.avatar ?? avatar
    let isOwner = identity.map { sameBytes($0.id, subject ?? "") } ?? false
    if let identity, let address = identity.email {
      email = address
      // Otherwise a front end could pass one person's subject with another person's token.
      isEmailVerified = isOwner && identity.isEmailVerified
    }
    if isOwner, reporter != 0 {
      // The former provider's word about the address does not count.
      if reporter != reportedBy, identity?.email == nil { isEmailVerified = false }
      reportedBy = reporter
    }
    if isFresh || identity != nil { health = .ok }
    lastUsedAt = now
  }

  /// The owner, as far as earlier flows have learned it.
  var identity: Identity? {
    subject.map {
      Identity(id: $0, name: displayName, username: username, email: email, avatar: avatar)
    }
  }
}

extension Credential {
  /// The size in a JSON line, without the owner.
  private var byteCount: Int {
    func count(_ text: String) -> Int { JSONValue.string(text).bytes().count - 2 }
    func count(_ secret: Secret?) -> Int { secret.map { count(revealedText($0)) } ?? 0 }
    switch self {
    case .oauth1(let credential): return count(credential.token) + count(credential.tokenSecret)
    case .oauth2(let credential):
      let secrets = [credential.accessToken, credential.refreshToken, credential.idToken]
      // Two quotes and a comma for each scope.
      return secrets.reduce(0) { $0 + count($1) }
        + credential.scopes.reduce(0) { $0 + count($1) + 3 }
    case .session(let session):
      return count(session.id) + count(session.cookies) + count(session.username)
        + session.values.reduce(0) { $0 + count($1.name) + count($1.value) + 6 }
    }
  }

  /// Whether the credential is small enough to be returned.
  var isStorable: Bool { byteCount <= PerformRun.credentialLimitBytes }

  /// Throws `providerFailure` if the credential is too large for a line.
  func requireStorable(_ provider: Provider) throws(Problem) {
    guard isStorable else { throw .credentialTooLarge(provider) }
  }

  /// Returns the application's copy: without the proof key, without a remembered password and,
  /// unless included, without the refresh token.
  func handedOut(withRefreshToken includesRefreshToken: Bool) -> Credential {
    switch self {
    case .oauth1: return self
    case .oauth2(var token):
      if !includesRefreshToken { token.refreshToken = nil }
      token.proofKey = nil
      return .oauth2(token)
    case .session(var session):
      session.password = nil
      session.checkedAt = nil
      return .session(session)
    }
  }
}

extension Problem {
  /// Returns the same problem with the provider and the account filled in.
  func about(_ provider: Provider, _ account: Account.ID?) -> Problem {
    var problem = self
    problem.provider = problem.provider ?? provider.id
    problem.account = problem.account ?? account
    return problem
  }
}
