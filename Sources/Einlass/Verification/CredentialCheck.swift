internal import EinlassCrypto
internal import EinlassJSON

/// One `verify`: asks the provider about a credential by the descriptor's recipe and checks the
/// id_token's signature and claims.
///
/// A token is valid only for an application that something names, because userinfo identifies the
/// person of a token and not its application.
struct CredentialCheck {
  var provider: Provider
  /// The caller's registration, with the parts that the recipe needs, because the requests are made
  /// in its name.
  @Indirect private(set) var registration: ClientRegistration
  /// `nil` to check only an id_token.
  let credential: Credential?
  var idToken: Secret?
  /// Returns the stored credential of a subject under the registration. An added one vouches for
  /// nothing, because a front end can add a token of another application under any client id.
  var stored: @Sendable (_ subject: String?) -> OAuth2Credential?
  var expected: VerifyRequest.Expectation
  let effects: Effects

  /// Returns every finding about the credential as a result. Throws only for network failures,
  /// unusable provider responses and missing configuration.
  func run() async throws(Problem) -> Verification {
    do throws(FlowFailure) {
      guard let idToken, provider.keySource != nil else { return try await asked() }
      let (signed, checkedToken) = try await checked(idToken)
      guard credential != nil else { return signed }
      switch checkedToken {
      case .success(let token): return try await asked(beside: token, signed)
      case .failure(let fault): return try await asked(instead: idToken, signed, fault)
      }
    } catch {
      var problem = error.problem
      problem.provider = provider.id
      throw problem
    }
  }

  /// Checks the access token with the provider, beside a verified id_token.
  private func asked(
    beside token: IDToken, _ signed: Verification
  ) async throws(FlowFailure) -> Verification {
    guard signed.isValid else { return signed }
    var check = self
    // Both tokens must have the same owner.
    if provider.identity?.isSubject == true { check.expected.id = token.subject }
    if !provider.canBeAsked {
      // Without an endpoint to ask, the id_token vouches for the access token of its
      // `at_hash` or for the one stored with it.
      let own = stored(signed.identity?.id)
      guard own != nil || token.vouchesForAccessToken else { return try await check.asked() }
      var result = signed
      result.scopes = own?.scopes
      result.checks += furtherFindings(of: result)
      return result
    }
    var result = try await check.asked(isBound: token.vouchesForAccessToken)
    if provider.identity?.isSubject == true { result.signedInAt = token.signedInAt }
    let repeated = Set(result.checks.map(\.check))
    result.checks = signed.checks.filter { !repeated.contains($0.check) } + result.checks
    return result
  }

