internal import EinlassJSON

/// An application's use of an account without a prompt: gets the credential or renews it;
/// `CredentialRefusal.swift` has the refusals.
final class CredentialRun: Sendable {
  let request: CredentialRequest
  let provider: Provider
  let account: Account
  let registration: ClientRegistration
  private let grant: AccessGrant
  let store: AccountStore
  let effects: Effects
  private let einlass: Einlass

  /// Throws `unknownAccount`, `authenticatorUnconfigured` and `accessNotGranted`, in this order.
  init(
    _ request: CredentialRequest, in einlass: Einlass,
    patience: AccountStore.Patience = .usual
  ) throws(Problem) {
    let store = einlass.store
    let (account, grant) = try store.read(patience) { reader throws(Problem) in
      guard let account = try reader.account(request.account) else {
        throw Problem.unknownAccount(request.account)
      }
      let place = AccessGrant.Place(provider: account.provider, application: request.application)
      return (account, try reader.grant(place))
    }
    let described = try einlass.provider(of: account, patience)
    registration = try described.complete(
      store.registration(
        request.registration(described.id), at: described, for: account.id,
        resource: request.resource, patience),
      with: described.registrationNeeds)
    provider = described.registered(as: registration)
    guard let grant, grant.allows(account.id) else {
      throw .accessMissing(provider, for: request.application, to: account.id, within: grant)
    }
    (self.request, self.account, self.grant) = (request, account, grant)
    (self.store, effects, self.einlass) = (store, einlass.effects, einlass)
  }

  /// Runs an operation. Its problems have a sign-in as their hint if a sign-in solves them.
  static func run<Success>(
    _ request: CredentialRequest, in einlass: Einlass,
    _ operation: (CredentialRun) async throws(Problem) -> Success
  ) async throws(Problem) -> Success {
    let credentialRun = try CredentialRun(request, in: einlass)
    do throws(Problem) { return try await operation(credentialRun) } catch {
      throw credentialRun.withSignInHint(error)
    }
  }

  /// Returns the result of `credential()` if that needs neither a request nor a wait, else `nil`.
  static func stored(
    _ request: CredentialRequest, in einlass: Einlass
  ) throws(Problem) -> PerformResult? {
    let credentialRun = try CredentialRun(request, in: einlass, patience: .none)
    do throws(Problem) { return try credentialRun.storedCredential() } catch {
      throw credentialRun.withSignInHint(error)
    }
  }

  /// Repeats a renewal that an ended process had begun, if its credential is still stored.
  static func finish(
    _ begun: BegunRenewal, _ request: (_ resource: String?) -> CredentialRequest?,
    in einlass: Einlass
  ) async throws(Problem) {
    let store = einlass.store
    let stored: [StoredCredential]
    do throws(Problem) { stored = try store.credentials(begun.account) } catch {
      guard error.reason == .unknownAccount else { throw error }
      return store.begunRenewals.end(begun)
    }
    guard let credential = stored.first(where: { $0.generation == begun.generation }) else {
      // The credential was replaced.
      return store.begunRenewals.end(begun)
    }
    guard let request = request(credential.resource) else { return }
    try await run(request, in: einlass) { credentialRun throws(Problem) in
      try await credentialRun.finish(begun)
    }
  }

  /// Returns the stored credential while it is valid, else `nil`. Waits neither for the store nor
  /// for the provider.
  private func storedCredential() throws(Problem) -> PerformResult? {
    guard !request.forcesRefresh,
      let there = try store.credentials(
        account.id, registration.place(of: request.resource), .none
      ).first,
      let stored = try own(of: [there]), isGood(stored), !provider.isCheckDue(stored, effects)
    else { return nil }
    try checkScopes(of: stored)
    try requireAccepted(stored)
    return result(stored.credential)
  }

