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
    var provider = provider
    provider.trust.caFile = request.caFile ?? provider.trust.caFile
    let former = provider.trust.publicKey
    guard
      request.acceptsUntrustedCertificates == true || request.trustedPublicKey != nil
        || former != nil
    else { return provider }
    asker.report(.requesting)
    guard let certificate = try await effects.certificate(address, provider.trust) else {
      return provider
    }
    if let key = request.trustedPublicKey {
      guard sameBytes(key, certificate.publicKey) else {
        throw .otherPublicKey(address.host).about(provider, request.account)
      }
      provider.trust.publicKey = key
      return provider
    }
    if let former, sameBytes(former, certificate.publicKey) { return provider }
    provider.trust.publicKey = certificate.fault == nil ? nil : certificate.publicKey
    guard certificate.fault != nil || former != nil else { return provider }
    let prompt = Prompt.trustCertificate(
      Prompt.Trust(
        server: address.origin, host: address.host, port: address.port ?? 443,
        certificate: certificate, formerPublicKey: former))
    guard asker.kinds.contains(prompt.kind) else {
      var problem = Problem.interactionRequired(provider, [prompt])
      problem.hint = nil
      throw problem
    }
    asker.report(.awaitingPerson)
    guard case .accept = try await asker.ask(prompt) else { throw .userCanceled(provider) }
    return provider
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
      isAccepted: key.map { $0 == certificate?.publicKey } ?? (certificate?.fault == nil))
  }
}

extension Problem {
  /// The server's public key is not the accepted one.
  public static func otherPublicKey(_ host: String) -> Problem {
    Problem(
      .networkFailure,
      "\(host) has another public key than the accepted one, so nothing was sent. Sign in again to see both keys.",
      networkCode: -1202)
  }
}
