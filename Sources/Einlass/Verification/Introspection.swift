internal import EinlassCrypto
internal import EinlassJSON

extension CredentialCheck {
  /// The standard's question about a token. RFC 7662 section 2. `nil` for a registration that cannot prove itself, which
  /// nobody answers.
  func introspection(
    _ request: RequestTemplate, _ token: OAuth2Credential
  ) async throws(Setback) -> Verification? {
    let words = provider.flows.lazy.compactMap(\.tokens).first
    guard let words, words.clientAuthentication.fitting(registration) != .none else { return nil }
    let exchange = exchange(hiding: [token.accessToken])
    let answer = try await exchange.ask(
      words, request,
      [
        Parameter("token", revealedText(token.accessToken)),
        Parameter("token_type_hint", "access_token"),
      ], by: registration, at: .tokenInfo)
    guard let object = answer.object, let isActive = object["active"]?.bool else {
      throw exchange.unusable(.tokenInfo)
    }
    func text(_ name: String) -> String? {
      object[name]?.string.map { exchange.shown(cleaned($0)) }
    }
    var result = Verification(
      clientID: text("client_id"), scopes: text("scope")?.split(separator: " ").map(String.init),
      expiresAt: object["exp"]?.int64)
    result.checks = [
      .init(
        .active, isOK: isActive, detail: isActive ? nil : "The provider calls the token invalid.")
    ]
    guard isActive else { return result }
    result.checks += [application(of: result), expiry(of: result)]
    guard result.isValid else { return result }
    let subject = text("sub")
    if provider.identity?.request != nil, result.scopes?.contains("openid") ?? (subject == nil) {
      result.identity = try await exchange.identity(
        token.bearing(clientID: registration.clientID, subject: subject))
    } else {
      result.identity = subject.map { Identity(id: $0, username: text("username")) }
    }
    if result.identity != nil || expected.id != nil {
      result.checks.append(identity(of: result, subject: subject))
    }
    result.checks += furtherFindings(of: result)
    return result
  }

  /// Whose the token is, where nobody says more: whoever answers knows the token, but not for whom it was issued.
  func owner(of token: OAuth2Credential, isBound: Bool) async throws(Setback) -> Verification {
    let wanted = expected.clientID ?? registration.clientID
    var result = Verification(
      clientID: isOwn ? registration.clientID : isBound ? wanted : nil)
    do {
      result.identity = try await exchange(hiding: [token.accessToken]).identity(
        token.bearing(clientID: registration.clientID, subject: nil))
    } catch {
      result.checks = [.init(.active, isOK: false, detail: try error.refusal())]
      return result
    }
    var application = application(of: result)
    if result.clientID == nil {
      application.detail =
        "\(provider.name) does not say to which application it was issued. Give its id_token too."
    }
    result.checks = [.init(.active, isOK: true), application]
    guard result.isValid else { return result }
    result.scopes = isOwn ? token.scopes : nil
    result.checks += [identity(of: result, subject: nil)] + furtherFindings(of: result)
    return result
  }
}
