internal import EinlassCrypto

extension Provider {
  /// The registration, if it holds these parts. Throws `authenticatorUnconfigured`, naming what is missing.
  func complete(
    _ registration: ClientRegistration?, with parts: [RegistrationPart]
  ) throws(Problem) -> ClientRegistration {
    let missing = missingParts(of: registration, among: parts)
    guard let registration, missing.isEmpty else {
      throw .authenticatorUnconfigured(self, missing: missing)
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
      case .redirect: registration?.redirect?.isEmpty ?? true
      }
    }
  }
}
