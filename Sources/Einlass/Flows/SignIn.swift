internal import EinlassCrypto
internal import EinlassJSON

/// One sign-in at a provider, which adds an account or makes one usable again: `accounts.signIn` of
/// the protocol.
struct SignIn {
  @Indirect var request: SignInRequest
  var provider: Provider
  /// That of the account's credential, and in a flow that of the flow.
  @Indirect var registration: ClientRegistration
  let choice: RegistrationChoice
  /// The registration of the flows without one of their own; `nil` without one.
  @Indirect private(set) var general: ClientRegistration?
  let catalog: ProviderCatalog
  let store: AccountStore
  let effects: Effects
  let asker: Asker
  /// Whether the sign-in grants the application access to the account.
  let grantsAccess: Bool

  /// Runs the provider's first flow that works here. Any error of that flow except
  /// `flowNotSupported` ends the sign-in.
  ///
  /// Throws `flowNotSupported` with the reason for each skipped flow, or `interactionRequired` if
  /// the front end lacks kinds of prompt.
  func run() async throws(Problem) -> AccountStore.Added {
    let kind = try kind()
    let pageParameters = try request.pageParameters()
    let localized = pageParameters + request.localeParameters(at: provider)
    var skipped: [String] = []
    var missing: [Prompt.Kind] = []
    var isRetryable = false
    for flow in provider.signInFlows(kind) {
      guard let needed = flow.signInPrompts else { continue }
      let lacking = needed.subtracting(asker.kinds).sorted()
      guard lacking.isEmpty else {
        missing += lacking
        skipped.append("\(flow.kind.rawValue) needs prompts that this front end cannot show")
        continue
      }
      guard let signIn = try registered(for: flow.kind) else {
        skipped.append("\(flow.kind.rawValue) has no registration")
        continue
      }
      do throws(FlowFailure) {
        let isPage = [.authorizationCode, .oauth1].contains(flow.kind)
        return try await signIn.run(
          flow.registered(as: signIn.binding), isPage ? localized : pageParameters)
      } catch {
        // A flow with an assertion runs only at request, so no other flow stands in for it.
        guard error.problem.reason == .flowNotSupported, !flow.kind.tradesAssertion else {
          throw error.problem.about(provider, request.account)
        }
        skipped.append("\(flow.kind.rawValue): \(error.problem.message)")
        isRetryable = isRetryable || error.problem.isRetryable
      }
    }
    var problem = Problem.noWayIn(provider, kind, skipped, missing: missing)
    problem.isRetryable = isRetryable
    throw problem
  }

  private func run(
    _ flow: FlowDescriptor, _ pageParameters: [Parameter]
  ) async throws(FlowFailure) -> AccountStore.Added {
    let interactive = interactiveFlow(flow, pageParameters)
    return switch flow {
    case .authorizationCode(let descriptor):
      try await authorizationCode(descriptor, interactive)
    case .deviceCode(let descriptor): try await deviceCode(descriptor, interactive)
    case .oauth1(let descriptor): try await threeLegged(descriptor, interactive)
    case .clientCredentials(let descriptor): try await clientCredentials(descriptor, interactive)
    case .jwtBearer(let endpoint):
      try await tradedAssertion(flow, at: endpoint, interactive)
    case .tokenExchange(let descriptor):
      try await tradedAssertion(flow, at: descriptor.tokens, interactive)
    case .passwordSession(let descriptor): try await passwordSession(descriptor, interactive)
    case .reverseAuth, .systemToken:
      throw FlowFailure(.flowNotSupported(provider, "a sign-in by \(flow.kind.rawValue)"))
    }
  }

