internal import EinlassCrypto
internal import EinlassJSON

extension CredentialCheck {
  /// Asks the provider about the token, then for its owner. A token of another application is not
  /// sent to the identity endpoint.
  func tokenInfo(
    _ descriptor: VerifyDescriptor.TokenInfo, _ token: OAuth2Credential
  ) async throws(FlowFailure) -> Verification {
    let exchange = exchange(hiding: [token.accessToken])
    var values = values(for: token)
    let answer: Exchange.Answer
    do {
      answer = try await exchange.send(descriptor.request.filled(values).request, at: .tokenInfo)
    } catch {
      // Without the member `active`, a refusal says that the token is not.
      guard descriptor.pointers[.active] == nil, error.refusesCredential else { throw error }
      let reason = error.problem.serverError?.text ?? Self.reportedInvalid
      return Verification(checks: [.init(.active, isOK: false, detail: reason)])
    }
    let facts = Facts(
      pointers: descriptor.pointers, answer: answer.object ?? .null, exchange: exchange)
    guard let isActive = facts.isActive else {
      throw exchange.unusable(.tokenInfo, facts.fault)
    }
    var result = Verification(
      clientID: facts.text(.clientID), scopes: facts.scopes,
      expiresAt: facts.expiresAt(now: effects.now()))
    result.checks.append(
      Verification.Finding(
        .active, isOK: isActive,
        detail: isActive ? nil : facts.text(.failure) ?? Self.reportedInvalid))
    guard result.isValid else { return result }
    result.checks += [application(of: result), expiry(of: result)]
    guard result.isValid else { return result }
    let isOwn = result.clientID.map { sameBytes($0, registration.clientID) } ?? false
    let subject = facts.text(.subject)
    (values[.clientID], values[.subject]) = (result.clientID, subject)
    do {
      result.identity = try await exchange.identity { template in
        // The proof is made with the caller's secret, so it is valid only for the caller's own
        // token.
        var template = template
        if isOwn { template.query += descriptor.identityQuery }
        return template.filled(values).request
      }
    } catch {
      result.checks.append(.init(.identity, isOK: false, detail: try error.refusal()))
      return result
    }
    result.checks += [identity(of: result, subject: subject)] + furtherFindings(of: result)
    return result
  }

  /// Whether the registration has the secret that the request about a token needs.
  func isAskable(_ descriptor: VerifyDescriptor.TokenInfo) -> Bool {
    registration.clientSecret != nil || !descriptor.request.mentions(.clientSecret)
  }

  /// The reason of an inactive token if the provider gives none.
  static let reportedInvalid = "The provider reports the token as invalid."

  private func values(for token: OAuth2Credential) -> Template.Values {
    var values = Template.Values(texts: [
      .clientID: registration.clientID, .token: revealedText(token.accessToken),
    ])
    guard let secret = registration.clientSecret else { return values }
    values[.clientSecret] = revealedText(secret)
    values[.tokenProof] = Hexadecimal.encode(
      MessageAuthentication.hmacSHA256(
        key: Array(revealedText(secret).utf8),
        message: Array(revealedText(token.accessToken).utf8)))
    return values
  }
}

/// The facts in an answer about a token.
private struct Facts {
  let pointers: [VerifyDescriptor.TokenInfo.Fact: String]
  let answer: JSONValue
  let exchange: Exchange

  /// Whether the token is active. Without the member for it, an answer that names an application
  /// says so. `nil` for an answer that says neither.
  var isActive: Bool? {
    guard pointers[.active] == nil else { return value(.active)?.bool }
    return text(.clientID) == nil ? nil : true
  }

  /// The fault of an answer that says neither, as the end of a sentence about it.
  var fault: String? {
    pointers[.active].map { "lacks the boolean \($0)" } ?? pointers[.clientID].map { "lacks \($0)" }
  }

  var scopes: [String]? {
    guard let value = value(.scopes) else { return nil }
    let list = value.string?.split { $0 == " " || $0 == "," }.map(String.init)
    return (list ?? value.array?.compactMap(\.string))?.map(shown)
  }

  /// Returns the end of the token; `nil` for one without end.
  func expiresAt(now: UnixTime) -> UnixTime? {
    let end = value(.expiresAt)?.int64
    if let end { return end == 0 ? nil : end }
    return value(.expiresIn).flatMap { TokenResponse.seconds($0) }.map { now + $0 }
  }

  /// Returns a text, or the digits of a whole number.
  func text(_ fact: VerifyDescriptor.TokenInfo.Fact) -> String? {
    value(fact).flatMap { $0.string ?? $0.int64.map { "\($0)" } }.map(shown)
  }

  private func value(_ fact: VerifyDescriptor.TokenInfo.Fact) -> JSONValue? {
    pointers[fact].flatMap { answer.at(pointer: $0) }
  }

  private func shown(_ text: String) -> String { exchange.shown(cleaned(text)) }
}
