/// The token that a sign-in has stored for the application, refreshed where it has to be; without the person there is
/// no other way to one.
func storedToken(_ flow: Flow) throws(Setback) -> Flow.SignedIn {
  if let renewed = flow.renewed {
    return Flow.SignedIn(credential: .oauth2(renewed), isNew: false)
  }
  guard let own = flow.own else { throw .failed(Failure(flow.nothingStored)) }
  let credential = try flow.sendable(own).credential
  let usual = flow.canRenewNow ? flow.provider.marginSeconds(of: own) : 0
  guard flow.secondsLeft > flow.minValiditySeconds ?? usual else { throw flow.wantsRenewal }
  return Flow.SignedIn(credential: credential, isNew: false)
}

extension Flow {
  /// Whether the stored token can be renewed, and was not yet.
  fileprivate var canRenewNow: Bool {
    canRenew && account.health != .reloginNeeded && remaining.contains(.renew)
  }

  /// Why a stored token that is not good for long enough does not serve.
  var wantsRenewal: Setback {
    canRenewNow
      ? .remedy(.renew, advice: nil) : .failed(Failure(.reloginNeeded(provider, account)))
  }

  /// Whether the stored token is good for as long as the request says, if it does.
  var isGoodForLongEnough: Bool { minValiditySeconds.map { secondsLeft > $0 } ?? true }

  /// How long the application's stored token is good for; nothing for one that a resource has refused.
  var secondsLeft: Int64 {
    guard let own, !own.isRefused else { return 0 }
    guard case .oauth2(let token) = own.credential, let expiresAt = token.expiresAt else {
      return .max
    }
    return expiresAt - effects.now()
  }
}

extension Provider {
  /// How long a token must be good for to be used without asking the provider: a minute, else what the descriptor says,
  /// but no more than is left of one that nothing renews.
  func marginSeconds(of stored: StoredCredential) -> Int64 {
    guard flow(of: stored)?.tokens != nil else { return 60 }
    return refresh(of: stored)?.marginSeconds ?? 0
  }

  /// How a stored token is refreshed by itself; `nil` where it is not.
  func refresh(of stored: StoredCredential) -> TokenEndpoint.Refresh? {
    guard let flow = flow(of: stored), case .oauth2(let token) = stored.credential,
      let refresh = flow.tokens?.refresh,
      refresh.isPaidByToken || token.refreshToken != nil || flow.kind == .clientCredentials
    else { return nil }
    return refresh
  }

  private func flow(of stored: StoredCredential) -> FlowDescriptor? {
    flows.first { $0.kind == stored.binding.flowKind }
  }
}