  /// Adds the scopes that were granted to the account, because the new token takes the place of the
  /// former one: for the resource, or beside a name of `scopeNames`. A step-up without an account is
  /// about the only account with a token for the resource.
  mutating func keepGrantedScopes() throws(Problem) {
    guard let resource = request.resource else {
      request.scopes = try scopesBesideNames()
      return
    }
    guard request.scopes == nil else { return }
    var id = request.account
    if id == nil, request.isStepUp { id = try onlyHolder(of: resource) }
    guard let id else { return }
    // The former token may belong to another registration, which the server has forgotten.
    let credentials = try store.credentials(id).filter { stored in
      stored.resource.map { sameBytes($0, resource) } ?? false
    }
    let former =
      credentials.issued(to: registration, for: resource)
      ?? credentials.max { $0.generation < $1.generation }
    guard case .oauth2(let token)? = former?.credential else { return }
    let challenged = request.resourceScopes.filter { scope in
      !token.scopes.contains { sameBytes($0, scope) }
    }
    request.resourceScopes = token.scopes + challenged
  }

  /// Returns the provider's account with a credential for the resource; `nil` without one, and for
  /// several.
  private func onlyHolder(of resource: String) throws(Problem) -> Account.ID? {
    let holders = try store.read { reader throws(Problem) in
      try reader.accounts(withResourceBelow: resource)
    }.filter { account in
      sameBytes(account.provider, provider.id)
        && account.resources.contains { sameBytes($0, resource) }
    }
    return holders.count == 1 ? holders[0].id : nil
  }

  private func interactiveFlow(_ flow: FlowDescriptor, _ pageParameters: [Parameter])
    -> InteractiveFlow
  {
    InteractiveFlow(
      provider: provider.specialized(for: flow), registration: registration, request: request,
      pageParameters: pageParameters, store: store, effects: effects, asker: asker,
      proof: flow.tokens?.isBound == true ? ProofOfPossession() : nil,
      save: { flow, credential, identity, asker throws(Problem) in
        try await save(credential, identity, from: flow, asking: asker)
      })
  }

  /// Returns the requested kind of flow; by default `clientCredentials` for an account of the
  /// application itself, and the present one for a credential from an assertion.
  ///
  /// Throws `unknownAccount`, and `invalidChoice` for an account of another provider or for
  /// `clientCredentials` on a person's account.
  private func kind() throws(Problem) -> FlowKind? {
    guard let id = request.account else { return request.flowKind }
    let account = try store.read { reader throws(Problem) in try reader.account(id) }
    guard let account else { throw .unknownAccount(id, provider.id) }
    guard sameBytes(account.provider, provider.id) else { throw invalidChoice(id) }
    if request.flowKind == .clientCredentials, !isApplication(account) {
      throw .personsAccount(provider, id)
    }
    let isItself = isApplication(account) && provider.flowKinds.contains(.clientCredentials)
    let traded = try request.flowKind == nil ? formerCredential(of: id) : nil
    return request.flowKind ?? (isItself ? .clientCredentials : nil)
      ?? (traded?.assertionSource == nil ? nil : traded?.binding.flowKind)
  }

  /// Returns the credential that the sign-in replaces.
  func formerCredential(of id: Account.ID) throws(Problem) -> StoredCredential? {
    try store.credentials(id).stored(under: registration, for: request.resource)
  }

  /// Returns the source of the assertion of the credential that the sign-in replaces.
  func rememberedSource() throws(Problem) -> AssertionSource? {
    guard let id = request.account else { return nil }
    return try formerCredential(of: id)?.assertionSource
  }

  /// The account belongs to another provider. A resource that has moved to another authorization
  /// server needs a sign-in without the account.
  private func invalidChoice(_ id: Account.ID) -> Problem {
    var problem = Problem.invalidChoice(provider, id)
    guard let resource = request.resource else { return problem }
    problem.message =
      "The account belongs to another provider than \(provider.name), which issues the tokens of this resource now."
    problem.hint = .init("accounts.signIn", ["resource": resource])
    return problem
  }

  /// Whether the account is the application's own, with its client id as the subject.
  private func isApplication(_ account: Account) -> Bool {
    account.subject.map { sameBytes($0, registration.clientID) } ?? false
  }

