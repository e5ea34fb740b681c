internal import EinlassCrypto
internal import EinlassJSON

extension CredentialCheck {
  /// Checks an id_token locally; fetches the issuer's keys if they are not known. OpenID Connect
  /// Core 1.0 section 3.1.3.7.
  func checked(
    _ text: Secret
  ) async throws(FlowFailure) -> (Verification, Result<IDToken, IDTokenExpectation.Fault>) {
    guard let endpoint = provider.keySource, let issuer = endpoint.issuer else {
      throw FlowFailure(.flowNotSupported(provider, "verification of id_tokens"))
    }
    let audience = expected.clientID ?? registration.clientID
    var wanted = IDTokenExpectation(issuer: issuer.text, clientID: audience)
    wanted.algorithms = endpoint.algorithms
    wanted.furtherAudiences = endpoint.audiences
    wanted.nonce = expected.nonce
    // If the account's id is not `sub`, it is compared after the id_token is verified.
    wanted.subject = provider.identity?.isSubject ?? true ? expected.id : nil
    wanted.isFresh = false
    if case .oauth2(let token)? = credential { wanted.accessToken = token.accessToken }
    let exchange = exchange(hiding: [text])
    var result = Verification(clientID: audience)
    let checked = try await exchange.checkedIDToken(text, wanted, endpoint, registration)
    switch checked {
    case .success(let token):
      result.expiresAt = token.expiresAt
      result.signedInAt = token.signedInAt
      result.identity =
        (try? exchange.identity(in: .object(token.claims))) ?? Identity(id: token.subject)
      result.checks = Self.signedChecks(nonce: expected.nonce != nil).map {
        $0 == .identity ? identity(of: result, subject: nil) : .init($0, isOK: true)
      }
      if credential == nil { result.checks += furtherFindings(of: result) }
    case .failure(let fault):
      let failed = fault.verification
      let checks = Self.signedChecks(nonce: true)
      let passed = fault.isOfForm ? checks.prefix(1) : checks.prefix { $0 != failed }
      result.clientID = nil
      result.checks =
        passed.filter { $0 != failed }.map { .init($0, isOK: true) } + [
          .init(failed, isOK: false, detail: "The id_token is invalid, because \(fault.sentence).")
        ]
    }
    return (result, checked)
  }

  /// The checks, in the order of `IDTokenExpectation`.
  private static func signedChecks(nonce: Bool) -> [Verification.Check] {
    [.signature, .issuer, .audience, .expiry, .identity] + (nonce ? [.nonce] : [])
  }
}

extension IDTokenExpectation.Fault {
  /// Whether a claim is missing or malformed. This is checked before any claim's value.
  fileprivate var isOfForm: Bool {
    if case .claim = self { true } else { false }
  }

  fileprivate var verification: Verification.Check {
    switch self {
    case .signature, .accessTokenHash, .authorizationCodeHash: .signature
    case .claim("iss"), .claim("tid"), .issuer: .issuer
    case .claim("aud"), .audience, .furtherAudience, .authorizedParty: .audience
    case .claim("sub"), .subject: .identity
    case .claim("exp"), .claim("iat"), .claim("nbf"), .claim("auth_time"): .expiry
    case .claim: .signature
    case .expired, .notYetValid, .issuedAt, .authenticationTime: .expiry
    case .nonce: .nonce
    }
  }
}
