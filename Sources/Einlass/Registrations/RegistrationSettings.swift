internal import EinlassCrypto
internal import EinlassJSON

extension Einlass {
  /// Throws `authenticatorUnconfigured` if there is no registration, or if the application's own
  /// lacks a part. Reads no sealed column, so the store's key is not needed. Throws
  /// `unknownProvider`. `needs` returns the parts of the registration that the request needs.
  public func requireRegistration(
    _ own: ClientRegistration?, at provider: String,
    needs: (Provider) -> [Provider.RegistrationPart] = { $0.registrationNeeds }
  ) throws(Problem) {
    let provider = try catalog.provider(provider)
    let known = try store.knownRegistrations(at: provider)
    // A configured registration comes before a client ID metadata document.
    let own = known.hasConfigured && own?.isDocument == true ? nil : own
    guard own != nil || known.isEmpty && provider.dynamicRegistration == nil else { return }
    _ = try provider.complete(own, with: needs(provider), now: effects.now())
  }

  /// Stores the person's own registration at a provider, sealed, for every application without one
  /// of its own; `nil` removes it. With a flow it is that of this flow alone. Returns the store's
  /// revision.
  ///
  /// Credentials issued to a former registration stay, and are used again if it comes back. Throws
  /// `unknownProvider`, `invalidParameter`, and `authenticatorUnconfigured` for a registration
  /// without a part that the provider needs.
  public func configure(
    _ provider: String, _ registration: ClientRegistration?, for flow: FlowKind? = nil
  ) throws(Problem) -> Int64 {
    let provider = try catalog.provider(provider)
    if let flow, !provider.flowKinds.contains(flow) { throw .noSuchFlow(provider) }
    guard let registration else {
      return try store.registrations.set(provider.id, flow, nil, .usual)
    }
    guard !provider.isServerIncomplete else { throw .registrationWithoutServer(provider) }
    try registration.check()
    try provider.requireUse(ofCertificateIn: registration)
    try provider.requireUse(ofKeyIn: registration)
    let needs = provider.registrationNeeds
    let proof = registration.proof.filter { !needs.contains($0) }
    try provider.requireStorable(
      provider.complete(registration, with: needs + proof, now: effects.now()))
    return try store.registrations.set(
      provider.id, flow,
      StoredRegistration(
        provider: provider.id, flow: flow, registration: registration, origins: provider.origins),
      .usual)
  }
}

extension Problem {
  /// Each server of the provider is a provider of its own, with its own registration.
  fileprivate static func registrationWithoutServer(_ provider: Provider) -> Problem {
    Problem(
      .invalidParameter,
      """
      The registration is for one server of \(provider.name), and the sign-in adds a provider for \
      that server.
      """, provider: provider.id, path: "/provider",
      hint: .init("accounts.signIn", ["provider": provider.id]))
  }

  fileprivate static func noSuchFlow(_ provider: Provider) -> Problem {
    let kinds = provider.flowKinds.map(\.rawValue).joined(separator: ", ")
    return .invalidParameter(
      "/flowKind", "The parameter /flowKind must be a flow of \(provider.name): \(kinds).")
  }
}

extension [StoredRegistration.Known] {
  /// Whether a person has configured one of them.
  var hasConfigured: Bool { contains { !$0.isIssued } }

  /// The one for the flows without one of their own.
  var general: StoredRegistration.Known? { first { $0.flow == nil } }
}

extension Provider {
  /// Throws `invalidParameter` for a private key that no flow of the provider would use.
  fileprivate func requireUse(ofKeyIn registration: ClientRegistration) throws(Problem) {
    let isUsed =
      registrationNeeds.contains(.privateKey) || registration.proof.contains(.privateKey)
      || takesCertificate(of: registration)
      || flows.contains {
        $0.tokens?.clientAuthentication.contains(where: \.signsWithKey) ?? false
      }
    guard registration.privateKey == nil || isUsed else {
      throw .invalidParameter(
        "/privateKey",
        """
        \(name)'s descriptor names no use for a private key, unless authentication is \
        private_key_jwt.
        """)
    }
  }
}

extension Provider {
  /// Throws `invalidParameter` for a certificate that no flow of the provider would use.
  func requireUse(ofCertificateIn registration: ClientRegistration) throws(Problem) {
    guard registration.certificate == nil || takesCertificate(of: registration) else {
      throw .invalidParameter(
        "/certificate",
        """
        \(name)'s descriptor names no use for a certificate, unless authentication is \
        tls_client_auth or self_signed_tls_client_auth.
        """)
    }
  }
}

extension ClientRegistration {
  /// The parts that the registration's authentication needs.
  fileprivate var proof: [Provider.RegistrationPart] {
    switch authentication.flatMap(ClientAuthentication.init(rawValue:)) {
    case nil, .some(.none), .basicEmpty: []
    case .privateKeyJWT, .signedSecret: [.privateKey]
    case .tls, .selfSignedTLS: [.certificate, .privateKey]
    case .basic, .basicPlain, .post, .secretJWT: [.clientSecret]
    }
  }

  /// Throws `invalidParameter` for values that no provider issues.
  fileprivate func check() throws(Problem) {
    guard isIdentifier(clientID) else {
      throw .invalidParameter(
        "/clientId", "The parameter /clientId must be 1 to 256 bytes without control characters.")
    }
    if let clientSecret {
      let bytes = Array(revealedText(clientSecret).utf8)
      guard !bytes.isEmpty, bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
        throw .invalidParameter(
          "/clientSecret", "The parameter /clientSecret must be text without control characters.")
      }
    }
    guard redirect.map({ RedirectDescriptor(address: $0) != nil }) ?? true else {
      throw .invalidParameter(
        "/redirect",
        "The parameter /redirect must be an address without a query, such as http://127.0.0.1/callback."
      )
    }
  }
}
