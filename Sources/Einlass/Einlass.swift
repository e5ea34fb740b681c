internal import EinlassJSON

/// Start here: the engine's interface. Functions take values and return values; all interaction
/// with the outside world is in `Effects`.
public struct Einlass: Sendable {
  public let catalog: ProviderCatalog
  public let store: AccountStore
  public let effects: Effects

  public init(catalog: ProviderCatalog, store: AccountStore, effects: Effects) {
    self.catalog = catalog
    self.store = store
    self.effects = effects
  }

  /// Gets a credential of a stored account: checks access, selects the account, runs the provider's
  /// flow and stores the result.
  ///
  /// The checks run in a fixed order: the registration, then access, account selection and requests
  /// to the provider.
  public func perform(
    _ request: PerformRequest, asking asker: Asker
  ) async throws(Problem) -> PerformResult {
    do throws(Problem) {
      return try await run(request, asking: asker)
    } catch {
      let provider = try catalog.provider(request.provider)
      let error = store.mended(error, at: provider, by: request.registration)
      guard error.isMended(bySigningInAt: provider, asking: asker.kinds) else { throw error }
      guard request.signsInIfNeeded, request.isInteractive, var signIn = request.signIn else {
        throw error.mended(bySigningInAt: provider)
      }
      signIn.account = error.account
      var request = request
      let signedIn = try await self.signIn(signIn, asking: asker)
      request.account = signedIn.account.id
      var result = try await run(request, asking: asker)
      result.created = signedIn.created
      return result
    }
  }

  /// Signs a person in at a provider: adds an account, or makes one usable again.
  ///
  /// Tries the provider's flows in order and skips those with prompts that the front end cannot
  /// show.
  public func signIn(
    _ request: SignInRequest, asking asker: Asker
  ) async throws(Problem) -> AccountStore.Added {
    let provider = try catalog.provider(request.provider)
    // Do not ask the person if the token could not be stored.
    try store.requireWritable()
    guard request.registration == nil, let offer = provider.dynamicRegistration,
      request.flowKind != .clientCredentials
    else {
      let found = try store.registration(request.registration, at: provider)
      // Dynamic registration does not cover client credentials, so the registration must be
      // configured.
      if found == nil, request.flowKind == .clientCredentials {
        _ = try provider.flow(.clientCredentials)
        throw .authenticatorUnconfigured(provider, missing: [.clientID, .clientSecret])
      }
      let registration = try provider.complete(found, with: provider.registrationNeeds)
      return try await signIn(request, at: provider, by: registration, asking: asker)
    }
    let registering = Registering(
      provider: provider, applicationName: request.applicationTitle ?? request.application,
      store: store, effects: effects)
    var found = try await registering.registration(at: offer)
    if found.mayBeForgotten, try await registering.isForgotten(found.registration) {
      found = try await registering.another(at: offer, insteadOf: found)
    }
    do throws(Problem) {
      return try await signIn(request, at: provider, by: found.registration, asking: asker)
    } catch {
      guard error.serverError?.code == "invalid_client", found.mayBeForgotten else {
        throw registering.judged(error, of: found)
      }
      found = try await registering.another(at: offer, insteadOf: found)
    }
    do throws(Problem) {
      return try await signIn(request, at: provider, by: found.registration, asking: asker)
    } catch { throw registering.judged(error, of: found) }
  }

  private func signIn(
    _ request: SignInRequest, at provider: Provider, by registration: ClientRegistration,
    asking asker: Asker
  ) async throws(Problem) -> AccountStore.Added {
    try await AccountSignIn(
      request: request, provider: provider, registration: registration, store: store,
      effects: effects, asker: asker
    ).run()
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
    _ = try provider.flow(request.flowKind)
    let signIn = try SignIn(
      request: request, provider: provider,
      registration: registration(request.registration, at: provider),
      gate: gate, store: store, effects: effects, report: asker.report)
    return try await signIn.run(gate.admit())
  }

  /// Returns the registration to use. Throws if a part of it is missing.
  private func registration(
    _ own: ClientRegistration?, at provider: Provider
  ) throws(Problem) -> ClientRegistration {
    let found = try store.registration(own, at: provider)
    // The first sign-in registers the application dynamically.
    if found == nil, provider.dynamicRegistration != nil { throw .noSystemAccount(provider) }
    return try provider.complete(found, with: provider.registrationNeeds)
  }

  /// Throws `authenticatorUnconfigured` if there is no registration, or if the application's own
  /// lacks a part. Reads no sealed column, so the store's key is not needed. Throws
  /// `unknownProvider`.
  ///
  /// - Parameter needs: the parts of the registration that the request needs.
  public func requireRegistration(
    _ own: ClientRegistration?, at provider: String,
    needs: (Provider) -> [Provider.RegistrationPart] = { $0.registrationNeeds }
  ) throws(Problem) {
    let provider = try catalog.provider(provider)
    let isStored = try store.knownRegistration(at: provider) != nil
    guard own != nil || !isStored && provider.dynamicRegistration == nil else { return }
    _ = try provider.complete(own, with: needs(provider))
  }

