internal import EinlassCrypto
internal import EinlassJSON

extension CredentialCheck {
  /// Asks the introspection endpoint about a token. RFC 7662 section 2. Returns `nil` for a
  /// registration without client authentication, because the endpoint requires it.
  func introspection(
    _ request: RequestTemplate, by ways: [ClientAuthentication]?, _ token: OAuth2Credential,
    isBound: Bool
  ) async throws(FlowFailure) -> Verification? {
    let endpoint = provider.flows.lazy.compactMap(\.tokens).first
    guard let endpoint, endpoint.clientAuthentication.fitting(registration, at: ways) != .none
    else {
      return nil
    }
    let exchange = exchange(hiding: [token.accessToken])
    let answer = try await exchange.ask(
      endpoint, request,
      [
        Parameter("token", revealedText(token.accessToken)),
        Parameter("token_type_hint", "access_token"),
      ], by: registration, authentication: ways, at: .tokenInfo)
    guard let object = answer.object, let isActive = object["active"]?.bool else {
      throw exchange.unusable(.tokenInfo, "lacks the boolean /active")
    }
    func text(_ name: String) -> String? {
      object[name]?.string.map { exchange.shown(cleaned($0)) }
    }
    let subject = object["sub"]?.subject.map { exchange.shown(cleaned($0)) }
    var result = Verification(
      clientID: text("client_id"), scopes: text("scope")?.split(separator: " ").map(String.init),
      expiresAt: object["exp"]?.int64)
    result.checks = [
      .init(.active, isOK: isActive, detail: isActive ? nil : Self.reportedInvalid)
    ]
    guard isActive else {
      if try await accepts(token) {
        result.checks[0].detail =
          "The provider's introspection reports the token as invalid, but its identity request accepts it."
      }
      return result
    }
    // `client_id` is optional. RFC 7662 section 2.2.
    result.clientID = result.clientID ?? vouchedClientID(stored(subject), isBound: isBound)
    let person = subject.map { Identity(id: $0, username: text("username")) }
    guard result.clientID != nil else { throw unknownApplication(of: person) }
    result.checks += [application(of: result), expiry(of: result)]
    guard result.isValid else { return result }
    if provider.identity?.request != nil, hasProof(token),
      result.scopes?.contains("openid") ?? (subject == nil)
    {
      result.identity = try await exchange.identity(
        signedFor: registration,
        token.bearing(clientID: registration.clientID, subject: subject))
    } else {
      result.identity = person
    }
    if result.identity != nil || expected.id != nil {
      result.checks.append(identity(of: result, subject: subject))
    }
    result.checks += furtherFindings(of: result)
    return result
  }

  /// Whether the identity endpoint accepts a token. An answer other than the owner counts as a
  /// refusal, because introspection has answered already.
  private func accepts(_ token: OAuth2Credential) async throws(FlowFailure) -> Bool {
    guard provider.identity?.request != nil, hasProof(token) else { return false }
    do {
      _ = try await exchange(hiding: [token.accessToken]).identity(
        signedFor: registration, token.bearing(clientID: registration.clientID, subject: nil))
      return true
    } catch {
      guard error.problem.reason != .cancelled else { throw error }
      return false
    }
  }

  /// Whether a request with the token can carry the proof that the provider demands.
  private func hasProof(_ token: OAuth2Credential) -> Bool {
    token.proofKey != nil || !provider.bindsTokens && !token.isBound
  }

  /// Asks the identity endpoint for the token's owner. Its answer proves that the token is active,
  /// but not that it was issued to this application.
  ///
  /// Throws `flowNotSupported` for a token whose application nothing names, and for one that is
  /// bound to an unknown key, because a refusal would say nothing about it.
  func owner(of token: OAuth2Credential, isBound: Bool) async throws(FlowFailure) -> Verification {
    guard hasProof(token) else {
      throw FlowFailure(.flowNotSupported(provider, "verification of this credential"))
    }
    var result = Verification()
    do {
      result.identity = try await exchange(hiding: [token.accessToken]).identity(
        signedFor: registration, token.bearing(clientID: registration.clientID, subject: nil))
    } catch {
      result.checks = [.init(.active, isOK: false, detail: try error.refusal())]
      return result
    }
    let own = stored(result.identity?.id)
    result.clientID = vouchedClientID(own, isBound: isBound)
    guard result.clientID != nil else { throw unknownApplication(of: result.identity) }
    result.checks = [.init(.active, isOK: true), application(of: result)]
    guard result.isValid else { return result }
    result.scopes = own?.scopes
    result.checks += [identity(of: result, subject: nil)] + furtherFindings(of: result)
    return result
  }
}
