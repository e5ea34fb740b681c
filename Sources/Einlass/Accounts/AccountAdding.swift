internal import EinlassCrypto
internal import EinlassJSON

extension AddAccountRequest {
  /// Returns the account to store, with a fresh id and its credential bound to the provider's
  /// current origins.
  ///
  /// Throws `invalidParameter` with the JSON pointer of the faulty parameter.
  func newAccount(at provider: Provider, effects: Effects) throws(Problem)
    -> AccountStore.NewAccount
  {
    try check()
    guard let flow = provider.flows.first(where: { $0.startsFrom(credential) }) else {
      var problem = Problem.invalidParameter(
        "/credential/type", "\(provider.name) does not accept this type of credential.")
      problem.hint = .init("providers.list")
      throw problem
    }
    if case .oauth2(let token) = credential, token.isBound {
      throw .invalidParameter(
        "/credential/tokenType", "The token is bound to a key, which cannot be added with it.")
    }
    let account = Account(
      id: Account.ID(rawValue: "a_" + Base64URL.encode(effects.randomBytes(16))),
      provider: provider.id, username: username, displayName: displayName, subject: subject,
      isSignedIn: true, addedAt: effects.now())
    let binding = provider.binding(of: flow, for: registration.clientID)
    return AccountStore.NewAccount(
      account: account,
      credentials: [
        StoredCredential(
          role: .system, registration: registration, credential: credential, binding: binding)
      ],
      replacesExisting: replacesExisting, restoresSignedOut: true, isOnlyOne: provider.hasOneAccount
    )
  }

  private func check() throws(Problem) {
    let texts = [
      ("/username", username), ("/subject", subject),
      ("/credential/clientId", registration.clientID),
    ]
    for case (let path, let text?) in texts { try checkName(text, isIdentifier, at: path) }
    if let displayName { try checkName(displayName, isName, at: "/displayName") }
    let clientSecret = registration.clientSecret ?? Secret("")
    switch credential {
    case .oauth1: try credential.requireSendable(clientSecret: clientSecret)
    case .oauth2, .session: try credential.requireSendable(clientSecret: nil)
    }
  }
}

extension Credential {
  /// Throws `invalidParameter` for a token or secret with characters that no request can carry, and
  /// for a credential of more than 48 KiB.
  ///
  /// - Parameter clientSecret: the secret of the credential's registration, checked for OAuth 1.0a;
  ///   `nil` if it is not stored.
  func requireSendable(clientSecret: Secret?) throws(Problem) {
    let further = [("/credential/clientSecret", clientSecret)]
    switch self {
    case .oauth1(let credential):
      let secrets = [
        ("/credential/key", credential.token), ("/credential/secret", credential.tokenSecret),
      ]
      for case (let path, let secret?) in secrets + further
      where !fits(secret, isTextWithoutControls) {
        throw .invalidParameter(
          path, "The parameter \(path) must be text without control characters, at most 48 KiB.")
      }
    case .oauth2(let credential):
      let secrets = [
        ("/credential/token", credential.accessToken),
        ("/credential/refreshToken", credential.refreshToken),
        ("/credential/idToken", credential.idToken),
      ]
      for case (let path, let secret?) in secrets where !fits(secret, TokenResponse.isToken) {
        throw .invalidParameter(
          path,
          "The parameter \(path) must be visible ASCII characters, at least one, at most 48 KiB.")
      }
    case .session: break
    }
    guard isStorable else {
      throw .invalidParameter(
        "/credential", "A credential has at most 48 KiB in all, its scopes included.")
    }
  }

  private func fits(_ secret: Secret, _ isAllowed: (String) -> Bool) -> Bool {
    secret.count <= PerformRun.credentialLimitBytes && isAllowed(revealedText(secret))
  }

  /// Whether the text can be an OAuth 1.0a token or secret. Any other text is allowed, because all
  /// of these are percent-encoded. RFC 5849 section 3.6.
  private func isTextWithoutControls(_ text: String) -> Bool {
    !text.isEmpty
      && !text.unicodeScalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) }
  }
}

/// Throws `invalidParameter` for a name that is blank, too long or holds control characters.
private func checkName(
  _ name: String, _ isAllowed: (String) -> Bool, at path: String
) throws(Problem) {
  guard isAllowed(name) else {
    throw .invalidParameter(
      path, "The parameter \(path) must be 1 to 256 bytes, not blank, without control characters.")
  }
}

extension AccountStore {
  /// Changes the displayed name; an empty one removes it. Throws `invalidParameter`,
  /// `unknownAccount`.
  func rename(
    _ account: Account.ID, to displayName: String, _ patience: Patience
  ) throws(Problem) -> Int64 {
    if !displayName.isEmpty { try checkName(displayName, isName, at: "/displayName") }
    return try update(account, patience) {
      $0.displayName = displayName.isEmpty ? nil : displayName
    }
  }
}

extension FlowDescriptor {
  /// Whether the flow starts from a stored credential of this type.
  fileprivate func startsFrom(_ credential: Credential) -> Bool {
    switch (self, credential) {
    case (.reverseAuth, .oauth1), (.systemToken, .oauth2), (.authorizationCode, .oauth2),
      (.deviceCode, .oauth2), (.clientCredentials, .oauth2), (.jwtBearer, .oauth2),
      (.tokenExchange, .oauth2):
      true
    case (.reverseAuth, .oauth2), (.systemToken, .oauth1), (.authorizationCode, .oauth1),
      (.deviceCode, .oauth1), (.clientCredentials, .oauth1), (.jwtBearer, .oauth1),
      (.tokenExchange, .oauth1), (.oauth1, _), (.passwordSession, _), (_, .session):
      false
    }
  }
}