  /// Stores the credential for the account that the request names, for the existing account of the
  /// same person, or for a new one.
  ///
  /// If the provider does not identify the person, an existing account is used only if the request
  /// names it or the person selects it.
  ///
  /// - Parameters:
  ///   - reported: The person, as the provider reports them.
  ///   - asserted: The assertion that was traded for the credential. Its subject stands in for a
  ///     person whom the provider does not report.
  func save(
    _ credential: Credential, _ reported: Identity?, from flow: FlowDescriptor,
    asserted: SendableAssertion? = nil, asking asker: Asker
  ) async throws(Problem) -> AccountStore.Added {
    let identity = reported ?? asserted?.identity
    let stored = StoredCredential(
      role: .application, registration: ClientRegistration(clientID: registration.clientID),
      credential: credential,
      binding: provider.binding(of: flow, for: registration.clientID),
      resource: request.resource, assertionSource: asserted?.source)
    try credential.requireStorable(provider)
    var id = request.account
    if id == nil, identity == nil { id = try await accountToReplace(asker) }
    var number = 1
    var new = AccountStore.NewAccount(
      account: account(of: identity, number: number), credentials: [stored],
      isOnlyOne: provider.hasOneAccount)
    if reported != nil, flow.kind != .clientCredentials {
      new.account.reportedBy = catalog.reporter(provider)
    }
    var attempts = SaveAttempts()
    while true {
      do throws(Problem) {
        if let id {
          let result = try await renew(id, with: stored, identity, isReported: reported != nil)
          guard var renewed = result else { continue }
          renewed.identity = reported
          renewed.person = person(reported, of: renewed.account, by: flow.kind)
          // Otherwise the account may be that of another person.
          if reported != nil { grantAccess(to: &renewed, by: flow.kind, asker) }
          return renewed
        }
        var added = try store.addAgain(new)
        added.identity = reported
        added.person = person(reported, of: added.account, by: flow.kind)
        grantAccess(to: &added, by: flow.kind, asker)
        return added
      } catch {
        guard id == nil, error.reason == .accountExists else {
          try await attempts.wait(after: error, in: store, effects)
          continue
        }
        guard identity == nil else {
          id = error.account
          continue
        }
        guard !provider.hasOneAccount else { throw .roomForOne(provider, error) }
        number += 1
        new.account = account(of: identity, number: number)
      }
    }
  }

  /// Grants the application the account that the person has just signed in to.
  private func grantAccess(
    to added: inout AccountStore.Added, by kind: FlowKind, _ asker: Asker
  ) {
    guard grantsAccess, !kind.isSilent, asker.promisedAccess() else { return }
    let place = AccessGrant.Place(provider: provider.id, application: request.application)
    let (account, now) = (added.account, effects.now())
    var granted: AccessGrant?
    let revision = try? store.decide(place, .usual) { before in
      granted = AccessRules.grant(
        bySigningInTo: account.id, request, at: provider, before: before, now: now)
      return granted ?? before
    }
    // The credential is stored already. Without the grant the person is asked for access later.
    guard revision != nil, let granted else { return }
    request.granted(granted, account)
    added.isGranted = true
  }

  /// Returns the person that the provider has just named. The client id of an application is none.
  private func person(
    _ reported: Identity?, of account: Account, by kind: FlowKind
  ) -> ProvenIdentity? {
    guard let reported, kind != .clientCredentials else { return nil }
    var person = catalog.person(reported, at: provider)
    person.account = account.id
    if !kind.isSilent { person.provenAt = effects.now() }
    return person
  }

  /// Returns the account that the person selects; `nil` for a new one, and if the front end cannot
  /// ask.
  private func accountToReplace(_ asker: Asker) async throws(Problem) -> Account.ID? {
    let limit = AccountChoices.offeredLimit
    let accounts = try await store.lastUsedAccounts(of: provider, limit: limit + 2, effects)
      .filter { !isApplication($0) }
    guard !accounts.isEmpty, asker.kinds.contains(.replaceAccount) else { return nil }
    asker.report(.awaitingPerson)
    let prompt = Prompt.replaceAccount(
      Array(accounts.prefix(limit)), more: accounts.count > limit)
    guard case .accept(let account, _, _, _) = try await asker.ask(prompt) else {
      throw .userCanceled(provider)
    }
    asker.report(.saving)
    return account
  }

