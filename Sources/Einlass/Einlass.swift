internal import EinlassJSON

/// Start here: the engine's interface. Functions take values and return values; all interaction
/// with the outside world is in `Effects`.
///
/// Further operations: `descriptor(of:)` in `Discovery/ProviderAdding.swift`,
/// `protectedResource(at:challenge:)` in `Discovery/ProtectedResource.swift`, `configure` and
/// `requireRegistration` in `Registrations/`, `exportedAccounts` and `importAccounts` in
/// `Moving/ExportAndImport.swift`, `sign` in `Access/RequestSigning.swift`.
public final class Einlass: Sendable {
  public let catalog: ProviderCatalog
  public let store: AccountStore
  public let effects: Effects
  /// Whether a person who signs in to an account for an application grants the application access to
  /// that account.
  public let signInsGrantAccess: Bool

  public init(
    catalog: ProviderCatalog, store: AccountStore, effects: Effects, signInsGrantAccess: Bool = true
  ) {
    self.catalog = catalog
    self.store = store
    self.effects = effects
    self.signInsGrantAccess = signInsGrantAccess
  }

  /// Gets a credential of a stored account: checks access, selects the account, runs the provider's
  /// flow and stores the result.
  ///
  /// The checks run in a fixed order: the registration, then access, account selection and requests
  /// to the provider.
  public func perform(
    _ request: PerformRequest, asking asker: Asker
  ) async throws(Problem) -> PerformResult {
    try await performOrSignIn(request, asking: asker)
  }

  /// Signs a person in at a provider: adds an account, or makes one usable again.
  ///
  /// Tries the provider's flows in order and skips those with prompts that the front end cannot
  /// show.
  public func signIn(
    _ request: SignInRequest, asking asker: Asker
  ) async throws(Problem) -> AccountStore.Added {
    // Without a named account the person may mean a further one.
    guard let account = request.account else { return try await signedIn(request, asking: asker) }
    let former = tokenGeneration(of: account, request)
    return try await signInOnce(request, asking: asker) { () throws(Problem) in
      guard tokenGeneration(of: account, request) != former else { return nil }
      return AccountStore.Added(
        account: try store.account(account), created: false, revision: try store.revision())
    } else: { () throws(Problem) in
      try await signedIn(request, asking: asker)
    }
  }

  /// Returns the account that a request would use and the rule that selects it, without asking the
  /// person.
  ///
  /// `kinds` has the kinds of prompt that the front end can show. They decide whether an error
  /// suggests a sign-in.
  public func explain(
    _ request: PerformRequest, asking kinds: Set<Prompt.Kind>, patience: AccountStore.Patience
  ) throws(Problem) -> Explanation {
    try explanation(of: request, asking: kinds, patience: patience)
  }

  /// Checks a credential with its provider. An invalid credential is a result, not an error.
  public func verify(_ request: VerifyRequest) async throws(Problem) -> Verification {
    try await CredentialCheck(request, in: self).run()
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
  /// `flowNotSupported` for a forced refresh without a way to do it, and `throttled` with detail
  /// `refusedByService` for a service that has just refused the credential.
  public func credential(_ request: CredentialRequest) async throws(Problem) -> PerformResult {
    try await CredentialRun.run(request, in: self) { credentialRun throws(Problem) in
      try await credentialRun.credential()
    }
  }

  /// Returns the result of `credential` if that needs neither a request nor a wait, else `nil`.
  /// Throws `locked` if another process holds the store.
  public func storedCredential(_ request: CredentialRequest) throws(Problem) -> PerformResult? {
    try CredentialRun.stored(request, in: self)
  }

  /// Reports that a service has refused the application's credential, and asks the provider about
  /// the account, at most once a minute. A credential that can be renewed is not returned again; any
  /// other is if the provider takes it, but for some minutes not for the service of the request.
  public func reject(_ request: CredentialRequest) async throws(Problem) {
    try await CredentialRun.run(request, in: self) { credentialRun throws(Problem) in
      try await credentialRun.reject()
    }
  }

  /// Renews the application's credential of an account.
  public func renew(_ request: CredentialRequest) async throws(Problem) -> Renewal {
    try await CredentialRun.run(request, in: self) { credentialRun throws(Problem) in
      try await credentialRun.renew()
    }
  }

  /// Repeats a renewal that an ended process had begun, if the application may renew the
  /// credential.
  ///
  /// `request` returns a request for the application's credential for a resource, or for none.
  public func finish(
    _ begun: BegunRenewal, _ request: (_ resource: String?) -> CredentialRequest?
  ) async throws(Problem) {
    try await CredentialRun.finish(begun, request, in: self)
  }

  /// Returns whether the account exists and has a credential of any application. Needs no key.
  public func isSignedIn(_ account: Account.ID) throws(Problem) -> Bool {
    try store.read { reader throws(Problem) in try reader.account(account) }?.isSignedIn ?? false
  }

  /// Returns the time of the next background refresh of the application's credential; `nil` for a
  /// credential without an end or without a way to refresh it.
  ///
  /// `latest` is the time when the credential was last handed out or a refresh was last tried. The
  /// descriptor's check period starts there.
  public func nextRefresh(
    _ request: CredentialRequest, since latest: UnixTime
  ) throws(Problem) -> UnixTime? {
    try CredentialRun(request, in: self).nextRefresh(since: latest)
  }

  /// Removes the credentials of an account from the store, then revokes them at the provider if it
  /// supports that. The account stays.
  ///
  /// - Parameters:
  ///   - account: the account, which keeps its name and grants.
  ///   - revokes: whether the credentials are revoked at the provider.
  ///   - isRequired: if the provider supports revocation but this process cannot request it, throws
  ///     `authenticatorUnconfigured` or `bindingMismatch` and removes nothing.
  ///   - registration: returns the front end's own registration at a provider, by the provider's
  ///     id.
  public func signOut(
    _ account: Account.ID, revokes: Bool = true, requiringRevocation isRequired: Bool = false,
    registration: (String) -> ClientRegistration? = { _ in nil }
  ) async throws(Problem) -> Revocation {
    try await SignOut(account, registration, in: self)
      .run(.credentials, revokes: revokes, requiringRevocation: isRequired)
  }

  /// Removes an account and revokes its credentials as `signOut` does. Throws `unknownAccount`.
  public func removeAccount(
    _ account: Account.ID, requiringRevocation isRequired: Bool = false,
    registration: (String) -> ClientRegistration? = { _ in nil }
  ) async throws(Problem) -> Revocation {
    try await SignOut(account, registration, in: self)
      .run(.account, revokes: true, requiringRevocation: isRequired)
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
}
