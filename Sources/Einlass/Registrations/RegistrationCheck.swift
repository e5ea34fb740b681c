internal import EinlassCrypto
internal import EinlassJSON

extension Provider {
  /// Returns the registration if it has these parts and those for its certificate, and if its key
  /// and its certificate can be used. Throws `authenticatorUnconfigured` with the missing parts.
  ///
  /// - Parameter now: `nil` to accept an expired certificate.
  func complete(
    _ registration: ClientRegistration?, with parts: [RegistrationPart], now: UnixTime? = nil
  ) throws(Problem) -> ClientRegistration {
    // A provider without registrations knows no clients.
    let registration =
      registration ?? (registrationNeeds.isEmpty ? ClientRegistration(clientID: id) : nil)
    let takesCertificate = registration.map(takesCertificate) ?? false
    let further = takesCertificate ? [RegistrationPart.certificate, .privateKey] : []
    let parts = parts + further.filter { !parts.contains($0) }
    let missing = missingParts(of: registration, among: parts)
    guard let registration, missing.isEmpty else {
      throw .authenticatorUnconfigured(self, missing: missing)
    }
    guard registration.privateKey != nil else { return registration }
    guard let key = registration.signingKey else { throw .unreadableKey(self) }
    guard signatureMethod != .rsaSHA1 || key.kind == .rsa else { throw .notRSA(self) }
    if let identity = identity(of: registration) { try requireUsable(identity, now: now) }
    return registration
  }

  /// Whether sign-ins can start: with this registration, with the stored one, or with one that they
  /// request themselves.
  public func isConfigured(
    by registration: ClientRegistration?, or stored: [StoredRegistration.Known]
  ) -> Bool {
    if dynamicRegistration != nil { return true }
    let known = stored.filter { sameBytes($0.provider, id) && takes($0) }.map(\.shape)
    let found = registration.map { [$0] } ?? known
    return registrationNeeds.isEmpty
      || found.contains { missingParts(of: $0, among: registrationNeeds).isEmpty }
  }

  /// Returns the flows with a registration of their own: the application's, otherwise the stored
  /// ones.
  public func registeredFlows(
    by own: ClientRegistration?, or stored: [StoredRegistration.Known]
  ) -> [FlowKind] {
    let known = stored.filter { sameBytes($0.provider, id) }.compactMap(\.flow)
    return flowKinds.filter { flow in
      own?.isDocument == false ? own?.flows[flow] != nil : known.contains(flow)
    }
  }

  /// Returns the reason an existing registration cannot be used: the application's own, otherwise
  /// the stored one. `nil` if there is none or it can be used, as far as einlass knows without a
  /// request.
  public func problem(
    with own: ClientRegistration?, or stored: [StoredRegistration.Known]
  ) -> Problem? {
    let known = stored.filter { sameBytes($0.provider, id) }
    guard let own, !own.isDocument || !known.hasConfigured else {
      guard !known.isEmpty else {
        return dynamicRegistration?.refusal.map { .registrationRefused($0, self) }
      }
      // The next sign-in replaces an issued registration.
      let isUsable = known.allSatisfy { takes($0) || dynamicRegistration != nil && $0.isIssued }
      return isUsable ? nil : .foreignRegistration(self)
    }
    do throws(Problem) {
      for own in [own] + own.flows.values {
        try requireStorable(complete(own, with: registrationNeeds))
        try requireUse(ofCertificateIn: own)
      }
      return nil
    } catch { return error }
  }

  /// Throws `authenticatorUnconfigured` for a key that no flow of this provider can sign with, and
  /// for one that signs a secret for no team.
  func requireStorable(_ registration: ClientRegistration) throws(Problem) {
    guard let key = registration.signingKey else { return }
    for endpoint in flows.compactMap(\.tokens) {
      let way = endpoint.clientAuthentication.fitting(registration)
      guard way.signsWithKey else { continue }
      guard way != .signedSecret || registration.teamID != nil else { throw .lacksTeam(self) }
      let algorithms = endpoint.assertion.algorithms
      guard TokenSigner(key, among: algorithms) != nil else { throw .unfitKey(self, algorithms) }
    }
  }

  /// Whether all origins of this provider are among those of the stored registration.
  func takes(_ stored: StoredRegistration.Known) -> Bool {
    Set(origins).isSubset(of: stored.origins)
  }

  private func missingParts(
    of registration: ClientRegistration?, among parts: [RegistrationPart]
  ) -> [RegistrationPart] {
    let signsSecret =
      registration?.privateKey != nil
      && flows.contains { $0.tokens?.clientAuthentication.contains(.signedSecret) ?? false }
    return parts.filter { part in
      switch part {
      case .clientID: registration?.clientID.isEmpty ?? true
      case .clientSecret: !signsSecret && registration?.clientSecret?.isEmpty ?? true
      case .privateKey: registration?.privateKey?.isEmpty ?? true
      case .certificate: registration?.certificate?.isEmpty ?? true
      case .redirect: registration?.redirect?.isEmpty ?? true
      }
    }
  }
}

extension ClientRegistration {
  /// The registration's private key; `nil` without a readable one.
  var signingKey: PrivateKey? { privateKey.flatMap { PrivateKey(pem: $0) } }
}

extension Problem {
  fileprivate static func notRSA(_ provider: Provider) -> Problem {
    Problem(
      .authenticatorUnconfigured,
      """
      \(provider.name) accepts only signatures by RSA keys of at least 2048 bits, but the private \
      key of the registration is of another type.
      """, detail: Provider.RegistrationPart.privateKey.rawValue, provider: provider.id)
  }

  fileprivate static func unreadableKey(_ provider: Provider) -> Problem {
    Problem(
      .authenticatorUnconfigured,
      """
      The private key of the registration at \(provider.name) cannot be read: it is not PEM text, \
      without a passphrase, of RSA with at least 2048 bits, P-256, P-384, P-521 or Ed25519.
      """, detail: Provider.RegistrationPart.privateKey.rawValue, provider: provider.id)
  }
}

extension StoredRegistration.Known {
  /// A registration with the same parts.
  fileprivate var shape: ClientRegistration {
    var shape = ClientRegistration(
      clientID: clientID, clientSecret: hasSecret ? Secret("sealed") : nil, redirect: redirect,
      privateKey: hasPrivateKey ? Secret("sealed") : nil)
    if hasCertificate { shape.certificate = "stored" }
    return shape
  }
}

extension Problem {
  static func foreignRegistration(_ provider: Provider) -> Problem {
    Problem(
      .bindingMismatch,
      "The stored registration for \(provider.name) belongs to another server.",
      provider: provider.id, hint: .init("providers.configure", ["provider": provider.id]))
  }
}