  /// Returns the account that a request would use and the rule that selects it, without asking the
  /// person.
  ///
  /// - Parameter kinds: the kinds of prompt that the front end can show. They decide whether an
  ///   error suggests a sign-in.
  public func explain(
    _ request: PerformRequest, asking kinds: Set<Prompt.Kind>, patience: AccountStore.Patience
  ) throws(Problem) -> Explanation {
    let provider = try catalog.provider(request.provider)
    var explanation = try store.read(patience) { reader throws(Problem) in
      try reader.explanation(of: request, at: provider)
    }
    if let problem = explanation.problem, problem.isMended(bySigningInAt: provider, asking: kinds) {
      explanation.problem = problem.mended(bySigningInAt: provider)
    }
    return explanation
  }

  /// Checks a credential with its provider. An invalid credential is a result, not an error.
  public func verify(_ request: VerifyRequest) async throws(Problem) -> Verification {
    let provider = try catalog.provider(request.provider)
    guard provider.can.verify || provider.identity?.request != nil else {
      throw .flowNotSupported(provider, "verification")
    }
    let registration = try provider.complete(
      store.registration(request.registration, at: provider), with: provider.verificationNeeds)
    let credential = try credential(of: request, at: provider)
    let store = store
    var idToken: Secret?
    var stored: @Sendable (String?) -> OAuth2Credential? = { _ in nil }
    switch (request.subject, credential) {
    case (.idToken(let text), _): idToken = text
    case (.credential, .oauth2(let token)?):
      idToken = token.idToken
      stored = { store.credential(token.accessToken, of: $0, at: provider, under: registration) }
    case (.account, .oauth2(let token)?):
      stored = { _ in token }
      // A stored id_token expires soon, so it is used only if the provider has no endpoint to ask.
      idToken = provider.canBeAsked ? nil : token.idToken
    default: break
    }
    return try await CredentialCheck(
      provider: provider, registration: registration, credential: credential, idToken: idToken,
      stored: stored, expected: request.expected, effects: effects
    ).run()
  }

  /// Returns the `Authorization` header, and the `DPoP` header if needed, for a request of the
  /// front end.
  ///
  /// Signs only with a credential issued to the caller's registration, and only while access is
  /// granted. Throws `unknownAccount`, `authenticatorUnconfigured`, `accessNotGranted`,
  /// `bindingMismatch`, `reloginNeeded`, `unsafeURL`.
  public func sign(_ request: SignRequest) throws(Problem) -> RequestAuthorization {
    try authorization(for: request, in: catalog, store: store, effects: effects)
  }

  /// Makes an account the application's preferred one of a provider, or removes the preference.
  /// Returns the store's revision.
  ///
  /// Throws `unknownProvider`, `unknownAccount`, and `invalidChoice` for an account of another
  /// provider.
  public func setPreferred(
    _ id: Account.ID?, of provider: String, for application: String,
    patience: AccountStore.Patience
  ) throws(Problem) -> Int64 {
    let provider = try catalog.provider(provider)
    if let id {
      let account = try store.account(id, patience)
      guard sameBytes(account.provider, provider.id) else { throw .invalidChoice(provider, id) }
    }
    return try store.setPreferred(id, application, provider.id, patience)
  }

  /// Returns the application's credential of an account: the stored one while it is valid, else a
  /// new one. Never asks the person.
  ///
  /// Throws `accessNotGranted` without a grant, `reloginNeeded` if only a new sign-in helps,
  /// `flowNotSupported` for a forced refresh without a way to do it.
  public func credential(_ request: CredentialRequest) async throws(Problem) -> PerformResult {
    try await retrieving(request) { retrieval throws(Problem) in try await retrieval.credential() }
  }

  /// Returns the result of `credential` if that needs neither a request nor a wait, else `nil`.
  /// Throws `locked` if another process holds the store.
  public func storedCredential(_ request: CredentialRequest) throws(Problem) -> PerformResult? {
    let retrieval = try Retrieval(
      request, in: catalog, store: store, effects: effects, patience: .none)
    do throws(Problem) { return try retrieval.storedCredential() } catch {
      throw retrieval.mended(error)
    }
  }

  /// Marks the application's credential as refused by a resource, so that it is not handed out
  /// again, and asks the provider about the state of the account.
  public func reject(_ request: CredentialRequest) async throws(Problem) {
    try await retrieving(request) { retrieval throws(Problem) in try await retrieval.reject() }
  }

