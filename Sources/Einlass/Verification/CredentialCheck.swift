internal import EinlassCrypto
internal import EinlassJSON

/// One `verify`: asks the provider about a credential, by the descriptor's recipe, and checks what its issuer has signed.
/// Seeds 1.6, protocol section 3.
struct CredentialCheck {
  var provider: Provider
  /// The caller's own, with what the recipe needs of it: they speak in its name.
  let registration: ClientRegistration
  /// `nil` for an id_token alone.
  let credential: Credential?
  var idToken: Secret?
  /// The stored credential of a subject, under the registration.
  let stored: @Sendable (_ subject: String?) -> OAuth2Credential?
  var expected: VerifyRequest.Expectation
  let effects: Effects

  /// Throws for networks, providers that do not answer, and configuration; anything else is in the result.
  func run() async throws(Problem) -> Verification {
    do throws(Setback) {
      guard let idToken, provider.keySource != nil else { return try await asked() }
      let (signed, judged) = try await checked(idToken)
      guard credential != nil else { return signed }
      switch judged {
      case .success(let token): return try await asked(beside: token, signed)
      case .failure(let fault): return try await asked(instead: idToken, signed, fault)
      }
    } catch {
      var problem = error.problem
      problem.provider = provider.id
      throw problem
    }
  }

  /// The provider's verdict on the token, together with a verified id_token.
  private func asked(
    beside token: IDToken, _ signed: Verification
  ) async throws(Setback) -> Verification {
    guard signed.isValid else { return signed }
    var check = self
    // Both speak of one person.
    if provider.identity?.isSubject == true { check.expected.id = token.subject }
    if !provider.canBeAsked {
      // Nobody can be asked: it vouches for the token that it names, or that is stored with it.
      let own = stored(signed.identity?.id)
      guard own != nil || token.vouchesForAccessToken else { return try await check.asked() }
      var result = signed
      result.scopes = own?.scopes
      result.checks += furtherFindings(of: result)
      return result
    }
    var result = try await check.asked(isBound: token.vouchesForAccessToken)
    let repeated = Set(result.checks.map(\.check))
    result.checks = signed.checks.filter { !repeated.contains($0.check) } + result.checks
    return result
  }

  /// The provider's verdict on a token whose id_token does not vouch for it. An id_token that has ended, or belongs to
  /// another access token, says nothing of this one (OpenID Connect Core 1.0 sections 3.1.3.6 and 12.2). Neither does one
  /// whose key is gone, where it is stored with the token, because it was verified then. Any other fault is the result.
  private func asked(
    instead idToken: Secret, _ signed: Verification, _ fault: IDTokenExpectation.Fault
  ) async throws(Setback) -> Verification {
    var check = self
    check.idToken = nil
    switch fault {
    case .expired, .accessTokenHash: return try await check.asked()
    case .signature(.key), .signature(.signature):
      guard stored(subject(claimedBy: idToken))?.idToken == idToken else { return signed }
      return try await check.asked()
    default: return signed
    }
  }

  /// The subject that an unverified id_token claims. Serves to look up the stored credential and nothing else.
  private func subject(claimedBy idToken: Secret) -> String? {
    guard let token = try? JSONWebSignature.parse(revealedText(idToken)),
      let claims = try? JSONReader.read(token.payload)
    else { return nil }
    return provider.identity?.identity(in: claims)?.id ?? claims["sub"]?.string
  }

  /// What the provider says of the token itself.
  ///
  /// - Parameter isBound: whether an id_token vouches for it.
  private func asked(isBound: Bool = false) async throws(Setback) -> Verification {
    switch (provider.verification, credential) {
    case (.signedIdentity?, .oauth1(let token)?): return try await signedIdentity(token)
    case (.tokenInfo(let words)?, .oauth2(let token)?): return try await tokenInfo(words, token)
    case (.introspection?, .oauth2(let token)?), (nil, .oauth2(let token)?):
      if case .introspection(let request, let ways)? = provider.verification,
        let result = try await introspection(request, by: ways, token, isBound: isBound)
      {
        return result
      }
      return try await owner(of: token, isBound: isBound)
    case (nil, _), (_, nil):
      throw .failed(Failure(.flowNotSupported(provider, "verification of this credential")))
    case (.signedIdentity?, .oauth2(let token)?):
      // One of its flows may speak for itself.
      guard let flow = provider.flows.first(where: { $0.tokens?.identity != nil }) else {
        fallthrough
      }
      var check = self
      check.provider = provider.seen(by: flow)
      return try await check.owner(of: token, isBound: isBound)
    case (.tokenInfo?, .oauth1), (.introspection?, .oauth1):
      throw .failed(
        Failure(
          .invalidParameter(
            "/credential/type", "\(provider.name) does not issue this type of credential.")))
    }
  }

  /// The identity request, signed: whoever can sign it with this application holds a token of it.
  private func signedIdentity(_ token: OAuth1Credential) async throws(Setback) -> Verification {
    let signer = Signer(
      method: provider.signatureMethod, registration: registration, token: token)
    let exchange = exchange(hiding: [token.token, token.tokenSecret])
    var result = Verification(clientID: registration.clientID)
    do {
      result.identity = try await exchange.identity { signer.request($0, effects: effects) }
    } catch {
      result.checks = [Verification.Finding(.active, isOK: false, detail: try error.refusal())]
      return result
    }
    result.checks = [Verification.Finding(.active, isOK: true), application(of: result)]
    guard result.isValid else { return result }
    result.checks += [identity(of: result, subject: nil)] + furtherFindings(of: result)
    return result
  }