  /// Returns the stored credential while it is valid, else a new one: by reverse auth, from the
  /// system token, or by a renewal.
  func credential() async throws(Problem) -> PerformResult {
    let former = try own(of: store.credentials(account.id))
    if let former {
      try checkScopes(of: former)
      try requireAccepted(former)
    }
    if let former, !request.forcesRefresh, isGood(former),
      !provider.isCheckDue(former, effects)
    {
      return result(former.credential)
    }
    let subject = await assertionSubject(for: former)
    let found: Lease?
    do throws(Problem) {
      found = try await store.lease(account.id, waiting: effects) {
        (try? self.renewed(since: former)) != nil
      }
    } catch {
      guard error.reason == .accountStoreFailure, let former, isStillUsable(former) else {
        throw error
      }
      return result(former.credential)
    }
    guard let lease = found else { return result(try renewed(since: former).credential) }
    defer { lease.keepAlive() }
    var flow = try flow(under: lease, former, subject)
    if let adopted = flow.adopted, isGood(adopted) { return result(adopted.credential) }
    if !request.forcesRefresh {
      if try await flow.checksStored(in: store) {
        flow = try self.flow(under: lease, former, subject)
      }
      // Another request may have checked it meanwhile.
      if let own = flow.own, isGood(own) { return result(own.credential) }
    }
    do throws(Problem) {
      let credential = try await pacedCredential(flow, under: lease)
      if request.needsIDToken, case .oauth2(let token) = credential,
        !token.idTokenIsValid(until: effects.now())
      {
        throw .idTokenEnded(provider, account)
      }
      return result(credential)
    } catch {
      guard flow.keepsToken(after: error), let own = flow.own, isStillUsable(own) else {
        throw error
      }
      return result(own.credential)
    }
  }

  /// Returns the good credential that another request has stored since `former` was read.
  private func renewed(since former: StoredCredential?) throws(Problem) -> StoredCredential {
    guard let own = try own(of: store.credentials(account.id)),
      own.generation != former?.generation, isGood(own), !provider.isCheckDue(own, effects)
    else { throw .outOfDate(account) }
    return own
  }

  /// Whether the stored credential can be returned when no new one is available: it has not
  /// expired, and the request neither forces a refresh nor sets a minimum validity.
  private func isStillUsable(_ stored: StoredCredential) -> Bool {
    var stored = stored
    if isLeft(stored) { stored.isRefused = false }
    return !request.forcesRefresh && request.minValiditySeconds == nil
      && isGood(stored, forSeconds: 0)
  }

  /// Returns the time of the next refresh in the background, at least the descriptor's check period
  /// after `latest`; `nil` for a credential without an end or without a way to refresh it.
  func nextRefresh(since latest: UnixTime) throws(Problem) -> UnixTime? {
    guard let own = try own(of: store.credentials(account.id)), canAsk(own),
      case .oauth2(let token) = own.credential, let expiresAt = token.expiresAt,
      let refresh = provider.refresh(of: own),
      // Compared with `latest`, because a refresh that starts late must still report the expiry.
      !refresh.usesAccessToken || (!own.isRefused && expiresAt > latest)
    else { return nil }
    return max(expiresAt - refresh.marginSeconds, latest + refresh.checkSeconds)
  }

  /// Renews the application's stored credential, even if it is still valid.
  func renew() async throws(Problem) -> Renewal {
    let former = try own(of: store.credentials(account.id))
    let subject = await assertionSubject(for: former)
    let found = try await store.lease(account.id, waiting: effects) {
      (try? self.renewed(since: former)) != nil
    }
    guard let lease = found else { return .renewed(try renewed(since: former).credential) }
    defer { lease.keepAlive() }
    let flow = try flow(under: lease, former, subject)
    if let adopted = flow.adopted { return .renewed(adopted.credential) }
    let isStillGood =
      flow.own.map { isGood($0, forSeconds: 0) }
      ?? (flow.canIssue && flow.credentials.contains { $0.role == .system })
    if !flow.canRenew, isStillGood, account.health == .ok {
      return .failed(withSignInHint(flow.notRenewable))
    }
    switch try await flow.renewal(storedIn: store, under: lease) {
    case .renewed(let token):
      request.pause.note(pauseName, nil)
      return .renewed(token)
    case .rejected(let problem): return .rejected(withSignInHint(problem))
    case .failed(let problem): return .failed(withSignInHint(problem))
    }
  }