  /// Renews the application's credential of an account.
  public func renew(_ request: CredentialRequest) async throws(Problem) -> Renewal {
    try await retrieving(request) { retrieval throws(Problem) in
      switch try await retrieval.renew() {
      case .failed(let problem): .failed(retrieval.mended(problem))
      case .rejected(let problem): .rejected(retrieval.mended(problem))
      case .renewed(let token): .renewed(token)
      }
    }
  }

  /// Repeats a renewal that an ended process had begun, if the application may renew the
  /// credential.
  ///
  /// - Parameter request: returns a request for the application's credential for a resource, or for
  ///   none.
  public func finish(
    _ begun: BegunRenewal, _ request: (_ resource: String?) -> CredentialRequest?
  ) async throws(Problem) {
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
    try await retrieving(request) { retrieval throws(Problem) in
      try await retrieval.finish(begun)
    }
  }

  /// Returns whether the account exists and has a credential of any application. Needs no key.
  public func isSignedIn(_ account: Account.ID) throws(Problem) -> Bool {
    try store.read { reader throws(Problem) in try reader.account(account) }?.isSignedIn ?? false
  }

  /// Returns the time of the next background refresh of the application's credential; `nil` for a
  /// credential without an end or without a way to refresh it.
  ///
  /// - Parameter latest: the time when the credential was last handed out or a refresh was last
  ///   tried. The descriptor's check period starts there.
  public func nextRefresh(
    _ request: CredentialRequest, since latest: UnixTime
  ) throws(Problem) -> UnixTime? {
    try Retrieval(request, in: catalog, store: store, effects: effects).nextRefresh(since: latest)
  }

  private func retrieving<Success>(
    _ request: CredentialRequest, _ body: (Retrieval) async throws(Problem) -> Success
  ) async throws(Problem) -> Success {
    let retrieval = try Retrieval(request, in: catalog, store: store, effects: effects)
    do throws(Problem) { return try await body(retrieval) } catch {
      throw retrieval.mended(error)
    }
  }

  /// Removes the credentials of an account from the store, then revokes them at the provider if it
  /// supports that. The account stays.
  ///
  /// - Parameters:
  ///   - isRequired: if the provider supports revocation but this process cannot request it, throws
  ///     `authenticatorUnconfigured` or `bindingMismatch` and removes nothing.
  ///   - registration: returns the front end's own registration at a provider, by the provider's
  ///     id.
  public func signOut(
    _ account: Account.ID, revokes: Bool = true, requiringRevocation isRequired: Bool = false,
    registration: (String) -> ClientRegistration? = { _ in nil }
  ) async throws(Problem) -> Revocation {
    try await leaving(account, registration)
      .run(.credentials, revokes: revokes, requiringRevocation: isRequired)
  }

  /// Removes an account and revokes its credentials as `signOut` does. Throws `unknownAccount`.
  public func removeAccount(
    _ account: Account.ID, requiringRevocation isRequired: Bool = false,
    registration: (String) -> ClientRegistration? = { _ in nil }
  ) async throws(Problem) -> Revocation {
    try await leaving(account, registration)
      .run(.account, revokes: true, requiringRevocation: isRequired)
  }

  private func leaving(
    _ id: Account.ID, _ registration: (String) -> ClientRegistration?
  ) throws(Problem) -> SignOut {
    let account = try store.account(id)
    let provider = try? catalog.provider(account.provider)
    // A faulty stored registration must not prevent the sign-out.
    let stored = provider.flatMap { try? store.registration(nil, at: $0) }
    return SignOut(
      account: account, provider: provider,
      registrations: [registration(account.provider), stored].compactMap(\.self), store: store,
      effects: effects)
  }

  /// Stores an account supplied by the front end, bound to the provider's current origins.
  ///
  /// Throws `unknownProvider`, `invalidParameter`, `accountExists` and the errors of the store.
  public func addAccount(
    _ request: AddAccountRequest, patience: AccountStore.Patience
  ) throws(Problem) -> AccountStore.Added {
    let provider = try catalog.provider(request.provider)
    return try store.add(request.newAccount(at: provider, effects: effects), patience)
  }

  /// Changes the displayed name of an account; an empty one removes it. Returns the store's
  /// revision.
  ///
  /// Throws `unknownAccount`, `invalidParameter` for a name that `addAccount` would refuse too, and
  /// the errors of the store.
  public func renameAccount(
    _ account: Account.ID, to displayName: String, patience: AccountStore.Patience
  ) throws(Problem) -> Int64 {
    try store.rename(account, to: displayName, patience)
  }

  /// Returns the credential to verify, apart from an id_token: the given one, or the one stored for
  /// the caller's registration while access is granted.
  private func credential(
    of request: VerifyRequest, at provider: Provider
  ) throws(Problem) -> Credential? {
    switch request.subject {
    case .credential(let credential): return credential
    case .idToken: return nil
    case .account(let id):
      return try store.issuedCredential(
        of: store.account(id, of: provider), at: provider, to: request.application,
        store.registration(request.registration, at: provider)
      ).credential
    }
  }
}
