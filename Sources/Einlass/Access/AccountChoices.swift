/// The accounts of a provider needed to select one of them: at most 104, however many the store
/// holds.
struct AccountChoices: Equatable {
  /// The account that the request names, of any provider.
  var named: Account?
  /// The provider's first account, in order of adding.
  var first: Account?
  /// The account that the application prefers.
  var preferred: Account?
  /// The accounts for a prompt, last used first. One more than `offeredLimit` if the store has
  /// more. Empty if the request names an account.
  var lastUsed: [Account] = []

  /// The maximum number of accounts in one prompt.
  static let offeredLimit = 100
}

extension StoreReader {
  /// Reads the accounts needed to select this request's account.
  func choices(
    for request: PerformRequest, at provider: Provider
  ) throws(Problem) -> AccountChoices {
    var choices = AccountChoices(first: try firstAccount(of: provider.id))
    if let id = request.account {
      choices.named = try account(id)
    } else {
      choices.preferred = try preferredAccount(of: provider.id, by: request.application)
      choices.lastUsed = try lastUsedAccounts(
        of: provider.id, limit: AccountChoices.offeredLimit + 1)
    }
    return choices
  }

  /// Reads the person's decision about an application and a provider; `nil` if there is none.
  func grant(to application: String, for provider: Provider) throws(Problem) -> AccessGrant? {
    try grant(AccessGrant.Place(provider: provider.id, application: application))
  }
}
