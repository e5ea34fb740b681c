/// Returns the token that a sign-in has stored for the application, or asks for its renewal.
/// Without the person there is no other way to get one.
func storedToken(_ flow: StoredCredentialFlow) throws(FlowFailure) -> StoredCredentialFlow.SignedIn
{
  if let renewed = flow.renewed {
    return StoredCredentialFlow.SignedIn(credential: renewed, isNew: false)
  }
  guard let own = flow.own else { throw FlowFailure(flow.nothingStored) }
  let credential = try flow.sendable(own).credential
  let usual = flow.canRenewNow ? flow.provider.marginSeconds(of: own) : 0
  guard flow.secondsLeft > flow.minValiditySeconds ?? usual else { throw flow.wantsRenewal }
  return StoredCredentialFlow.SignedIn(credential: credential, isNew: false)
}

extension StoredCredentialFlow {
  /// Whether the stored token can be renewed and was not yet renewed in this request.
  fileprivate var canRenewNow: Bool {
    canRenew && (account.health != .reloginNeeded || own?.isReplacedSilently == true)
      && remaining.contains(.renew)
  }

  /// The failure for a stored token that expires too soon.
  var wantsRenewal: FlowFailure {
    FlowFailure(.reloginNeeded(provider, account), remedy: canRenewNow ? .renew : nil)
  }

  /// Whether the stored token lasts as long as the request demands, if it does.
  var isGoodForLongEnough: Bool { minValiditySeconds.map { secondsLeft > $0 } ?? true }

  /// The remaining lifetime of the application's stored token in seconds; 0 if a resource has
  /// refused it.
  var secondsLeft: Int64 {
    guard let own, !own.isRefused else { return 0 }
    guard case .oauth2(let token) = own.credential, let expiresAt = token.expiresAt else {
      return .max
    }
    return expiresAt - effects.now()
  }
}

extension Provider {
  /// Returns the remaining lifetime, in seconds, below which a token is renewed before use: the
  /// descriptor's margin, 0 if nothing renews the token, and 60 in flows without a token endpoint.
  func marginSeconds(of stored: StoredCredential) -> Int64 {
    guard flow(of: stored)?.tokens != nil else { return 60 }
    return refresh(of: stored)?.marginSeconds ?? 0
  }

  /// Returns the token endpoint's way to refresh a stored token; `nil` if it cannot be refreshed.
  func refresh(of stored: StoredCredential) -> TokenEndpoint.Refresh? {
    guard let flow = flow(of: stored), case .oauth2(let token) = stored.credential,
      let refresh = flow.tokens?.refresh,
      refresh.usesAccessToken || token.refreshToken != nil || flow.kind == .clientCredentials
        || stored.assertionSource != nil
    else { return nil }
    return refresh
  }

  private func flow(of stored: StoredCredential) -> FlowDescriptor? {
    flows.first { $0.kind == stored.binding.flowKind }
  }
}
