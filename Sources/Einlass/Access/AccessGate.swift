internal import EinlassJSON

/// Leads one request through access and selection: reads the store, follows `AccessRules`, asks, and remembers.
struct AccessGate {
  /// Who got in.
  struct Admission {
    var account: Account
    /// Whether access stood before; otherwise the person has just granted it.
    var wasGrantedBefore: Bool
  }

  let request: PerformRequest
  let provider: Provider
  let store: AccountStore
  let effects: Effects
  let asker: Asker

  /// Access first, then the account. Seeds 1.3 T1–T2, 1.4 F1–F2.
  func admit() async throws(Problem) -> Admission {
    asker.report(.access)
    // Nobody is asked for what could not be kept (C-27).
    if request.fetchesCredential { try store.requireWritable() }
    let wasGrantedBefore = try await access()
    asker.report(.selecting)
    return try await Admission(account: account(), wasGrantedBefore: wasGrantedBefore)
  }

  /// Back to never asked, so that `admit` asks again. Seeds 1.4 F4.
  func forgetGrant() throws(Problem) {
    _ = try store.resetGrant(request.application, provider.id, .usual)
  }

  /// Throws unless access is granted, now or before; whether it was before.
  private func access() async throws(Problem) -> Bool {
    let (grant, choices) = try store.read { reader throws(Problem) in
      (
        try reader.grant(to: request.application, for: provider),
        try reader.choices(for: request, at: provider)
      )
    }
    let hasAccounts = choices.first != nil
    switch AccessRules.access(request, at: provider, grant: grant, hasAccounts: hasAccounts) {
    case .granted: return true
    case .problem(let problem): throw problem
    case .ask(let prompt):
      try store.requireWritable()
      // Whoever cannot be asked learns in one go what else this request would have asked.
      let next = AccessRules.choice(request, at: provider, among: choices)
      let answer = try await ask(prompt, thenPerhaps: next, before: grant)
      // Whoever declines more than was granted keeps what was.
      if let state = answer.decision, state == .granted || grant == nil {
        let grant = AccessRules.grant(
          state, to: request, at: provider, before: grant, now: effects.now())
        _ = try store.setGrant(grant, .usual)
      }
      guard let decision = answer.decision else { throw .accessLeftOpen(provider) }
      guard decision == .granted else { throw .accessNotGranted(provider) }
      return false
    }
  }

  private func account() async throws(Problem) -> Account {
    let choices = try store.read { reader throws(Problem) in
      try reader.choices(for: request, at: provider)
    }
    switch AccessRules.choice(request, at: provider, among: choices) {
    case .use(let account, _): return account
    case .problem(let problem): throw problem
    case .ask(let prompt):
      guard case .accept(let chosen, _) = try await ask(prompt) else {
        throw .userCanceledAccountSelection(provider)
      }
      return try account(chosen, offeredBy: prompt)
    }
  }

  /// The account of an answer, as it is now: while the person was thinking, others may have come and gone.
  private func account(_ chosen: Account.ID?, offeredBy prompt: Prompt) throws(Problem) -> Account {
    let id: Account.ID? =
      if case .confirmAccount(let account) = prompt { account.id } else { chosen }
    guard let id else { throw .invalidChoice(provider, nil) }
    return try store.account(id, of: provider)
  }

  /// - Parameter grant: the decision that a new one would add to.
  private func ask(
    _ prompt: Prompt, thenPerhaps next: AccessRules.Choice? = nil, before grant: AccessGrant? = nil
  ) async throws(Problem) -> Answer {
    func canAsk(_ prompt: Prompt) -> Bool {
      request.isInteractive && asker.kinds.contains(prompt.kind)
    }
    guard canAsk(prompt) else {
      var needed = [prompt]
      if case .ask(let further) = next, !canAsk(further) { needed.append(further) }
      var problem = Problem.interactionRequired(provider, needed)
      if case .grantAccess = prompt {
        problem.hint = .granting(
          AccessRules.grant(.granted, to: request, at: provider, before: grant, now: effects.now()))
      }
      throw problem
    }
    asker.report(.awaitingPerson)
    return try await asker.ask(prompt)
  }
}

extension Answer {
  /// What an answer to `grantAccess` decides; a cancel decides nothing.
  fileprivate var decision: AccessGrant.State? {
    switch self {
    case .accept: .granted
    case .decline: .denied
    case .cancel: nil
    }
  }
}
