internal import EinlassCrypto

extension Provider {
  /// The registration, if it holds these parts and its key can be read. Throws `authenticatorUnconfigured`, naming
  /// what is missing.
  func complete(
    _ registration: ClientRegistration?, with parts: [RegistrationPart]
  ) throws(Problem) -> ClientRegistration {
    let missing = missingParts(of: registration, among: parts)
    guard let registration, missing.isEmpty else {
      throw .authenticatorUnconfigured(self, missing: missing)
    }
    guard registration.privateKey == nil || registration.signingKey != nil else {
      throw .unreadableKey(self)
    }
    return registration
  }

  /// Whether sign-ins can start with this registration.
  public func isConfigured(by registration: ClientRegistration?) -> Bool {
    missingParts(of: registration, among: registrationNeeds).isEmpty
  }

  private func missingParts(
    of registration: ClientRegistration?, among parts: [RegistrationPart]
  ) -> [RegistrationPart] {
    parts.filter { part in
      switch part {
      case .clientID: registration?.clientID.isEmpty ?? true
      case .clientSecret: registration?.clientSecret?.isEmpty ?? true
      case .privateKey: registration?.privateKey?.isEmpty ?? true
      case .redirect: registration?.redirect?.isEmpty ?? true
      }
    }
  }
}

extension ClientRegistration {
  /// What the application signs with; `nil` without a key that can be read.
  var signingKey: PrivateKey? { privateKey.flatMap { PrivateKey(pem: $0) } }
}

extension Problem {
  fileprivate static func unreadableKey(_ provider: Provider) -> Problem {
    Problem(
      .authenticatorUnconfigured,
      """
      The privateKey of this application's registration at \(provider.name) cannot be read. Give PEM text without a \
      passphrase: RSA of at least 2048 bits, P-256, P-384, P-521 or Ed25519.
      """, detail: Provider.RegistrationPart.privateKey.rawValue, provider: provider.id)
  }
}
