internal import EinlassCrypto

/// Some providers demand that their tokens are checked regularly: `everySeconds` of `verify`. The
/// times are kept until the process ends, because a time in the store would cost a durable write.
extension StoredCredentialFlow {
  /// The pause after a check without a result, in seconds.
  private static let pauseSeconds: Int64 = 60

  /// Asks the provider about a token that is due for a check, and stores a refusal. Returns whether
  /// the token was refused. A provider that cannot tell costs no token.
  func checksToken(in store: AccountStore) async throws(Problem) -> Bool {
    guard let own, case .oauth2(let token) = own.credential,
      provider.isCheckDue(own, effects), let (request, seconds) = provider.regularCheck
    else { return false }
    var checkedAt = effects.now()
    defer { effects.memory.tokenChecks.write(token.checkName, checkedAt) }
    do throws(FlowFailure) {
      let values = Template.Values(texts: [
        .clientID: registration.clientID, .token: revealedText(token.accessToken),
      ])
      var check = request.filled(values).request
      check.timeout = .seconds(5)
      _ = try await exchange(hiding: [token.accessToken]).send(check, at: .tokenInfo)
      return false
    } catch {
      checkedAt -= seconds - Self.pauseSeconds
      guard error.problem.reason != .cancelled else { throw error.problem }
      // A gateway on the way may answer with 403.
      guard error.refusesCredential, error.problem.serverError?.status != 403 else { return false }
      _ = try store.settle(
        account.id, AccountStore.Settlement(basis: [own], isRefusal: true))
      return true
    }
  }
}

extension Provider {
  /// The request about a token, and the age in seconds from which a check is due.
  fileprivate var regularCheck: (RequestTemplate, seconds: Int64)? {
    guard case .tokenInfo(let info)? = verification else { return nil }
    return info.everySeconds.map { (info.request, $0) }
  }

  /// Whether a stored session or token is to be checked before it is handed out.
  func isCheckDue(_ stored: StoredCredential, _ effects: Effects) -> Bool {
    guard case .oauth2(let token) = stored.credential else {
      return checks(stored, at: effects.now())
    }
    guard !stored.isRefused, let (_, seconds) = regularCheck else { return false }
    guard let last = effects.memory.tokenChecks.read(token.checkName) else { return true }
    let now = effects.now()
    return now < last || now - last >= seconds
  }
}

extension OAuth2Credential {
  /// The token's name in the memory of checks.
  fileprivate var checkName: String {
    Base64URL.encode(Digest.sha256(revealedBytes(accessToken)))
  }
}
