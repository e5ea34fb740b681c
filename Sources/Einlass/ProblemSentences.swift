internal import EinlassJSON

/// The problems that the engine reports, each with its message and hint.
extension Problem {
  /// The store has no account of the provider.
  static func noSystemAccount(_ provider: Provider) -> Problem {
    Problem(
      .noSystemAccount,
      "There is no \(provider.name) account here.",
      provider: provider.id, hint: .init("accounts.add", ["provider": provider.id]))
  }

  /// The person has denied access, now or before.
  static func accessNotGranted(_ provider: Provider) -> Problem {
    Problem(
      .accessNotGranted,
      "Access to \(provider.name) accounts is not granted to this application.",
      provider: provider.id, hint: .init("access.reset", ["provider": provider.id]))
  }

  /// The application has no grant for the account, and this request does not ask the person.
  ///
  /// - Parameter account: `nil` for an account that is not known yet.
  static func accessMissing(
    _ provider: Provider, for application: String, to account: Account.ID?,
    within grant: AccessGrant?
  ) -> Problem {
    var needed = AccessGrant(
      application: application, provider: provider.id, state: .granted, changedAt: 0)
    var accounts = "\(provider.name) accounts"
    if let account, let grant, grant.state == .granted, let open = grant.accounts {
      (needed, accounts) = (grant, "this \(provider.name) account")
      needed.accounts = open.count < AccessGrant.accountsLimit ? open + [account] : nil
    }
    return Problem(
      .accessNotGranted,
      "The application \(application) has no access to \(accounts), and this request cannot ask for it.",
      provider: provider.id, account: account, hint: .granting(needed))
  }

  /// The person dismissed the access prompt. No decision was stored, so none has to be reset.
  static func accessLeftOpen(_ provider: Provider) -> Problem {
    Problem(
      .accessNotGranted,
      "The question about access to \(provider.name) accounts was dismissed.",
      provider: provider.id)
  }

  /// The person did not choose or confirm an account.
  static func userCanceledAccountSelection(_ provider: Provider) -> Problem {
    Problem(
      .userCanceledAccountSelection,
      "No \(provider.name) account was chosen.",
      provider: provider.id)
  }

  /// The account has no credential that works.
  static func reloginNeeded(_ provider: Provider, _ account: Account) -> Problem {
    Problem(
      .reloginNeeded,
      "The \(provider.name) account must be signed in to again.",
      provider: provider.id, account: account.id, hint: .relogin(provider))
  }

  /// The id_token has ended, and a refresh brings no new one.
  static func idTokenEnded(_ provider: Provider, _ account: Account) -> Problem {
    Problem(
      .reloginNeeded,
      "The id_token of the \(provider.name) account has ended, and its refresh brings no new one.",
      provider: provider.id, account: account.id, hint: .relogin(provider))
  }

  /// The account has no credentials left, or none was ever issued to the registration.
  static func nothingStored(
    for registration: ClientRegistration, _ resource: String?,
    among credentials: [StoredCredential], _ provider: Provider, _ account: Account
  ) -> Problem {
    let isIssuedToOthers = !credentials.contains {
      sameBytes($0.registration.clientID, registration.clientID)
    }
    guard isIssuedToOthers, !credentials.isEmpty else {
      guard resource == nil, let other = credentials.lazy.compactMap(\.resource).first else {
        return .reloginNeeded(provider, account)
      }
      return Problem(
        .reloginNeeded,
        "The tokens of the \(provider.name) account are for protected resources, such as \(presentable(other)).",
        detail: namelessResource, provider: provider.id, account: account.id,
        hint: .init("credentials.get", ["account": account.id.rawValue, "resource": other]))
    }
    let hint: Hint =
      if provider.issues(from: credentials) {
        .init("auth.perform", ["provider": provider.id, "account": account.id.rawValue])
      } else if provider.signInKind(asking: Set(Prompt.Kind.allCases)) == nil {
        .relogin(provider)
      } else if let resource {
        .init("accounts.signIn", ["resource": resource, "account": account.id.rawValue])
      } else {
        .init("accounts.signIn", ["provider": provider.id, "account": account.id.rawValue])
      }
    return Problem(
      .notIssuedToThisClient,
      """
      No credential of the \(provider.name) account was issued to this application yet. The \
      credentials of other applications are kept.
      """, provider: provider.id, account: account.id, hint: hint)
  }

  /// The `detail` for a request without a resource about an account with tokens for resources alone.
  static let namelessResource = "resource"

  /// Whether the problem has a better next step than a sign-in to its account.
  var namesItsNextStep: Bool { [Self.assertionSource, Self.namelessResource].contains(detail) }

  /// The `detail` for a valid credential without a way to renew it.
  static let notRenewable = "notRenewable"

  /// The account is in order, but only a new sign-in brings another credential.
  static func notRenewable(_ provider: Provider, _ account: Account) -> Problem {
    var problem = reloginNeeded(provider, account)
    problem.detail = notRenewable
    problem.message = """
      This \(provider.name) credential cannot be renewed. It is still valid.
      """
    return problem
  }

