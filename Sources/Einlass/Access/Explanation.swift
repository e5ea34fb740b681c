/// What a request would do, without doing it: `accounts.explain` of the protocol.
public struct Explanation: Sendable, Equatable {
  /// What decides about the account.
  public enum Rule: String, Sendable, CaseIterable {
    /// The request names it, which wins over all others.
    case account
    /// The request confirms a provider's only account.
    case confirm
    /// There is no other.
    case onlyAccount
    /// The application prefers it.
    case preferred
    /// The person, who is asked.
    case person
    /// Nothing: the request fails.
    case nothing
  }

  public var rule: Rule
  /// The account that would be used; `nil` unless a rule knows without asking.
  public var account: Account?
  /// What the person would be asked, in order.
  public var prompts: [Prompt]
  /// Why the request would fail.
  public var problem: Problem?
}

extension StoreReader {
  /// Which account this request would use, and why.
  func explanation(
    of request: PerformRequest, at provider: Provider
  ) throws(Problem) -> Explanation {
    let choices = try choices(for: request, at: provider)
    let access = AccessRules.access(
      request, at: provider, grant: try grant(to: request.application, for: provider),
      hasAccounts: choices.first != nil)
    var explanation = Explanation(rule: .nothing, prompts: [])
    switch access {
    case .granted: break
    case .ask(let prompt): explanation.prompts.append(prompt)
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
        // Of those that the question does not show, one may be signed in.
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
  /// What comes of it whichever of them is chosen: nobody gets a credential of an account that is signed out.
  fileprivate func problem(naming account: Account?, at provider: Provider) -> Problem? {
    guard let account, !contains(where: \.isSignedIn) else { return nil }
    return .reloginNeeded(provider, account)
  }
}