  /// Repeats a renewal that another process had begun, unless that process has stored an answer
  /// since.
  private func finish(_ begun: BegunRenewal) async throws(Problem) {
    let subject = await assertionSubject(for: try own(of: store.credentials(account.id)))
    let lease = try await store.lease(account.id, waiting: effects)
    defer { lease.keepAlive() }
    guard canAsk(), store.begunRenewals.contains(begun) else { return }
    let flow = try flow(under: lease, nil, subject)
    guard flow.canRenew, flow.own?.generation == begun.generation else { return }
    _ = try await flow.renewal(storedIn: store, under: lease)
  }

  /// Returns the problem with a sign-in as its hint, if a sign-in solves it.
  private func withSignInHint(_ problem: Problem) -> Problem {
    let problem = store.problem(problem, at: provider, by: request.registration(provider.id))
    guard problem.reason == .reloginNeeded, !problem.namesItsNextStep,
      provider.signInKind(asking: request.promptKinds) != nil
    else { return problem }
    var result = problem.withSignInHint(at: provider)
    if let resource = request.resource {
      result.message =
        "The \(provider.name) account has no valid credential for this resource."
      result.hint = .init(
        "accounts.signIn", ["account": account.id.rawValue, "resource": resource])
    }
    if problem.detail == Problem.notRenewable { result.message = problem.message }
    result.hint?.lists = problem.hint?.lists ?? [:]
    return result
  }

  /// Throws `reloginNeeded` for a credential that is known to lack requested scopes. The hint lists
  /// the present scopes too, so that the new sign-in keeps them.
  private func checkScopes(of stored: StoredCredential) throws(Problem) {
    guard case .oauth2(let token) = stored.credential, !token.scopes.isEmpty else { return }
    let missing = provider.scopeContents.lacking(
      provider.scopeNames.replaced(in: request.scopes), in: token.scopes)
    guard !missing.isEmpty else { return }
    var problem = Problem.reloginNeeded(provider, account)
    problem.detail = missing.joined(separator: " ")
    problem.hint?.lists["scopes"] = token.scopes + missing
    throw problem
  }

  /// Whether the provider may be asked. It is not asked about an account that needs a new sign-in,
  /// because only that sign-in helps. Exceptions are a resource token, because the account's health
  /// does not cover it, and a credential that is replaced silently.
  func canAsk(_ own: StoredCredential? = nil) -> Bool {
    account.health != .reloginNeeded || request.resource != nil || own?.isReplacedSilently == true
  }

  /// The key of a pause: one for each account and resource.
  private var pauseName: Account.ID {
    Account.ID(rawValue: account.id.rawValue + (request.resource.map { " \($0)" } ?? ""))
  }

  /// Returns a new credential. Throws the error of the last failure during a pause.
  private func pacedCredential(
    _ flow: StoredCredentialFlow, under lease: Lease
  ) async throws(Problem) -> Credential {
    if !request.forcesRefresh, let problem = request.pause.problem(pauseName) { throw problem }
    do throws(Problem) {
      let credential = try await newCredential(flow, under: lease)
      request.pause.note(pauseName, rest(after: credential, of: flow))
      return credential
    } catch {
      request.pause.note(pauseName, error)
      throw error
    }
  }

  /// Returns the reason for a pause after a token was exchanged for one that is already within the
  /// refresh margin, because an immediate second exchange would bring the same.
  private func rest(after credential: Credential, of flow: StoredCredentialFlow) -> Problem? {
    guard let refresh = flow.descriptor.tokens?.refresh, refresh.usesAccessToken,
      case .oauth2(let token) = credential, let expiresAt = token.expiresAt,
      expiresAt - effects.now() <= refresh.marginSeconds
    else { return nil }
    return Problem(
      .throttled,
      "\(provider.name) has just issued a token that lasts no longer.", advice: .tryLater,
      isRetryable: true, retryAfterSeconds: Int(refresh.checkSeconds))
  }

