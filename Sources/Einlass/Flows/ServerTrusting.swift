internal import EinlassJSON

extension Einlass {
  /// Returns the provider of a sign-in with its trust in the server, after asking the person about
  /// a certificate that is not trusted.
  ///
  /// A stored trust serves its own account only. Throws `interactionRequired` if the front end
  /// cannot ask, `userCanceled`, and `networkFailure` for another key than the request names.
  func trusting(
    _ provider: Provider, for request: SignInRequest, asking asker: Asker
  ) async throws(Problem) -> Provider {
    guard let address = provider.passwordSession?.login.address else { return provider }
    guard request.login.trustedPublicKey == nil || address.scheme == .https else {
      throw .invalidParameter(
        "/server/trustedPublicKey",
        "The server is reached by plain http, so it has no public key.", advice: .nameWithHTTPS)
    }
    var trust = provider.trust
    let former = trust.publicKey
    if let file = request.login.caFile {
      // A named authority takes the place of an accepted key.
      trust.caFile = file
      trust.publicKey = nil
    } else if request.login.trustedPublicKey != nil {
      // The file may be gone, and the key needs none.
      trust.caFile = nil
    }
    guard
      request.login.acceptsUntrustedCertificates == true || request.login.trustedPublicKey != nil
        || former != nil
    else { return provider.trusted(trust) }
    asker.report(.requesting)
    guard let certificate = try await effects.certificate(address, trust) else {
      return provider.trusted(trust)
    }
    if let key = request.login.trustedPublicKey {
      guard sameBytes(key, certificate.publicKey) else {
        throw .otherPublicKey(address.host, than: "the named one").about(provider, request.account)
      }
      trust.publicKey = key
      return provider.trusted(trust)
    }
    let isFormer = former.map { sameBytes($0, certificate.publicKey) } ?? false
    if isFormer, request.login.caFile == nil { return provider.trusted(trust) }
    trust.publicKey = certificate.fault == nil ? nil : certificate.publicKey
    guard certificate.fault != nil || (former != nil && !isFormer) else {
      return provider.trusted(trust)
    }
    // Without a user name the account is not known yet, but its key may have been accepted.
    let shown = former == nil ? try acceptedKey(at: address, of: provider) : former
    let prompt = Prompt.trustCertificate(
      Prompt.Trust(
        server: address.origin, host: address.host, port: address.port ?? 443,
        certificate: certificate,
        formerPublicKey: shown.flatMap { sameBytes($0, certificate.publicKey) ? nil : $0 }))
    guard asker.kinds.contains(prompt.kind) else {
      var problem = Problem.interactionRequired(provider, [prompt])
      problem.hint = nil
      throw problem
    }
    asker.report(.awaitingPerson)
    guard case .accept = try await asker.ask(prompt) else { throw .userCanceled(provider) }
    return provider.trusted(trust)
  }

  /// Returns the key of a server that was accepted for an account there, to be shown beside another
  /// one. It trusts nothing, because an accepted key serves its own account only.
  private func acceptedKey(
    at address: WebAddress, of provider: Provider
  ) throws(Problem) -> String? {
    var key: String?
    try store.forEachAccount { account throws(Problem) in
      guard key == nil, sameBytes(account.provider, provider.id) else { return }
      let bindings = try store.credentials(account.id).map(\.binding)
      key =
        bindings.first { $0.origins.contains { sameBytes($0, address.origin) } }?.trust
        .publicKey
    }
    return key
  }
}

extension Einlass {
  /// The server of an account, as it is now.
  public struct ServerCheck: Sendable {
    /// The origin.
    public var server: String
    /// `nil` for plain http.
    public var certificate: ServerCertificate?
    /// Whether the certificate is trusted, or its key was accepted for the account.
    public var isAccepted: Bool
  }

  /// Connects to the server of an account without sending a request.
  ///
  /// Throws `unknownAccount`, `invalidParameter` for an account that is not at a server of the
  /// person's own or is signed out, `networkFailure` and `cancelled`.
  public func checkServer(of id: Account.ID) async throws(Problem) -> ServerCheck {
    let account = try store.read { reader throws(Problem) in try reader.account(id) }
    guard let account else { throw .unknownAccount(id) }
    let provider = try provider(of: account)
    guard let address = provider.passwordSession?.login.address,
      address.host != PasswordSession.placeholderHost
    else {
      throw .invalidParameter(
        "/account",
        "The account is not signed in at a server of its own, so there is none to check.")
    }
    let certificate = try await effects.certificate(address, provider.trust)
    let key = provider.trust.publicKey
    return ServerCheck(
      server: address.origin, certificate: certificate,
      isAccepted: key.map { sameBytes($0, certificate?.publicKey ?? "") }
        ?? (certificate?.fault == nil))
  }
}

extension Problem {
  /// The server's public key is not the accepted one.
  public static func otherPublicKey(
    _ host: String, than expected: String = "the accepted one"
  ) -> Problem {
    Problem(
      .networkFailure,
      "\(host) has another public key than \(expected), so nothing was sent.",
      detail: "otherPublicKey", networkCode: -1202)
  }
}
