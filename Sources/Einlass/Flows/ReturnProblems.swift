/// The problems of a browser's return from the provider's page.
extension Problem {
  /// The response names another issuer, or does not name the promised one (RFC 9207). Another
  /// server may have sent it. An error without its issuer ends the sign-in, because a sender that
  /// knows the state could end it in any case. `issuer`: as the response names it, cleaned.
  static func foreignResponse(
    _ provider: Provider, issuer: String?, insteadOf expected: String?
  ) -> Problem {
    let why =
      issuer.map { "names the issuer \($0) instead of \(expected ?? provider.name)" }
      ?? "does not name its issuer, although \(provider.name) promises that for each answer (RFC 9207)"
    return Problem(
      .verificationFailed, "The answer to the sign-in \(why). It was not used.",
      provider: provider.id)
  }

  /// The response is for this sign-in, but cannot be used. `flaw`: a predicate.
  static func unusableResponse(_ provider: Provider, _ flaw: String) -> Problem {
    Problem(
      .providerFailure, "\(provider.name)'s answer to the sign-in \(flaw).", provider: provider.id)
  }

  /// The provider posts the response to an address at which einlass does not listen.
  static func postedElsewhere(_ provider: Provider) -> Problem {
    Problem(
      .flowNotSupported,
      "\(provider.name) posts its answer, and the redirect address is none of this machine",
      provider: provider.id)
  }

  /// The `detail` of a redirect address whose port a sign-in of another process has.
  public static let portQueue = "portQueue"

  /// The provider does not accept the PIN, after the last attempt too.
  static func wrongPIN(_ provider: Provider, _ said: Problem.ServerError?) -> Problem {
    Problem(
      .providerFailure,
      """
      \(provider.name) does not accept the entered PIN.
      """, advice: .enterShownPIN, provider: provider.id, serverError: said)
  }

  /// The entered text is not an address that the browser can have ended on, or not the code and the
  /// state that the page shows.
  static func notTheText(_ place: ReturnPlace, _ provider: Provider) -> Problem {
    guard !place.showsCode else {
      return Problem(
        .stateMismatch, "The entered text is not the whole code of the page, with # inside.",
        advice: .enterShownPIN, provider: provider.id)
    }
    return Problem(
      .stateMismatch,
      """
      The entered text is not the final address of the browser.
      """, advice: .pasteAddress, provider: provider.id)
  }

  /// The authorization response belongs to no sign-in of this process.
  static func stateMismatch(_ provider: Provider) -> Problem {
    Problem(
      .stateMismatch,
      "The response from \(provider.name) belongs to another sign-in.",
      provider: provider.id)
  }
}
