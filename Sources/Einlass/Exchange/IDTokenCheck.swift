internal import EinlassCrypto
internal import EinlassJSON

extension Exchange {
  /// Returns the id_token of a token answer, verified with the issuer's keys or the registration's
  /// secret, and against the values set by `expecting`. `nil` if the answer has none or the
  /// provider has no known keys.
  func idToken(
    of token: OAuth2Credential, at endpoint: TokenEndpoint, for registration: ClientRegistration,
    expecting: (inout IDTokenExpectation) -> Void
  ) async throws(FlowFailure) -> IDToken? {
    guard let issuer = endpoint.issuer, endpoint.verifiesIDTokens else { return nil }
    guard let text = token.idToken else {
      // A token with the scope `openid` must come with an id_token, so its absence is an error.
      guard token.scopes.contains("openid") else { return nil }
      throw FlowFailure(.idTokenRejected(provider, .claim("id_token")))
    }
    var expected = IDTokenExpectation(issuer: issuer.text, clientID: registration.clientID)
    expected.accessToken = token.accessToken
    expected.algorithms = endpoint.algorithms
    expected.furtherAudiences = endpoint.audiences
    expecting(&expected)
    switch try await checkedIDToken(text, expected, endpoint, registration) {
    case .success(let token): return token
    case .failure(let fault):
      throw FlowFailure(
        .idTokenRejected(provider, fault, clock: effects.clockError(at: endpoint.request.address)))
    }
  }
}

extension Problem {
  /// The failed verification of an id_token. `clock`: the error of this machine's clock.
  static func idTokenRejected(
    _ provider: Provider, _ fault: IDTokenExpectation.Fault, clock: String? = nil
  ) -> Problem {
    var problem = Problem(
      .verificationFailed,
      "The id_token of \(provider.name) is invalid, because \(fault.sentence). Nothing was stored.",
      detail: fault.check, provider: provider.id)
    guard [.expired, .notYetValid, .issuedAt].contains(fault) else { return problem }
    problem.advice = .checkClock
    if let clock { problem.message += " \(clockSentence(clock, provider))" }
    return problem
  }

  /// Whether an id_token describes another person than before.
  var isAboutAnotherPerson: Bool {
    reason == .verificationFailed && detail == IDTokenExpectation.Fault.subject.check
  }
}

/// Returns the error of this machine's clock in a sentence.
func clockSentence(_ error: String, _ provider: Provider) -> String {
  "This machine's clock is \(error) \(provider.name)'s."
}

extension IDTokenExpectation.Fault {
  /// The failed check, by its name in a `verify` result.
  var check: String {
    switch self {
    case .signature, .accessTokenHash, .authorizationCodeHash: "signature"
    case .claim: "claims"
    case .issuer: "issuer"
    case .audience, .furtherAudience, .authorizedParty: "audience"
    case .expired, .notYetValid, .issuedAt, .authenticationTime: "expiry"
    case .nonce: "nonce"
    case .subject: "identity"
    }
  }

  /// The fault, as the end of a sentence.
  var sentence: String {
    switch self {
    case .signature(let fault): "it \(fault.rawValue)"
    case .claim(let name): "its \(name) is missing or malformed"
    case .issuer: "it names another issuer"
    case .audience: "it is for another application"
    case .furtherAudience: "it is also for another audience than the descriptor names"
    case .authorizedParty: "it does not name this application as its only audience or as its azp"
    case .expired: "it has expired"
    case .notYetValid, .issuedAt: "it was not issued just now"
    case .nonce: "it belongs to another sign-in"
    case .subject: "it is about another person"
    case .authenticationTime: "the person signed in too long ago"
    case .accessTokenHash, .authorizationCodeHash: "it belongs to another token"
    }
  }
}
