internal import EinlassJSON

/// The access check and account selection of one request: reads the store, applies `AccessRules`,
/// asks the person and stores the decision.
struct AccessGate {
  /// The account that a request may use.
  struct Admission {
    var account: Account
    /// Whether access was granted before this request; otherwise the person has just granted it.
    var wasGrantedBefore: Bool
  }

  @Indirect private(set) var request: PerformRequest
  let provider: Provider
  let store: AccountStore
  let effects: Effects
  let asker: Asker

  /// Checks access, then selects the account.
  func admit() async throws(Problem) -> Admission {
    asker.report(.access)
    // Do not ask the person if the token could not be stored.
    if request.fetchesCredential { try store.requireWritable() }
    let wasGrantedBefore = try await access()
    asker.report(.selecting)
    return try await Admission(account: account(), wasGrantedBefore: wasGrantedBefore)
  }

  /// Forgets the decision, so that `admit` asks again. A denial stays.
  func forgetGrant() throws(Problem) {
    _ = try store.decide(place, .usual) { $0?.state == .denied ? $0 : nil }
  }

  private var place: AccessGrant.Place {
    AccessGrant.Place(provider: provider.id, application: request.application)
  }

  /// Throws unless access is granted. Returns `false` if the person has just granted it.
  private func access() async throws(Problem) -> Bool {
    while true {
      let (grant, choices) = try choices()
      let access = AccessRules.access(request, at: provider, grant: grant, among: choices)
      switch access {
      case .granted: return true
      case .problem(let problem): throw problem
      case .ask(let prompt):
        do throws(Problem) {
          try await decide(prompt, before: grant, among: choices)
          return false
        } catch {
          // Another process has decided meanwhile.
          guard error == .satisfied else { throw error }
        }
      }
    }
  }

  /// Asks the person for access and stores the decision. Throws unless access is granted:
  /// `satisfied` if the person agrees and another process has decided meanwhile, because the prompt
  /// was about the former decision.
  private func decide(
    _ prompt: Prompt, before grant: AccessGrant?, among former: AccountChoices
  ) async throws(Problem) {
    try store.requireWritable()
    func decision(_ state: AccessGrant.State) -> AccessGrant {
      AccessRules.grant(
        state, to: request, at: provider, before: grant, among: former, now: effects.now())
    }
    let granted = decision(.granted)
    // If the prompt cannot be shown, the error also lists the prompt that would follow.
    let choices = try store.read { reader throws(Problem) in
      try reader.choices(for: request, at: provider, within: granted)
    }
    let next = AccessRules.choice(request, at: provider, among: choices)
    let answer = try await ask(prompt, thenPerhaps: next, granting: granted)
    // A refusal of further rights leaves an existing grant unchanged.
    guard let state = answer.decision, state == .granted || grant == nil else {
      throw .accessLeftOpen(provider)
    }
    let new = decision(state)
    var isCurrent = false
    _ = try store.decide(place, .usual) { current in
      isCurrent = current == grant
      return isCurrent ? new : current
    }
    guard isCurrent else { throw state == .granted ? .satisfied : .accessLeftOpen(provider) }
    request.decided(new)
    guard state == .granted else { throw .accessNotGranted(provider) }
  }

  /// Returns the present decision and the accounts within it.
  private func choices() throws(Problem) -> (AccessGrant?, AccountChoices) {
    try store.read { reader throws(Problem) in
      let grant = try reader.grant(to: request.application, for: provider)
      return (grant, try reader.choices(for: request, at: provider, within: grant))
    }
  }

  private func account() async throws(Problem) -> Account {
    switch AccessRules.choice(request, at: provider, among: try choices().1) {
    case .use(let account, _): return account
    case .problem(let problem): throw problem
    case .ask(let prompt):
      guard case .accept(let chosen, _, _, _) = try await ask(prompt) else {
        throw .userCanceledAccountSelection(provider)
      }
      let account = try account(chosen, offeredBy: prompt)
      // Another process may have decided meanwhile.
      let grant = try choices().0
      if grant?.state == .denied { throw .accessNotGranted(provider) }
      guard grant?.allows(account.id) == true else {
        throw .accessMissing(provider, for: request.application, to: account.id, within: grant)
      }
      return account
    }
  }

  /// Returns the account of an answer from the store, because accounts may have been added or
  /// removed while the person decided.
  private func account(_ chosen: Account.ID?, offeredBy prompt: Prompt) throws(Problem) -> Account {
    let id: Account.ID? =
      if case .confirmAccount(let account) = prompt { account.id } else { chosen }
    guard let id else { throw .invalidChoice(provider, nil) }
    return try store.account(id, of: provider)
  }

  /// - Parameter grant: the decision that answers the prompt in advance.
  private func ask(
    _ prompt: Prompt, thenPerhaps next: AccessRules.Choice? = nil,
    granting grant: AccessGrant? = nil
  ) async throws(Problem) -> Answer {
    func canAsk(_ prompt: Prompt) -> Bool {
      request.isInteractive && asker.kinds.contains(prompt.kind)
    }
    guard canAsk(prompt) else {
      var needed = [prompt]
      if case .ask(let further) = next, !canAsk(further) { needed.append(further) }
      var problem = Problem.interactionRequired(provider, needed)
      if let grant { problem.hint = .granting(grant) }
      throw problem
    }
    asker.report(.awaitingPerson)
    return try await asker.ask(prompt)
  }
}

extension Answer {
  /// The decision in an answer to `grantAccess`; `nil` for `cancel`.
  fileprivate var decision: AccessGrant.State? {
    switch self {
    case .accept: .granted
    case .decline: .denied
    case .cancel: nil
    }
  }
}

extension Einlass {
  /// Returns the grant that a sign-in by the person would make, for an account that may not be known
  /// yet; `nil` if it would grant nothing.
  public func grant(bySigningIn request: SignInRequest) throws(Problem) -> AccessGrant? {
    guard signInsGrantAccess else { return nil }
    let provider = try catalog.provider(request.provider)
    let before = try store.read { reader throws(Problem) in
      try reader.grant(to: request.application, for: provider)
    }
    // Without a name of the person, an account of another person may be replaced.
    guard request.account == nil || provider.namesPeople else { return nil }
    return AccessRules.grant(
      bySigningInTo: request.account, request, at: provider, before: before, now: effects.now())
  }

  /// Whether the request would ask the person for access.
  public func asksForAccess(_ request: PerformRequest) throws(Problem) -> Bool {
    let provider = try catalog.provider(request.provider)
    let access = try store.read { reader throws(Problem) in
      let grant = try reader.grant(to: request.application, for: provider)
      return AccessRules.access(
        request, at: provider, grant: grant,
        among: try reader.choices(for: request, at: provider, within: grant))
    }
    if case .ask = access { return true }
    return false
  }
}
