internal import EinlassCrypto
internal import EinlassJSON

extension AddAccountRequest {
  /// The account to store: checked, with a fresh id, its credential bound to where the provider lives now.
  ///
  /// Throws `invalidParameter` with the JSON pointer of what is wrong.
  func newAccount(at provider: Provider, effects: Effects) throws(Problem)
    -> AccountStore.NewAccount
  {
    try check()
    guard let flow = provider.flows.first(where: { $0.startsFrom(credential) }) else {
      throw .invalidParameter(
        "/credential/type", "\(provider.name) has no use for this type of credential.")
    }
    let account = Account(
      id: Account.ID(rawValue: "a_" + Base64URL.encode(effects.randomBytes(16))),
      provider: provider.id, username: username, displayName: displayName, subject: subject,
      isSignedIn: true, addedAt: effects.now())
    let binding = ProviderBinding(
      origins: provider.origins(of: flow), clientID: registration.clientID, flowKind: flow.kind)
    return AccountStore.NewAccount(
      account: account,
      credential: StoredCredential(
        role: .system, registration: registration, credential: credential, binding: binding),
      replacesExisting: replacesExisting, isOnlyOne: provider.hasOneAccount)
  }

  private func check() throws(Problem) {
    let texts = [
      ("/username", username), ("/displayName", displayName), ("/subject", subject),
      ("/credential/clientId", registration.clientID),
    ]
    for case (let path, let text?) in texts where !isIdentifier(text) {
      throw .invalidParameter(path, "Give 1 to 256 bytes without control characters.")
    }
    let secrets: [(path: String, secret: Secret?)] =
      switch credential {
      case .oauth1(let credential):
        [
          ("/credential/key", credential.token), ("/credential/secret", credential.tokenSecret),
          ("/credential/clientSecret", registration.clientSecret ?? Secret("")),
        ]
      case .oauth2(let credential):
        [
          ("/credential/token", credential.accessToken),
          ("/credential/refreshToken", credential.refreshToken),
        ]
      }
    for case (let path, let secret?) in secrets
    where !TokenResponse.isToken(revealedText(secret)) || secret.count > SignIn.credentialLimitBytes
    {
      throw .invalidParameter(path, "Give visible ASCII characters, at least one, at most 48 KiB.")
    }
  }
}

extension FlowDescriptor {
  /// Whether a stored credential of this type is what the flow begins with.
  fileprivate func startsFrom(_ credential: Credential) -> Bool {
    switch (self, credential) {
    case (.reverseAuth, .oauth1), (.systemToken, .oauth2): true
    case (.reverseAuth, .oauth2), (.systemToken, .oauth1): false
    }
  }
}
