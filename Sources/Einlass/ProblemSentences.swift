/// The problems that the engine itself finds, each with its sentence and what mends it. Protocol section 6.
extension Problem {
  /// The provider has no account in the store.
  static func noSystemAccount(_ provider: Provider) -> Problem {
    Problem(
      .noSystemAccount, "There is no \(provider.name) account here. Add one and try again.",
      provider: provider.id, hint: .init("accounts.add", ["provider": provider.id]))
  }

  /// The person has said no, now or before.
  static func accessNotGranted(_ provider: Provider) -> Problem {
    Problem(
      .accessNotGranted,
      "Access to \(provider.name) accounts is not granted to this application. Reset it to be asked again.",
      provider: provider.id, hint: .init("access.reset", ["provider": provider.id]))
  }

  /// The person did not choose or confirm an account.
  /// The person dismissed the question; nothing is remembered, so nothing has to be reset.
  static func accessLeftOpen(_ provider: Provider) -> Problem {
    Problem(
      .accessNotGranted,
      "Nobody decided about access to \(provider.name) accounts. Try again to be asked again.",
      provider: provider.id)
  }

  static func userCanceledAccountSelection(_ provider: Provider) -> Problem {
    Problem(
      .userCanceledAccountSelection,
      "No \(provider.name) account was chosen. Try again to choose one.",
      provider: provider.id)
  }

  /// The account has no credential that works.
  static func reloginNeeded(_ provider: Provider, _ account: Account) -> Problem {
    Problem(
      .reloginNeeded,
      "The \(provider.name) account must be signed in to again. Add it again with its new credential.",
      provider: provider.id, account: account.id, hint: .relogin(provider))
  }

  /// `missing`: the parts that are, by their names in the protocol, as `detail`.
  static func authenticatorUnconfigured(
    _ provider: Provider, missing: [Provider.RegistrationPart]
  ) -> Problem {
    let names = missing.map(\.rawValue).joined(separator: ", ")
    return Problem(
      .authenticatorUnconfigured,
      """
      This application's registration at \(provider.name) lacks \(names). \
      Name it under applications in initialize or in the configuration file.
      """, detail: names, provider: provider.id)
  }

  /// `what`: a flow's kind or another ability, as a noun.
  static func flowNotSupported(_ provider: Provider, _ what: String) -> Problem {
    Problem(
      .flowNotSupported,
      "\(provider.name) does not offer \(what). Choose what providers.list names.",
      provider: provider.id, hint: .init("providers.list"))
  }

  /// `prompts`: those that the front end cannot show.
  static func interactionRequired(_ provider: Provider, _ prompts: [Prompt]) -> Problem {
    let kinds = prompts.map(\.kind.rawValue).joined(separator: ", ")
    return Problem(
      .interactionRequired,
      "The person must be asked, which this front end does not: \(kinds). Give the answers in advance.",
      provider: provider.id, neededPrompts: prompts)
  }

  /// No account has this id.
  public static func unknownAccount(_ account: Account.ID, _ provider: String? = nil) -> Problem {
    Problem(
      .unknownAccount, "There is no such account. List the accounts and choose one.",
      provider: provider, account: account, hint: .init("accounts.list"))
  }

  /// An account that the question did not offer.
  static func invalidChoice(_ provider: Provider, _ account: Account.ID?) -> Problem {
    Problem(
      .invalidChoice, "The account was not among those offered. Choose one of \(provider.name)'s.",
      provider: provider.id, account: account,
      hint: .init("accounts.list", ["provider": provider.id]))
  }

  /// The credential belongs to another registration or another server.
  static func bindingMismatch(_ provider: Provider, _ account: Account) -> Problem {
    Problem(
      .bindingMismatch,
      """
      What is stored for the account belongs to another registration or another server. \
      Use that one, or add the account again.
      """, provider: provider.id, account: account.id, hint: .relogin(provider))
  }

  /// The provider has replaced a token and the new one could not be written; `why` it could not.
  static func tokenNotSaved(_ why: Problem) -> Problem {
    Problem(
      .tokenNotSaved,
      "The provider's new token could not be stored, so it is lost: \(why.message)",
      detail: why.detail, account: why.account, path: why.path)
  }

  /// `path`: a JSON pointer into the parameters.
  static func invalidParameter(_ path: String, _ sentence: String) -> Problem {
    Problem(.invalidParameter, sentence, path: path)
  }
}

extension Problem.Hint {
  /// How an account becomes usable again.
  static func relogin(_ provider: Provider) -> Problem.Hint {
    Problem.Hint("accounts.add", ["provider": provider.id], replaces: true)
  }
}