  /// `missing`: the missing parts of the registration, sent as `detail` by their names in the
  /// protocol.
  static func authenticatorUnconfigured(
    _ provider: Provider, missing: [Provider.RegistrationPart]
  ) -> Problem {
    let names = missing.map(\.rawValue).joined(separator: ", ")
    return Problem(
      .authenticatorUnconfigured,
      """
      The registration at \(provider.name) lacks \(names).
      """, detail: names, provider: provider.id,
      hint: .init("providers.configure", ["provider": provider.id]),
      page: provider.setup.documentation)
  }

  /// `what`: a flow's kind or another ability, as a noun.
  static func flowNotSupported(_ provider: Provider, _ what: String) -> Problem {
    Problem(
      .flowNotSupported,
      "\(provider.name) does not offer \(what).",
      provider: provider.id, hint: .init("providers.list"))
  }

  /// Nothing names the application of a token, so it cannot be verified. `identity`: its person.
  static func applicationUnknown(_ provider: Provider, _ identity: Identity?) -> Problem {
    let place = provider.keySource == nil ? "" : " without its id_token"
    var problem = Problem(
      .flowNotSupported,
      "\(provider.name) does not say which application a token was issued to\(place).",
      detail: applicationUnknownDetail, provider: provider.id,
      hint: .init("accounts.signIn", ["provider": provider.id]))
    problem.identity = identity
    return problem
  }

  /// The `detail` of a token whose application nothing names.
  static let applicationUnknownDetail = "applicationUnknown"

  /// `prompts`: the prompts about access and the account that the front end cannot show.
  static func interactionRequired(_ provider: Provider, _ prompts: [Prompt]) -> Problem {
    let kinds = prompts.map(\.kind.rawValue).joined(separator: ", ")
    return Problem(
      .interactionRequired,
      "The person must answer prompts that cannot be shown for this request: \(kinds).",
      provider: provider.id, hint: .init("accounts.list", ["provider": provider.id]),
      neededPrompts: prompts)
  }

  /// No account has this id.
  public static func unknownAccount(_ account: Account.ID, _ provider: String? = nil) -> Problem {
    Problem(
      .unknownAccount, "There is no account with this id.",
      provider: provider, account: account, hint: .init("accounts.list"))
  }

  /// The account is missing in the answer, or is not one of the provider's.
  static func invalidChoice(_ provider: Provider, _ account: Account.ID?) -> Problem {
    Problem(
      .invalidChoice,
      "The account was not among those offered.",
      provider: provider.id, account: account,
      hint: .init("accounts.list", ["provider": provider.id]))
  }

  /// The credential belongs to another registration or another server.
  static func bindingMismatch(_ provider: Provider, _ account: Account) -> Problem {
    Problem(
      .bindingMismatch,
      """
      The stored credential belongs to another registration or server.
      """, advice: .useOtherConfiguration, provider: provider.id, account: account.id,
      hint: .relogin(provider))
  }

  /// The provider has replaced a token, and the new one could not be stored. `why`: the error of
  /// the store.
  static func tokenNotSaved(_ why: Problem) -> Problem {
    Problem(
      .tokenNotSaved,
      "The provider's new token could not be stored, so it is lost: \(why.message)",
      advice: why.advice, command: why.command, detail: why.detail, account: why.account,
      path: why.path)
  }

  /// The person dismissed a prompt of a sign-in.
  static func userCanceled(_ provider: Provider) -> Problem {
    Problem(
      .userCanceled, "The sign-in at \(provider.name) was cancelled.",
      provider: provider.id)
  }

  /// The person or the provider denied the sign-in. `said`: the provider's own message.
  static func accessDenied(_ provider: Provider, _ said: Problem.ServerError?) -> Problem {
    Problem(
      .accessDenied,
      "The sign-in at \(provider.name) was denied.",
      provider: provider.id, serverError: said)
  }

  /// A refusal without the issuer's name, although the provider promises it in every response (RFC
  /// 9207). The refusal may come from another server.
  static func anonymousRefusal(_ provider: Provider, _ said: Problem.ServerError) -> Problem {
    Problem(
      .verificationFailed,
      """
      The refusal of the sign-in does not name its issuer, although \(provider.name) promises that \
      for each answer (RFC 9207).
      """, advice: .signInOrReport, provider: provider.id, serverError: said)
  }

  /// The provider has refused a renewal twice with an empty response. The refresh token may still
  /// be valid, because only `invalid_grant` says that it is not.
  static func refusedWithoutAWord(
    _ provider: Provider, _ account: Account, _ said: Problem.ServerError?
  ) -> Problem {
    var problem = renewalRefused(provider, account, said)
    problem.isRetryable = true
    return problem
  }

  /// The `detail` for a refresh that the provider has refused without the word that the refresh
  /// token is dead.
  static let refreshRefused = "refreshRefused"

