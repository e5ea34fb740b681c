internal import EinlassJSON

/// The problems of sign-ins and renewals with an assertion.
extension Problem {
  /// The `detail` for an account whose assertion has lost its source.
  static let assertionSource = "assertionSource"

  /// The request names no source of an assertion.
  static func noAssertionSource(_ provider: Provider) -> Problem {
    Problem(
      .authenticatorUnconfigured,
      """
      This sign-in at \(provider.name) needs an assertion.
      """, advice: .nameAssertion, detail: "assertionFile", provider: provider.id)
  }

  /// The account with the id_token is missing or has no valid credential. The problem is about the
  /// account that came from it, and its hint about the source.
  ///
  /// - Parameters:
  ///   - name: The name of the source's provider.
  ///   - owner: The account; `nil` if it is missing.
  static func assertionSourceGone(
    _ name: String, _ subject: String, _ owner: Account?, at provider: String
  ) -> Problem {
    let title = cleaned(owner?.username ?? subject, limitBytes: 64)
    var parameters = ["provider": provider]
    parameters["account"] = owner?.id.rawValue
    return Problem(
      .reloginNeeded,
      """
      The credential comes from the \(name) account \(title), which \
      \(owner == nil ? "is missing here" : "needs a new sign-in").
      """, detail: assertionSource, hint: .init("accounts.signIn", parameters))
  }

  /// The account has no id_token.
  ///
  /// - Parameter scopes: The granted scopes, which the new sign-in keeps.
  static func noIDToken(_ provider: Provider, _ account: Account, scopes: [String]) -> Problem {
    var problem = Problem(
      .reloginNeeded,
      """
      The \(provider.name) account has no id_token, which the assertion needs.
      """, detail: assertionSource, provider: provider.id, account: account.id,
      hint: .init("accounts.signIn", ["provider": provider.id, "account": account.id.rawValue]))
    let isThere = scopes.contains { sameBytes($0, "openid") }
    problem.hint?.lists["scopes"] = isThere ? scopes : ["openid"] + scopes
    return problem
  }

  /// The provider has not identified the account's owner, so the account cannot be found again for
  /// a refresh.
  static func noSubject(_ provider: Provider, _ account: Account) -> Problem {
    Problem(
      .flowNotSupported,
      "\(provider.name) has not identified this account, so no assertion can come from it.",
      provider: provider.id, account: account.id)
  }

  /// The account's own credential comes from the account that asks for it.
  static func assertionCycle(_ provider: Provider, _ account: Account) -> Problem {
    Problem(
      .reloginNeeded,
      """
      The credential of the \(provider.name) account comes from an account that needs this one.
      """, advice: .useOtherFlow, detail: assertionSource, provider: provider.id,
      account: account.id,
      hint: .init("accounts.signIn", ["provider": provider.id, "account": account.id.rawValue]))
  }

  /// The issuer makes no assertions for other servers, and its id_tokens are for itself.
  static func noAssertion(_ issuer: Provider, for target: Provider) -> Problem {
    Problem(
      .flowNotSupported,
      """
      \(issuer.name) does not offer assertions for other servers, and its id_token is not for \
      \(target.name).
      """, advice: .useOtherFlow, detail: Assertion.Fault.audience.check, provider: target.id)
  }

  /// An assertion is not sent. `issuer`: its issuer; `nil` for a file.
  static func assertionRejected(
    _ fault: Assertion.Fault, from issuer: Provider?, for target: Provider
  ) -> Problem {
    let place = issuer.map { "of \($0.name)" } ?? "in the registration's assertionFile"
    return Problem(
      .verificationFailed,
      "The assertion \(place) was not sent to \(target.name), because \(fault.sentence).",
      advice: issuer == nil ? .replaceAssertion : fault == .expired ? .checkClock : .useOtherFlow,
      detail: fault.check, provider: target.id)
  }

  /// An account has the subject or the user name of the assertion, but it did not come from that
  /// source. Subjects of two issuers may be equal by chance.
  static func assertedAccountExists(_ provider: Provider, _ account: Account.ID) -> Problem {
    Problem(
      .accountExists,
      """
      Another \(provider.name) account has the name of the assertion's subject, and \(provider.name) \
      does not say whether they are the same.
      """, provider: provider.id, account: account,
      hint: .init("accounts.signIn", ["provider": provider.id, "account": account.rawValue]))
  }

  /// The new credential would take the place of the one that it comes from.
  static func replacesSource(_ provider: Provider, _ account: Account.ID) -> Problem {
    Problem(
      .invalidChoice,
      """
      The token would replace the \(provider.name) credential that it comes from.
      """, advice: .signInForResource, provider: provider.id, account: account)
  }
}
