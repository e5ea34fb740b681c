internal import EinlassCrypto
internal import EinlassJSON

extension Exchange {
  /// The id_token that came with a token, once it is believed: its issuer's keys, or the registration's secret, have
  /// signed it, and it is what `expecting` says. `nil` where none came or nobody's keys are known.
  func idToken(
    of token: OAuth2Credential, at words: TokenEndpoint, for registration: ClientRegistration,
    expecting: (inout IDTokenExpectation) -> Void
  ) async throws(Setback) -> IDToken? {
    guard let issuer = words.issuer, words.vouches else { return nil }
    guard let text = token.idToken else {
      // Who asks for OpenID Connect gets one; its absence must not go unnoticed.
      guard token.scopes.contains("openid") else { return nil }
      throw .failed(Failure(.unbelievable(provider, .claim("id_token"))))
    }
    var expected = IDTokenExpectation(issuer: issuer.text, clientID: registration.clientID)
    expected.accessToken = token.accessToken
    expected.algorithms = words.algorithms
    expecting(&expected)
    switch try await believed(text, expected, words, registration) {
    case .success(let token): return token
    case .failure(let fault):
      throw .failed(
        Failure(
          .unbelievable(provider, fault, clock: effects.clockError(at: words.request.address))))
    }
  }
}

extension Problem {
  /// An id_token that is not believed. `clock`: how wrong this machine's is.
  static func unbelievable(
    _ provider: Provider, _ fault: IDTokenExpectation.Fault, clock: String? = nil
  ) -> Problem {
    var problem = Problem(
      .verificationFailed,
      "\(provider.name)'s word on who signed in is not believed: \(fault.sentence). Nothing was stored.",
      detail: fault.check, provider: provider.id)
    guard [.expired, .notYetValid, .issuedAt].contains(fault) else { return problem }
    problem.advice = .checkClock
    if let clock { problem.message += " \(clockSentence(clock, provider))" }
    return problem
  }

  /// Whether an id_token speaks of another person than before.
  var isAboutAnotherPerson: Bool {
    reason == .verificationFailed && detail == IDTokenExpectation.Fault.subject.check
  }
}

/// How wrong this machine's clock is, and what to do about it.
func clockSentence(_ error: String, _ provider: Provider) -> String {
  "This machine's clock is \(error) \(provider.name)'s. Set it and try again."
}

extension IDTokenExpectation.Fault {
  /// The check that failed, by its name in a `verify` result.
  fileprivate var check: String {
    switch self {
    case .signature, .accessTokenHash, .authorizationCodeHash: "signature"
    case .claim: "claims"
    case .issuer: "issuer"
    case .audience, .authorizedParty: "audience"
    case .expired, .notYetValid, .issuedAt, .authenticationTime: "expiry"
    case .nonce: "nonce"
    case .subject: "identity"
    }
  }

  /// What is wrong, as the end of a sentence.
  var sentence: String {
    switch self {
    case .signature(let fault): "its id_token \(fault.rawValue)"
    case .claim(let name): "\(name) is missing or malformed"
    case .issuer: "another issuer's name stands in it"
    case .audience, .authorizedParty: "it is for another application"
    case .expired: "it has expired"
    case .notYetValid, .issuedAt: "it was not issued just now"
    case .nonce: "it belongs to another sign-in"
    case .subject: "it is about another person"
    case .authenticationTime: "the person signed in too long ago"
    case .accessTokenHash, .authorizationCodeHash: "it belongs to another token"
    }
  }
}