  /// The provider has refused a renewal for good, but not with the word that the refresh token is
  /// dead. So the refresh token is kept, and the next request tries it again.
  static func renewalRefused(
    _ provider: Provider, _ account: Account, _ said: Problem.ServerError?
  ) -> Problem {
    var problem = reloginNeeded(provider, account)
    problem.detail = refreshRefused
    problem.serverError = said
    return problem
  }

  /// The sign-in shows no page, but the request has a parameter for one. `path`: its JSON Pointer.
  static func pageParameter(_ path: String, _ provider: Provider) -> Problem {
    var problem = invalidParameter(
      path,
      "The parameter \(path) has no effect, because the application signs in to \(provider.name) without a page."
    )
    problem.provider = provider.id
    return problem
  }

  /// Another account signed in than the one that the request names.
  static func wrongAccount(_ provider: Provider, _ account: Account.ID) -> Problem {
    Problem(
      .invalidChoice,
      """
      The person signed in to another \(provider.name) account than the requested one.
      """, advice: .signOutThere, provider: provider.id, account: account,
      hint: .init("accounts.signIn", ["provider": provider.id, "account": account.rawValue]))
  }

  /// The provider has room for one account, and does not say whether the signed-in person owns the
  /// stored one.
  static func roomForOne(_ provider: Provider, _ collision: Problem) -> Problem {
    var problem = collision
    problem.message = """
      Only one \(provider.name) account can be stored, and \(provider.name) does not identify the \
      signed-in person.
      """
    problem.hint = .init(
      "accounts.signIn", ["provider": provider.id, "account": collision.account?.rawValue ?? ""])
    return problem
  }

  /// `clientCredentials` was requested for a person's account.
  static func personsAccount(_ provider: Provider, _ account: Account.ID) -> Problem {
    Problem(
      .invalidChoice,
      """
      The \(provider.name) account is a person's, and clientCredentials is the application's own sign-in.
      """, advice: .signInWithoutAccount, provider: provider.id, account: account)
  }

  /// No flow of the provider can be used. `skipped`: the reasons; `missing`: the kinds of prompt
  /// that would help.
  static func noWayIn(
    _ provider: Provider, _ kind: FlowKind?, _ skipped: [String], missing: [Prompt.Kind]
  ) -> Problem {
    guard !skipped.isEmpty else {
      return .flowNotSupported(provider, kind.map { "sign-in by \($0.rawValue)" } ?? "sign-in")
    }
    var problem = Problem(
      missing.isEmpty ? .flowNotSupported : .interactionRequired,
      "No flow of \(provider.name) can be used here: \(skipped.joined(separator: "; ")).",
      provider: provider.id)
    problem.neededKinds = missing
    return problem
  }

  /// The provider's credential is larger than 48 KiB.
  static func credentialTooLarge(_ provider: Provider) -> Problem {
    Problem(
      .providerFailure,
      "\(provider.name)'s credential is larger than 48 KiB. Nothing was stored.", advice: .report,
      provider: provider.id)
  }

  /// The custom parameter has a name that einlass sets itself.
  static func reservedParameter(_ name: String) -> Problem {
    Problem(
      .reservedParameter,
      "The parameter \(name.lowercased()) belongs to the sign-in itself.",
      path: "/customParameters/\(name.lowercased())")
  }

  /// `path`: a JSON pointer into the parameters.
  static func invalidParameter(
    _ path: String, _ sentence: String, advice: Advice? = nil
  ) -> Problem {
    Problem(.invalidParameter, sentence, advice: advice, path: path)
  }
}

extension Problem {
  /// Whether a new sign-in by the person solves the problem.
  func isMended(bySigningInAt provider: Provider, asking kinds: Set<Prompt.Kind>) -> Bool {
    [.noSystemAccount, .reloginNeeded, .notIssuedToThisClient].contains(reason)
      && detail != Self.assertionSource && provider.signInKind(asking: kinds) != nil
  }

  /// Returns the problem with a sign-in as its hint.
  func withSignInHint(at provider: Provider) -> Problem {
    // `notIssuedToThisClient` already has a fitting hint.
    guard reason != .notIssuedToThisClient else { return self }
    var problem = self
    var parameters = ["provider": provider.id]
    parameters["account"] = account?.rawValue
    problem.hint = Hint("accounts.signIn", parameters)
    problem.message =
      reason == .noSystemAccount
      ? "There is no \(provider.name) account here."
      : "The \(provider.name) account must be signed in to again."
    return problem
  }
}

extension Problem.Hint {
  /// Returns the hint to make this decision in advance.
  static func granting(_ grant: AccessGrant) -> Problem.Hint {
    var hint = Problem.Hint(
      "access.set",
      ["application": grant.application, "provider": grant.provider, "state": "granted"])
    hint.parameters["audience"] = grant.audience?.rawValue
    hint.lists = ["permissions": grant.permissions, "includes": grant.includes.map(\.rawValue)]
    hint.lists["accounts"] = grant.accounts?.map(\.rawValue)
    return hint
  }

  /// Returns the hint to add the account again with a new credential.
  static func relogin(_ provider: Provider) -> Problem.Hint {
    Problem.Hint("accounts.add", ["provider": provider.id], replaces: true)
  }
}