  /// Checks the access token with the provider if the id_token's fault does not concern it; any
  /// other fault is the result.
  ///
  /// An expired id_token or one of another access token says nothing about this access token
  /// (OpenID Connect Core 1.0 sections 3.1.3.6 and 12.2). The same holds for an id_token with a
  /// signature that cannot be verified any more, for example after a key change of the issuer, if
  /// the store holds it with the access token: it was verified before it was stored.
  private func asked(
    instead idToken: Secret, _ signed: Verification, _ fault: IDTokenExpectation.Fault
  ) async throws(FlowFailure) -> Verification {
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

  /// Returns the subject in an unverified id_token. Use it only to look up the stored credential.
  private func subject(claimedBy idToken: Secret) -> String? {
    guard let token = try? JSONWebSignature.parse(revealedText(idToken)),
      let claims = try? JSONReader.read(token.payload)
    else { return nil }
    return provider.identity?.identity(in: claims)?.id ?? claims["sub"]?.subject
  }

  /// Checks the access token with the provider.
  ///
  /// - Parameter isBound: whether an id_token's `at_hash` matches the access token.
  private func asked(isBound: Bool = false) async throws(FlowFailure) -> Verification {
    switch (provider.verification, credential) {
    case (.signedIdentity?, .oauth1(let token)?): return try await signedIdentity(token)
    case (.tokenInfo(let descriptor)?, .oauth2(let token)?):
      // The store can vouch for a token that the provider cannot be asked about.
      return try await isAskable(descriptor)
        ? tokenInfo(descriptor, token) : owner(of: token, isBound: isBound)
    case (.introspection?, .oauth2(let token)?), (nil, .oauth2(let token)?):
      if case .introspection(let request, let ways)? = provider.verification,
        let result = try await introspection(request, by: ways, token, isBound: isBound)
      {
        return result
      }
      return try await owner(of: token, isBound: isBound)
    case (nil, _), (_, nil), (_, .session?):
      throw FlowFailure(.flowNotSupported(provider, "verification of this credential"))
    case (.signedIdentity?, .oauth2(let token)?):
      // A flow may have an identity request of its own.
      guard let flow = provider.flows.first(where: { $0.tokens?.identity != nil }) else {
        fallthrough
      }
      var check = self
      check.provider = provider.specialized(for: flow)
      return try await check.owner(of: token, isBound: isBound)
    case (.tokenInfo?, .oauth1), (.introspection?, .oauth1):
      throw FlowFailure(
        .invalidParameter(
          "/credential/type", "\(provider.name) does not issue this type of credential."))
    }
  }

  /// Sends the signed identity request. Success proves that the token belongs to this application,
  /// because the provider accepts the signature only of the application that the token was issued
  /// to.
  private func signedIdentity(_ token: OAuth1Credential) async throws(FlowFailure) -> Verification {
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

  func exchange(hiding secrets: [Secret]) -> Exchange {
    var proof: ProofOfPossession?
    if case .oauth2(let token)? = credential { proof = ProofOfPossession(token) }
    return Exchange(
      provider: provider, effects: effects, remaining: [],
      secrets: [registration.clientSecret] + secrets, proof: proof,
      identity: provider.identity(of: registration))
  }
}

// MARK: - Findings

extension CredentialCheck {
  func application(of result: Verification) -> Verification.Finding {
    let wanted = expected.clientID ?? registration.clientID
    let isOK = result.clientID.map { sameBytes($0, wanted) } ?? false
    return .init(
      .application, isOK: isOK,
      detail: isOK ? nil : "The token was not issued to the expected application.")
  }

  /// Returns the client id of a token if the provider does not name one: the registration's if the
  /// store has the token, else the expected one (by default the registration's) if an id_token
  /// vouches for the token, else `nil`.
  func vouchedClientID(_ own: OAuth2Credential?, isBound: Bool) -> String? {
    own != nil ? registration.clientID : isBound ? expected.clientID ?? registration.clientID : nil
  }

  /// Returns the failure for a token whose application nothing names. `identity`: its person.
  func unknownApplication(of identity: Identity?) -> FlowFailure {
    if case .tokenInfo(let descriptor)? = provider.verification, !isAskable(descriptor) {
      return FlowFailure(.authenticatorUnconfigured(provider, missing: [.clientSecret]))
    }
    return FlowFailure(.applicationUnknown(provider, identity))
  }

  func expiry(of result: Verification) -> Verification.Finding {
    let isOK = result.expiresAt.map { $0 > effects.now() } ?? true
    return .init(.expiry, isOK: isOK, detail: isOK ? nil : "The token has expired.")
  }

  /// Returns the identity finding. `subject`: the owner in another response of the provider, which
  /// must agree.
  func identity(of result: Verification, subject: String?) -> Verification.Finding {
    let id = result.identity?.id ?? ""
    let isOK = [subject, expected.id].allSatisfy { $0.map { sameBytes($0, id) } ?? true }
    return .init(
      .identity, isOK: isOK, detail: isOK ? nil : "The token belongs to another person.")
  }

  /// Returns the findings for expected scopes and an expected nonce.
  func furtherFindings(of result: Verification) -> [Verification.Finding] {
    var findings: [Verification.Finding] = []
    if let scopes = expected.scopes {
      let missing = scopes.filter { scope in
        !(result.scopes ?? []).contains { sameBytes($0, scope) }
      }
      findings.append(
        .init(
          .scopes, isOK: missing.isEmpty,
          detail: missing.isEmpty ? nil : "The token lacks expected scopes."))
    }
    if expected.nonce != nil, idToken == nil {
      findings.append(
        .init(.nonce, isOK: false, detail: "There is no current id_token with a nonce."))
    }
    return findings
  }
}

extension CredentialCheck {
  /// Prepares a `verify`. Throws `flowNotSupported` if the provider has no way to check, and the
  /// problems of the registration and of the stored credential.
  init(_ request: VerifyRequest, in einlass: Einlass) throws(Problem) {
    let store = einlass.store
    let provider = try einlass.catalog.provider(request.provider)
    guard provider.can.verify || provider.identity?.request != nil else {
      throw .flowNotSupported(provider, "verification")
    }
    let own = try store.registration(request.registration, at: provider, for: request.account)
    let registration = try provider.complete(
      own,
      with: own == nil ? provider.verificationNeeds ?? provider.checkNeeds : provider.checkNeeds,
      now: einlass.effects.now())
    let issuer = provider.registered(as: registration)
    var credential = try store.credential(of: request, at: provider)
    if case (.credential, .oauth2(var token)?) = (request.subject, credential) {
      guard !revealedText(token.accessToken).unicodeScalars.contains(where: isControl) else {
        // No header can carry it.
        throw .invalidParameter(
          "/credential/token",
          "The parameter /credential/token must be text without control characters.")
      }
      if issuer.bindsTokens || token.isBound {
        token.proofKey = store.proofKey(of: token.accessToken, at: provider, under: registration)
        credential = .oauth2(token)
      }
    }
    var expected = request.expected
    expected.scopes = expected.scopes.map(provider.scopeNames.replaced)
    self.init(
      provider: issuer, registration: registration, credential: credential, idToken: nil,
      stored: { _ in nil }, expected: expected, effects: einlass.effects)
    switch (request.subject, credential) {
    case (.idToken(let text), _): idToken = text
    case (.credential, .oauth2(let token)?):
      idToken = token.idToken
      stored = { store.credential(token.accessToken, of: $0, at: provider, under: registration) }
    case (.account(let id), .oauth2(let token)?):
      stored = { _ in
        store.credential(
          token.accessToken, among: [id], under: registration, in: .application)
      }
      // A stored id_token expires soon, so it is used only if the provider has no endpoint to ask.
      idToken = provider.canBeAsked ? nil : token.idToken
    default: break
    }
  }
}

extension Provider {
  /// Whether access tokens are bound to a key. RFC 9449.
  var bindsTokens: Bool { flows.contains { $0.tokens?.isBound == true } }
}

extension VerifyRequest {
  /// The account whose stored credential is checked.
  fileprivate var account: Account.ID? {
    if case .account(let id) = subject { id } else { nil }
  }
}

extension FlowFailure {
  /// Returns the provider's reason for rejecting the credential. Throws any other failure.
  func refusal() throws(FlowFailure) -> String {
    guard refusesCredential else { throw self }
    return problem.serverError?.text ?? problem.message
  }
}

extension AccountStore {
  /// Returns the credential to verify, apart from an id_token: the given one, or the one stored for
  /// the caller's registration while access is granted.
  fileprivate func credential(
    of request: VerifyRequest, at provider: Provider
  ) throws(Problem) -> Credential? {
    switch request.subject {
    case .credential(let credential): return credential
    case .idToken: return nil
    case .account(let id):
      return try issuedCredential(
        of: account(id, of: provider), at: provider, to: request.application,
        registration(request.registration, at: provider, for: id)
      ).credential
    }
  }

  /// Returns the credential of a subject with this access token that einlass has got itself under
  /// this registration. Returns `nil` if there is none or the store cannot be read.
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
    return credential(token, among: accounts.map(\.id), under: registration, in: .application)
  }

  /// Returns the stored key that this access token is bound to (RFC 9449), from the provider's 100
  /// accounts that were used last; `nil` if there is none or the store cannot be read.
  fileprivate func proofKey(
    of token: Secret, at provider: Provider, under registration: ClientRegistration
  ) -> Secret? {
    let accounts = try? read { reader throws(Problem) in
      try reader.lastUsedAccounts(of: provider.id, limit: 100)
    }
    return credential(token, among: (accounts ?? []).map(\.id), under: registration)?.proofKey
  }

  /// - Parameter role: the wanted role; `nil` for any.
  fileprivate func credential(
    _ token: Secret, among accounts: [Account.ID], under registration: ClientRegistration,
    in role: StoredCredential.Role? = nil
  ) -> OAuth2Credential? {
    for account in accounts {
      for stored in (try? credentials(account)) ?? [] {
        if case .oauth2(let own) = stored.credential, own.accessToken == token,
          sameBytes(stored.registration.clientID, registration.clientID),
          role == nil || stored.role == role
        {
          return own
        }
      }
    }
    return nil
  }
}