  /// Replaces the account's credential of the same registration and resource. Returns `nil` if that
  /// has changed meanwhile.
  private func renew(
    _ id: Account.ID, with new: StoredCredential, _ identity: Identity?, isReported: Bool
  ) async throws(Problem) -> AccountStore.Added? {
    let lease = try await store.lease(id, waiting: effects)
    defer { lease.keepAlive() }
    var account = try store.account(id, of: provider)
    // `kind()` checked only an account named in the request; this one may come from a collision.
    if new.binding.flowKind == .clientCredentials, !isApplication(account) {
      throw .personsAccount(provider, id)
    }
    if let person = identity?.id {
      let owner = account.subject ?? person
      let theirs = try store.read { reader throws(Problem) in
        try reader.accounts(of: provider.id, subject: person, limit: 2)
      }
      let isOthers = theirs.contains { $0.id != id }
      guard sameBytes(owner, person), !isOthers else { throw .wrongAccount(provider, id) }
    }
    let now = effects.now()
    // The client id of an application is not the provider's word.
    let isNamed = isReported && new.binding.flowKind != .clientCredentials
    let reporter = isNamed ? catalog.reporter(provider) : 0
    let edit: AccountStore.Edit = {
      $0.adopt(identity, at: now, isFresh: true, reportedBy: reporter)
    }
    let credentials = try store.credentials(of: id, under: lease)
    let former = credentials.stored(under: registration, for: new.resource)
    if let source = new.assertionSource {
      guard
        isReported || request.account != nil || source.isFrom(account)
          || credentials.contains(where: { $0.assertionSource == source })
      else { throw .assertedAccountExists(provider, id) }
      if let former, former.assertionSource == nil, source.isFrom(account) {
        throw .replacesSource(provider, id)
      }
    } else if isReported, request.account == nil,
      credentials.contains(where: { $0.assertionSource?.mayName(account) == true })
    {
      throw .assertedAccountExists(provider, id)
    }
    // Never overwrite the account's own OAuth 1.0a token, because reverse auth exchanges it.
    guard former?.isForReverseAuth != true else { throw .bindingMismatch(provider, account) }
    var credential = new
    credential.role = former?.role ?? credential.role
    let settlement = AccountStore.Settlement(
      basis: former.map { [$0] } ?? [], credential: credential, edit: edit)
    guard let revision = try store.settle(id, settlement) else { return nil }
    edit(&account)
    account.isSignedIn = true
    return AccountStore.Added(account: account, created: false, revision: revision)
  }

  /// Returns a new account named after the identity or the login hint, else after the provider.
  ///
  /// - Parameter number: if over 1, appended to the name, because other accounts have the name.
  private func account(of identity: Identity?, number: Int) -> Account {
    let names = [
      identity?.username, identity?.email, identity?.name, identity?.id, request.openID.loginHint,
    ]
    let name =
      names.compactMap { $0?.withoutJoiners }.first(where: isIdentifier) ?? provider.name
    var account = Account(
      id: Account.ID(rawValue: "a_" + Base64URL.encode(effects.randomBytes(16))),
      provider: provider.id,
      username: number > 1 ? "\(cleaned(name, limitBytes: 200)) \(number)" : name,
      displayName: identity?.name.flatMap { isName($0) ? $0 : nil }, subject: identity?.id,
      email: identity?.email, avatar: identity?.avatar, isSignedIn: true, addedAt: effects.now(),
      lastUsedAt: effects.now())
    account.isEmailVerified = identity?.isEmailVerified ?? false
    return account
  }
}
