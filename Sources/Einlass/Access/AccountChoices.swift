/// The accounts of a provider that the choice of a request's account depends on: at most 104, however many there are.
struct AccountChoices: Equatable {
  /// The account that the request names, whichever provider's it is.
  var named: Account?
  /// The provider's first account, in order of adding.
  var first: Account?
  /// The one that the application prefers.
  var preferred: Account?
  /// Those that a question may offer, last used first, and one more where there are more. Empty where an account is
  /// named.
  var lastUsed: [Account] = []

  /// The most accounts that one question offers.
  static let offeredLimit = 100
}

extension StoreReader {
  /// The accounts that the choice of this request's account depends on.
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

  /// The person's decision about an application and a provider; `nil` when there was none.
  func grant(to application: String, for provider: Provider) throws(Problem) -> AccessGrant? {
    try grant(AccessGrant.Place(provider: provider.id, application: application))
  }
}