  private func newCredential(_ flow: StoredCredentialFlow, under lease: Lease) async throws(Problem)
    -> Credential
  {
    guard flow.own != nil || flow.canIssue && request.resource == nil else {
      throw flow.nothingStored
    }
    guard canAsk(flow.own) else { throw .reloginNeeded(provider, account) }
    if flow.own != nil, flow.canRenew {
      switch try await flow.renewal(storedIn: store, under: lease) {
      case .renewed(let credential): return credential
      case .rejected(let problem), .failed(let problem): throw problem
      }
    }
    guard flow.canIssue, request.resource == nil else {
      let isOver = flow.own.map { !isGood($0, forSeconds: 0) } ?? true
      guard request.forcesRefresh, !isOver else { throw .reloginNeeded(provider, account) }
      throw flow.lacksRefreshToken ? flow.notRenewable : .flowNotSupported(provider, "renewal")
    }
    do throws(FlowFailure) {
      let credential = try await flow.issued()
      guard try save(credential, of: flow) else { throw FlowFailure(.outOfDate(account)) }
      return credential
    } catch {
      flow.remember(error, in: store)
      throw error.problem.about(provider, account.id)
    }
  }

  /// Returns whether the credential was stored. It is not if another request has changed a
  /// credential that it was obtained with.
  private func save(_ credential: Credential, of flow: StoredCredentialFlow) throws(FlowFailure)
    -> Bool
  {
    do {
      try credential.requireStorable(provider)
      return try store.settle(account.id, flow.settlement(credential)) != nil
    } catch { throw FlowFailure(error) }
  }

  /// Returns the credential stored for the application; `nil` if there is none. Throws
  /// `bindingMismatch`, and `reloginNeeded` for an account without credentials.
  func own(of credentials: [StoredCredential]) throws(Problem) -> StoredCredential? {
    guard !credentials.isEmpty else { throw .reloginNeeded(provider, account) }
    guard let own = credentials.issued(to: registration, for: request.resource) else { return nil }
    guard provider.isBound(own) else { throw .bindingMismatch(provider, account) }
    return own
  }

  /// Returns the token that becomes the assertion for another token, before the wait for the
  /// account's lease, because the token's own account has a lease too.
  private func assertionSubject(
    for stored: StoredCredential?
  ) async -> Result<AssertionSubject, Problem>? {
    await einlass.assertionSubject(for: stored, by: registration, at: provider) { source in
      var asked = CredentialRequest(
        application: request.application, registration: request.registration, account: source,
        pause: request.pause)
      asked.dependents = request.dependents + [account.id]
      return asked
    }
  }

  func flow(
    under lease: Lease, _ former: StoredCredential?,
    _ subject: Result<AssertionSubject, Problem>? = nil
  ) throws(Problem) -> StoredCredentialFlow {
    let credentials = try store.credentials(of: account.id, under: lease)
    let own = try own(of: credentials)
    let descriptor = try provider.flow(own?.binding.flowKind)
    var flow = StoredCredentialFlow(
      provider: provider.specialized(for: descriptor), descriptor: descriptor,
      registration: registration, resource: request.resource, account: account,
      credentials: credentials,
      permissions: provider.permissions(asked: grant.permissions),
      audience: grant.audience ?? provider.defaultAudience, wasGrantedBefore: true,
      formerGeneration: former?.generation ?? 0, renewed: nil, remaining: [],
      effects: effects.holding(lease),
      report: { _ in })
    flow.assertionSubject = subject
    return flow
  }

  private func isGood(_ stored: StoredCredential, forSeconds seconds: Int64? = nil) -> Bool {
    guard case .oauth2(let token) = stored.credential else { return !stored.isRefused }
    let needed = seconds ?? request.minValiditySeconds ?? provider.marginSeconds(of: stored)
    let end = effects.now() + needed
    return !stored.isRefused && (token.expiresAt ?? .max) > end
      && (!request.needsIDToken || token.idTokenIsValid(until: end))
  }

  private func result(_ credential: Credential) -> PerformResult {
    PerformResult(
      account: account, identity: account.identity, clientID: registration.clientID,
      credential: credential.handedOut(withRefreshToken: false))
  }
}
