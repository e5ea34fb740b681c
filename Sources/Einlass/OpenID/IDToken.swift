internal import EinlassCrypto
public import EinlassJSON

/// What an issuer says of a person, once it is believed. OpenID Connect Core 1.0 section 2.
public struct IDToken: Sendable {
  /// Every claim of the token.
  public let claims: JSONObject
  /// `iss` and `sub` name the person, together and for ever.
  public let issuer: String
  public let subject: String
  public let expiresAt: UnixTime
  public let issuedAt: UnixTime
  /// Whether its `at_hash` is that of the access token that was expected. Section 3.1.3.6.
  public fileprivate(set) var vouchesForAccessToken = false
}

/// What an ID token has to be. OpenID Connect Core 1.0 section 3.1.3.7, and C-73.
public struct IDTokenExpectation: Sendable {
  public var issuer: String
  public var clientID: String
  /// As sent with the authorization request; a token that was refreshed may lack its own.
  public var nonce: String?
  /// Of a refreshed token: the same person as before. Section 12.2.
  public var subject: String?
  /// As sent, in seconds: the person has proven themselves no longer ago.
  public var maxAgeSeconds: Int64?
  /// What came with the token, to compare with `at_hash` and `c_hash` where the token has them.
  public var accessToken: Secret?
  public var authorizationCode: Secret?
  public var algorithms: Set<TokenAlgorithm> = TokenAlgorithm.usual
  /// By how much either clock may be wrong; 300 at most.
  public var skewSeconds: Int64 = 60
  /// Whether it was issued just now, so that one issued ten minutes ago, or in ten minutes, is refused.
  public var isFresh = true

  public init(issuer: String, clientID: String) {
    self.issuer = issuer
    self.clientID = clientID
  }

  /// The first thing that is wrong with a token: what the front end is told as the failed check.
  public enum Fault: Error, Sendable, Equatable {
    case signature(JSONWebSignature.Fault)
    /// The payload is no JSON object, or a claim has a wrong type or is missing.
    case claim(String)
    case issuer, audience, authorizedParty, expired, notYetValid, issuedAt, nonce, subject
    case authenticationTime, accessTokenHash, authorizationCodeHash
  }

  /// The token, if the signature is one of these keys' and everything is as expected at this time.
  public func check(_ text: String, keys: JSONWebKeySet, now: UnixTime) throws(Fault) -> IDToken {
    let signature: JSONWebSignature
    do throws(JSONWebSignature.Fault) {
      signature = try JSONWebSignature.parse(text)
      guard signature.isOfIDToken else { throw .type }
      try signature.verify(keys, allowed: algorithms)
    } catch { throw .signature(error) }
    guard let claims = (try? JSONReader.read(signature.payload))?.object else {
      throw .claim("claims")
    }
    // Security event tokens, of which logout tokens are some, have it. RFC 8417 section 2.2.
    guard claims["events"] == nil else { throw .signature(.type) }
    var token = IDToken(
      claims: claims, issuer: try claims.text("iss"), subject: try claims.text("sub"),
      expiresAt: try claims.time("exp"), issuedAt: try claims.time("iat"))
    guard sameBytes(token.issuer, issuer) else { throw .issuer }
    try checkAudience(claims)
    try checkTimes(token, now)
    try checkPerson(token)
    token.vouchesForAccessToken = try holdsHash(
      "at_hash", of: accessToken, in: claims, signature.algorithm, or: .accessTokenHash)
    _ = try holdsHash(
      "c_hash", of: authorizationCode, in: claims, signature.algorithm, or: .authorizationCodeHash)
    return token
  }

  /// Ours and nobody else's: einlass trusts no other audience, so further ones need us as the authorized party.
  private func checkAudience(_ claims: JSONObject) throws(Fault) {
    let audience: [String]
    switch claims["aud"] {
    case .string(let one): audience = [one]
    case .array(let several):
      audience = several.compactMap(\.string)
      guard audience.count == several.count else { throw .claim("aud") }
    default: throw .claim("aud")
    }
    guard audience.contains(where: { sameBytes($0, clientID) }) else { throw .audience }
    let party = claims["azp"]
    guard party != nil || audience.count == 1 else { throw .authorizedParty }
    guard party == nil || party?.string.map({ sameBytes($0, clientID) }) == true else {
      throw .authorizedParty
    }
  }

  private func checkTimes(_ token: IDToken, _ now: UnixTime) throws(Fault) {
    let skew = min(max(skewSeconds, 0), 300)
    guard now < token.expiresAt + skew else { throw .expired }
    if token.claims["nbf"] != nil, try token.claims.time("nbf") > now + skew { throw .notYetValid }
    guard token.issuedAt <= now + (isFresh ? 600 : skew), !isFresh || token.issuedAt >= now - 600
    else { throw .issuedAt }
    if let maxAgeSeconds, try token.claims.time("auth_time") < now - maxAgeSeconds - skew {
      throw .authenticationTime
    }
  }

  private func checkPerson(_ token: IDToken) throws(Fault) {
    guard (1...255).contains(token.subject.utf8.count),
      token.subject.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
    else { throw .claim("sub") }
    if let subject, !sameBytes(subject, token.subject) { throw .subject }
    if let nonce {
      guard let said = token.claims["nonce"]?.string,
        constantTimeEqual(Array(said.utf8), Array(nonce.utf8))
      else { throw .nonce }
    }
  }

  /// Whether the token has the claim: the left half of the digest. Section 3.1.3.6. Another one is a fault, but not
  /// beside EdDSA, for which no digest is named.
  private func holdsHash(
    _ claim: String, of secret: Secret?, in claims: JSONObject, _ algorithm: TokenAlgorithm,
    or fault: Fault
  ) throws(Fault) -> Bool {
    guard let said = claims[claim], let secret else { return false }
    let isSame = said.string.map { sameBytes($0, algorithm.halfDigest(of: secret)) } ?? false
    guard isSame || algorithm == .edDSA else { throw fault }
    return isSame
  }
}

extension JSONWebSignature {
  /// Whether its header permits that it is an ID token. RFC 7515 section 4.1.9, RFC 8725 section 3.11.
  fileprivate var isOfIDToken: Bool {
    type.map { ["jwt", "application/jwt"].contains($0.lowercased()) } ?? true
  }
}

extension JSONObject {
  fileprivate func text(_ claim: String) throws(IDTokenExpectation.Fault) -> String {
    guard let text = self[claim]?.string else { throw .claim(claim) }
    return text
  }

  /// A `NumericDate`, which may have a fraction; within what can be added to. RFC 7519 section 2.
  func time(_ claim: String) throws(IDTokenExpectation.Fault) -> UnixTime {
    guard case .number(let number)? = self[claim], let seconds = Double(number.lexeme),
      (0..<9_007_199_254_740_992).contains(seconds)
    else { throw .claim(claim) }
    return UnixTime(seconds)
  }
}
