internal import EinlassJSON

/// The rules of access and account selection, without side effects.
enum AccessRules {
  /// The outcome of the access check.
  enum Access: Equatable {
    case granted
    case ask(Prompt)
    case problem(Problem)
  }

  /// The outcome of the account selection.
  enum Choice: Equatable {
    case use(Account, by: Explanation.Rule)
    case ask(Prompt)
    case problem(Problem)
  }

  /// Checks access. A denial is reported first, then an unsuitable named account, then a provider
  /// without accounts; only then is the person asked.
  ///
  /// - Parameters:
  ///   - grant: the person's last decision; `nil` if there is none.
  ///   - choices: the accounts within that decision.
  static func access(
    _ request: PerformRequest, at provider: Provider, grant: AccessGrant?,
    among choices: AccountChoices
  ) -> Access {
    if grant?.state == .denied { return .problem(.accessNotGranted(provider)) }
    if case .failure(let problem)? = named(by: request, at: provider, among: choices) {
      return .problem(problem)
    }
    guard choices.hasAccounts else { return .problem(.noSystemAccount(provider)) }
    let permissions = provider.permissions(asked: request.permissions)
    let audience = request.audience ?? provider.defaultAudience
    let includes = request.includes
    guard let grant, isOpen(request, within: grant, among: choices) else {
      return .ask(
        .grantAccess(
          permissions: permissions, audience: audience, added: permissions, includes: includes))
    }
    // A grant without permissions means the provider's defaults, as in a request.
    let granted = provider.permissions(asked: grant.permissions)
    let added = permissions.filter { permission in
      !granted.contains { sameBytes($0, permission) }
    }
    let isWider =
      (audience?.width ?? 0) > ((grant.audience ?? provider.defaultAudience)?.width ?? 0)
    let includesMore = !includes.allSatisfy(grant.includes.contains)
    guard !added.isEmpty || isWider || includesMore else { return .granted }
    return .ask(
      .grantAccess(permissions: permissions, audience: audience, added: added, includes: includes))
  }

  /// Whether the decision opens the account of the request, or some account if it names none.
  private static func isOpen(
    _ request: PerformRequest, within grant: AccessGrant?, among choices: AccountChoices
  ) -> Bool {
    request.account.map { grant?.allows($0) ?? false } ?? (choices.first != nil)
  }

  /// Selects the account. A provider with room for one account asks for its confirmation, any other
  /// asks for a choice.
  ///
  /// The request's `account` answers both questions and takes precedence over all other parameters.
  /// `confirmsOnlyAccount` answers only the confirmation. With `whenMany` an only account and the
  /// application's preferred account are used without a question.
  static func choice(
    _ request: PerformRequest, at provider: Provider, among choices: AccountChoices
  ) -> Choice {
    switch named(by: request, at: provider, among: choices) {
    case .success(let account)?: return .use(account, by: .account)
    case .failure(let problem)?: return .problem(problem)
    case nil: break
    }
    guard let first = choices.first else { return .problem(.noSystemAccount(provider)) }
    let isOnlyOne = choices.lastUsed.count == 1 || provider.hasOneAccount
    let isConfirmed = provider.hasOneAccount && request.confirmsOnlyAccount
    if isConfirmed { return .use(first, by: .confirm) }
    if request.selection == .whenMany {
      if isOnlyOne { return .use(first, by: .onlyAccount) }
      if let preferred = choices.preferred { return .use(preferred, by: .preferred) }
    }
    return .ask(provider.hasOneAccount ? .confirmAccount(first) : selection(of: choices))
  }

  /// Returns the account that the request names; `nil` if it names none.
  private static func named(
    by request: PerformRequest, at provider: Provider, among choices: AccountChoices
  ) -> Result<Account, Problem>? {
    guard let id = request.account else { return nil }
    guard let account = choices.named else { return .failure(.unknownAccount(id, provider.id)) }
    return sameBytes(account.provider, provider.id)
      ? .success(account) : .failure(.invalidChoice(provider, id))
  }

  /// Returns the decision to store. More rights for accounts with access are added to the former
  /// ones, and leave the other accounts closed. A decision that opens further accounts is for all
  /// of them, and has only the rights that the prompt shows.
  ///
  /// - Parameter choices: the accounts within the former decision.
  static func grant(
    _ state: AccessGrant.State, to request: PerformRequest, at provider: Provider,
    before: AccessGrant?, among choices: AccountChoices, now: UnixTime
  ) -> AccessGrant {
    let before = isOpen(request, within: before, among: choices) ? before : nil
    var permissions = before.map { provider.permissions(asked: $0.permissions) } ?? []
    for permission in provider.permissions(asked: request.permissions)
    where !permissions.contains(where: { sameBytes($0, permission) }) {
      permissions.append(permission)
    }
    let audiences = [request.audience ?? provider.defaultAudience, before?.audience]
    return AccessGrant(
      application: request.application, provider: provider.id, state: state,
      accounts: before?.accounts, permissions: permissions,
      audience: audiences.compactMap(\.self).max { $0.width < $1.width },
      includes: AccessGrant.Inclusion.allCases.filter {
        request.includes.contains($0) || before?.includes.contains($0) ?? false
      }, title: request.applicationTitle, changedAt: now)
  }

  /// Returns the decision to store because the person has signed in to the account for the
  /// application; `nil` if the present one stays. It is for this account alone. Accounts share the
  /// rights of a grant, so an account joins a grant only if its rights are those of the request.
  ///
  /// - Parameter account: `nil` for an account that is not known yet.
  static func grant(
    bySigningInTo account: Account.ID?, _ request: SignInRequest, at provider: Provider,
    before: AccessGrant?, now: UnixTime
  ) -> AccessGrant? {
    let account = account ?? Account.ID(rawValue: "")
    var grant = AccessGrant(
      application: request.application, provider: provider.id, state: .granted,
      accounts: [account], permissions: provider.permissions(asked: request.permissions),
      audience: request.audience ?? provider.defaultAudience, title: request.applicationTitle,
      changedAt: now)
    guard let before else { return grant }
    guard before.state == .granted, let accounts = before.accounts, !accounts.contains(account),
      accounts.count < AccessGrant.accountsLimit, before.includes.isEmpty,
      before.permissions.sorted() == grant.permissions.sorted(), before.audience == grant.audience
    else { return nil }
    grant.accounts = accounts + [account]
    return grant
  }

  /// Returns the prompt with the preferred account first, then those last used.
  private static func selection(of choices: AccountChoices) -> Prompt {
    var offered = choices.lastUsed
    if let preferred = choices.preferred {
      offered = [preferred] + offered.filter { $0.id != preferred.id }
    }
    return .selectAccount(
      Array(offered.prefix(AccountChoices.offeredLimit)),
      more: offered.count > AccountChoices.offeredLimit)
  }
}

extension PerformRequest {
  /// The further rights that the grant must include.
  fileprivate var includes: [AccessGrant.Inclusion] {
    includesRefreshToken ? [.refreshToken] : []
  }
}

extension AccessGrant.Audience {
  /// The order of audiences by size.
  fileprivate var width: Int {
    switch self {
    case .onlyMe: 0
    case .friends: 1
    case .everyone: 2
    }
  }
}
