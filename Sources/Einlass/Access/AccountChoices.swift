/// The accounts of a provider needed to select one of them: at most 104, however many the store
/// holds.
struct AccountChoices: Equatable {
  /// The account that the request names, of any provider.
  @Indirect var named: Account?
  /// Whether the store has an account of the provider, with access or without.
  var hasAccounts = false
  /// The first account with access, in order of adding.
  @Indirect var first: Account?
  /// The account with access that the application prefers.
  @Indirect var preferred: Account?
  /// The accounts with access for a prompt, last used first. One more than `offeredLimit` if the
  /// store has more. Empty if the request names an account.
  var lastUsed: [Account] = []

  /// The maximum number of accounts in one prompt.
  static let offeredLimit = 100
}

extension StoreReader {
  /// Reads the accounts needed to select this request's account.
  ///
  /// - Parameter grant: the decision that limits the accounts; `nil` for all accounts.
  func choices(
    for request: PerformRequest, at provider: Provider, within grant: AccessGrant?
  ) throws(Problem) -> AccountChoices {
    let oldest = try firstAccount(of: provider.id)
    var choices = AccountChoices(hasAccounts: oldest != nil, first: oldest)
    if let id = request.account {
      choices.named = try account(id)
      return choices
    }
    let preferred = try preferredAccount(of: provider.id, by: request.application)
    guard let ids = grant?.accounts else {
      choices.preferred = preferred
      choices.lastUsed = try lastUsedAccounts(
        of: provider.id, limit: AccountChoices.offeredLimit + 1)
      return choices
    }
    var open: [Account] = []
    for id in ids { if let account = try account(id) { open.append(account) } }
    choices.first = open.min { $0.position < $1.position }
    choices.preferred = preferred.flatMap { ids.contains($0.id) ? $0 : nil }
    choices.lastUsed = open.sorted { ($0.lastUsedAt ?? .min) > ($1.lastUsedAt ?? .min) }
    return choices
  }

  /// Reads the person's decision about an application and a provider; `nil` if there is none.
  func grant(to application: String, for provider: Provider) throws(Problem) -> AccessGrant? {
    try grant(AccessGrant.Place(provider: provider.id, application: application))
  }
}
