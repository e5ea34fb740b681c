/// A prediction of a request's account and prompts: `accounts.explain` of the protocol.
public struct Explanation: Sendable, Equatable {
  /// The rule that selects the account.
  public enum Rule: String, Sendable, CaseIterable {
    /// The request names the account. Takes precedence over all other rules.
    case account
    /// The request confirms the provider's only account.
    case confirm
    /// The provider has no other account.
    case onlyAccount
    /// The application prefers the account.
    case preferred
    /// The person selects or confirms the account.
    case person
    /// No rule, because the request fails.
    case nothing
  }

  public var rule: Rule
  /// The account that would be used; `nil` if the person selects it or the request fails.
  @Indirect public var account: Account?
  /// The prompts that the person would get, in order.
  public var prompts: [Prompt]
  /// The error that the request would fail with.
  @Indirect public var problem: Problem?
}

extension StoreReader {
  /// Returns the account that this request would use, and the reason.
  func explanation(
    of request: PerformRequest, at provider: Provider
  ) throws(Problem) -> Explanation {
    let grant = try grant(to: request.application, for: provider)
    var choices = try choices(for: request, at: provider, within: grant)
    let access = AccessRules.access(request, at: provider, grant: grant, among: choices)
    var explanation = Explanation(rule: .nothing, prompts: [])
    switch access {
    case .granted: break
    case .ask(let prompt):
      explanation.prompts.append(prompt)
      // The answer opens every account.
      choices = try self.choices(for: request, at: provider, within: nil)
    case .problem(let problem):
      explanation.problem = problem
      return explanation
    }
    switch AccessRules.choice(request, at: provider, among: choices) {
    case .use(let account, let rule):
      (explanation.account, explanation.rule) = (account, rule)
      explanation.problem = [account].problem(naming: account, at: provider)
    case .ask(let prompt):
      explanation.prompts.append(prompt)
      explanation.rule = .person
      explanation.problem =
        switch prompt {
        case .confirmAccount(let account): [account].problem(naming: account, at: provider)
        // With `more`, one of the accounts beyond the prompt may be signed in.
        case .selectAccount(let accounts, more: false):
          accounts.problem(naming: choices.first, at: provider)
        default: nil
        }
    case .problem(let problem): explanation.problem = problem
    }
    return explanation
  }
}

extension [Account] {
  /// Returns `reloginNeeded` if none of these accounts is signed in, because then the request fails
  /// for any choice.
  fileprivate func problem(naming account: Account?, at provider: Provider) -> Problem? {
    guard let account, !contains(where: \.isSignedIn) else { return nil }
    return .reloginNeeded(provider, account)
  }
}

extension Einlass {
  /// Returns the explanation, with a sign-in as the hint of a problem that a sign-in solves.
  func explanation(
    of request: PerformRequest, asking kinds: Set<Prompt.Kind>, patience: AccountStore.Patience
  ) throws(Problem) -> Explanation {
    let provider = try catalog.provider(request.provider)
    var explanation = try store.read(patience) { reader throws(Problem) in
      try reader.explanation(of: request, at: provider)
    }
    if let problem = explanation.problem, problem.isMended(bySigningInAt: provider, asking: kinds) {
      explanation.problem = problem.withSignInHint(at: provider)
    }
    return explanation
  }
}