  /// The provider is asked about the token, then whose it is. A token that is not the application's is sent no further.
  private func tokenInfo(
    _ words: VerifyDescriptor.TokenInfo, _ token: OAuth2Credential
  ) async throws(Setback) -> Verification {
    let exchange = exchange(hiding: [token.accessToken])
    let values = values(for: token)
    let info = try await exchange.send(words.request.filled(values).request, at: .tokenInfo)
    guard let object = info.object, let isActive = object.at(pointer: words.active)?.bool else {
      throw exchange.unusable(.tokenInfo)
    }
    func text(_ pointer: String?) -> String? {
      pointer.flatMap { object.at(pointer: $0)?.string }.map { exchange.shown(cleaned($0)) }
    }
    var result = Verification(clientID: text(words.clientID))
    result.scopes = words.scopes.flatMap { object.at(pointer: $0)?.array }?
      .compactMap { $0.string.map { exchange.shown(cleaned($0)) } }
    let expiresAt = words.expiresAt.flatMap { object.at(pointer: $0)?.int64 }
    result.expiresAt = expiresAt == 0 ? nil : expiresAt

    result.checks.append(
      Verification.Finding(
        .active, isOK: isActive,
        detail: isActive ? nil : text(words.failure) ?? "The provider calls the token invalid."))
    guard result.isValid else { return result }
    result.checks += [application(of: result), expiry(of: result)]
    guard result.isValid else { return result }
    do {
      let isOwn = result.clientID.map { sameBytes($0, registration.clientID) } ?? false
      result.identity = try await exchange.identity { template in
        // A proof with the caller's secret only fits the caller's own token.
        var template = template
        if isOwn { template.query += words.identityQuery }
        return template.filled(values).request
      }
    } catch {
      result.checks.append(.init(.identity, isOK: false, detail: try error.refusal()))
      return result
    }
    result.checks += [identity(of: result, subject: text(words.subject))]
    result.checks += furtherFindings(of: result)
    return result
  }

  func exchange(hiding secrets: [Secret]) -> Exchange {
    var proof: ProofOfPossession?
    if case .oauth2(let token)? = credential { proof = ProofOfPossession(token) }
    return Exchange(
      provider: provider, effects: effects, remaining: [],
      secrets: [registration.clientSecret] + secrets, proof: proof)
  }

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

// MARK: - Findings

extension CredentialCheck {
  func application(of result: Verification) -> Verification.Finding {
    let wanted = expected.clientID ?? registration.clientID
    let isOK = result.clientID.map { sameBytes($0, wanted) } ?? false
    return .init(
      .application, isOK: isOK,
      detail: isOK ? nil : "The token was issued to another application than the expected one.")
  }

  /// An application that the provider does not name: the one that the store or an id_token vouches for.
  func vouchedClientID(_ own: OAuth2Credential?, isBound: Bool) -> String? {
    own != nil ? registration.clientID : isBound ? expected.clientID ?? registration.clientID : nil
  }

  /// That nobody says to which application the token was issued.
  func unknownApplication(isOK: Bool) -> Verification.Finding {
    .init(
      .application, isOK: isOK,
      detail:
        "\(provider.name) does not say to which application it was issued. Give its id_token too.")
  }

  func expiry(of result: Verification) -> Verification.Finding {
    let isOK = result.expiresAt.map { $0 > effects.now() } ?? true
    return .init(.expiry, isOK: isOK, detail: isOK ? nil : "The token has expired.")
  }

  /// `subject`: whose the token is by another answer of the provider's; both must agree.
  func identity(of result: Verification, subject: String?) -> Verification.Finding {
    let id = result.identity?.id ?? ""
    let isOK = [subject, expected.id].allSatisfy { $0.map { sameBytes($0, id) } ?? true }
    return .init(
      .identity, isOK: isOK, detail: isOK ? nil : "The token belongs to another person.")
  }

  /// The findings that only an expectation asks for.
  func furtherFindings(of result: Verification) -> [Verification.Finding] {
    var findings: [Verification.Finding] = []
    if let scopes = expected.scopes {
      let missing = scopes.filter { scope in
        !(result.scopes ?? []).contains { sameBytes($0, scope) }
      }
      findings.append(
        .init(
          .scopes, isOK: missing.isEmpty,
          detail: missing.isEmpty ? nil : "The token lacks scopes that were expected."))
    }
    if expected.nonce != nil, idToken == nil {
      findings.append(
        .init(.nonce, isOK: false, detail: "There is no current id_token with a nonce."))
    }
    return findings
  }
}

extension Setback {
  /// What to tell whoever cannot try a remedy.
  fileprivate var problem: Problem {
    switch self {
    case .failed(let failure): failure.problem
    case .remedy: Problem(.internal, "A remedy was offered where none can be tried. Report this.")
    }
  }

  /// Why the provider refused the credential itself; throws what is no refusal of it.
  func refusal() throws(Setback) -> String {
    guard case .failed(let failure) = self, failure.refusesCredential else { throw self }
    return failure.problem.serverError?.text ?? failure.problem.message
  }
}

extension AccountStore {
  /// The stored credential of a person, under this registration, with this access token. `nil` where there is none, and
  /// where the store cannot be read, because it vouches for nobody then.
  func credential(
    _ token: Secret, of subject: String?, at provider: Provider,
    under registration: ClientRegistration
  ) -> OAuth2Credential? {
    guard let subject,
      let accounts = try? read(
        .usual,
        { reader throws(Problem) -> [Account] in
          try reader.accounts(of: provider.id, subject: subject, limit: 2)
        })
    else { return nil }
    for account in accounts {
      for stored in (try? credentials(account.id)) ?? [] {
        if case .oauth2(let own) = stored.credential, own.accessToken == token,
          sameBytes(stored.registration.clientID, registration.clientID)
        {
          return own
        }
      }
    }
    return nil
  }
}
