internal import EinlassCrypto
public import EinlassJSON

/// An issuer's statement about a person, after verification. OpenID Connect Core 1.0 section 2.
public struct IDToken: Sendable {
  /// All claims of the token.
  public let claims: JSONObject
  /// `iss` and `sub` identify the person permanently, but only together. Where the issuer has
  /// tenants, `subject` has the tenant before `sub`.
  public let issuer: String
  public fileprivate(set) var subject: String
  public let expiresAt: UnixTime
  public let issuedAt: UnixTime
  /// The time of the person's sign-in: `auth_time`, or else the time of issue of a token with a
  /// `nonce`, because a refreshed token has none. OpenID Connect Core 1.0 section 12.2.
  var signedInAt: UnixTime? {
    claims["auth_time"]?.int64 ?? (claims["nonce"]?.present == nil ? nil : issuedAt)
  }
  /// Whether its `at_hash` matches the expected access token. OpenID Connect Core 1.0 section
  /// 3.1.3.6.
  public fileprivate(set) var vouchesForAccessToken = false
}

/// The expected values of an ID token. OpenID Connect Core 1.0 section 3.1.3.7.
public struct IDTokenExpectation: Sendable {
  /// The issuer, or a template with the place `{tenantid}` for the token's `tid`.
  public var issuer: String
  public var clientID: String
  /// The audiences that a token may have beside the client; `nil` to require this client as the
  /// authorized party of a token for others too.
  public var furtherAudiences: [String]?
  /// The nonce of the authorization request; `nil` for a refreshed token, which may lack it.
  public var nonce: String?
  /// The person before a refresh. OpenID Connect Core 1.0 section 12.2.
  public var subject: String?
  /// The requested `max_age` in seconds: the longest time since the person's last authentication.
  public var maxAgeSeconds: Int64?
  /// The access token and code received with the token, to compare with `at_hash` and `c_hash` if
  /// present.
  public var accessToken: Secret?
  public var authorizationCode: Secret?
  public var algorithms: Set<TokenAlgorithm> = TokenAlgorithm.usual
  /// The tolerated clock error in seconds; 300 at most.
  public var skewSeconds: Int64 = 60
  /// Whether the token was issued just now. If so, an `iat` more than ten minutes away is refused.
  public var isFresh = true

  public init(issuer: String, clientID: String) {
    self.issuer = issuer
    self.clientID = clientID
  }

  /// The first fault of a token, reported to the front end as the failed check.
  public enum Fault: Error, Sendable, Equatable {
    case signature(JSONWebSignature.Fault)
    /// The payload is no JSON object, or a claim has a wrong type or is missing.
    case claim(String)
    case issuer, audience, furtherAudience, authorizedParty, expired, notYetValid, issuedAt, nonce,
      subject
    case authenticationTime, accessTokenHash, authorizationCodeHash
  }

  /// Returns the token if one of these keys has signed it and all its claims are as expected at
  /// this time.
  public func check(_ text: String, keys: JSONWebKeySet, now: UnixTime) throws(Fault) -> IDToken {
    let name = IssuerName(issuer)
    let keys = name.isTemplate ? keys.ofTenant(in: text) : keys
    let (signature, claims) = try JSONWebSignature.claims(in: text, keys, algorithms)
    // Security event tokens, including logout tokens, have this claim. RFC 8417 section 2.2.
    guard claims["events"]?.present == nil else { throw .signature(.type) }
    var token = IDToken(
      claims: claims, issuer: try claims.text("iss"), subject: try claims.subject(),
      expiresAt: try claims.time("exp"), issuedAt: try claims.time("iat"))
    let tenant = name.isTemplate ? try claims.text("tid") : nil
    guard name.isNamed(by: token.issuer, tenant: tenant) else { throw .issuer }
    try checkAudience(claims)
    try checkTimes(token, now)
    try checkClaims(of: token)
    if name.isTemplate {
      guard let person = JSONValue.object(claims).subject(ofTenant: token.subject) else {
        throw .claim("tid")
      }
      token.subject = person
    }
    if let subject, !sameBytes(subject, token.subject) { throw .subject }
    token.vouchesForAccessToken = try holdsHash(
      "at_hash", of: accessToken, in: claims, signature.algorithm, or: .accessTokenHash)
    _ = try holdsHash(
      "c_hash", of: authorizationCode, in: claims, signature.algorithm, or: .authorizationCodeHash)
    return token
  }

  /// Requires this client in the audience. Other audiences must be named by the descriptor, or need
  /// this client as the authorized party.
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
    let party = claims["azp"]?.present
    let others = audience.filter { !sameBytes($0, clientID) }
    if let furtherAudiences {
      guard Set(others).isSubset(of: furtherAudiences) else { throw .furtherAudience }
    } else {
      guard party != nil || audience.count == 1 else { throw .authorizedParty }
    }
    guard party == nil || party?.string.map({ sameBytes($0, clientID) }) == true else {
      throw .authorizedParty
    }
  }

  private func checkTimes(_ token: IDToken, _ now: UnixTime) throws(Fault) {
    let skew = min(max(skewSeconds, 0), 300)
    guard now < token.expiresAt + skew else { throw .expired }
    if token.claims["nbf"]?.present != nil, try token.claims.time("nbf") > now + skew {
      throw .notYetValid
    }
    guard token.issuedAt <= now + (isFresh ? 600 : skew), !isFresh || token.issuedAt >= now - 600
    else { throw .issuedAt }
    if let maxAgeSeconds, try token.claims.time("auth_time") < now - maxAgeSeconds - skew {
      throw .authenticationTime
    }
  }

  private func checkClaims(of token: IDToken) throws(Fault) {
    guard (1...255).contains(token.subject.utf8.count),
      token.subject.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
    else { throw .claim("sub") }
    if let nonce {
      guard let said = token.claims["nonce"]?.string,
        constantTimeEqual(Array(said.utf8), Array(nonce.utf8))
      else { throw .nonce }
    }
  }

  /// Whether the token has the claim with the left half of the digest. OpenID Connect Core 1.0
  /// section 3.1.3.6. A different value is a fault, except with EdDSA, for which the specification
  /// names no digest.
  private func holdsHash(
    _ claim: String, of secret: Secret?, in claims: JSONObject, _ algorithm: TokenAlgorithm,
    or fault: Fault
  ) throws(Fault) -> Bool {
    guard let said = claims[claim]?.present, let secret else { return false }
    let isSame = said.string.map { sameBytes($0, algorithm.halfDigest(of: secret)) } ?? false
    guard isSame || algorithm == .edDSA else { throw fault }
    return isSame
  }
}

extension JSONWebSignature {
  /// Returns the claims of a token that one of the keys has signed with an allowed algorithm.
  static func claims(
    in text: String, _ keys: JSONWebKeySet, _ allowed: Set<TokenAlgorithm>
  ) throws(IDTokenExpectation.Fault) -> (JSONWebSignature, JSONObject) {
    let signature: JSONWebSignature
    do throws(Fault) {
      signature = try parse(text)
      guard signature.isOfIDToken else { throw .type }
      try signature.verify(keys, allowed: allowed)
    } catch { throw .signature(error) }
    guard let claims = (try? JSONReader.read(signature.payload))?.object else {
      throw .claim("claims")
    }
    return (signature, claims)
  }

  /// Whether the header's `typ` allows an ID token. RFC 7515 section 4.1.9, RFC 8725 section 3.11.
  fileprivate var isOfIDToken: Bool {
    type.map { ["jwt", "application/jwt"].contains($0.lowercased()) } ?? true
  }
}

extension JSONValue {
  /// A `sub` as text. Some issuers write a whole number for its digits; an exponent or a fraction
  /// would have several spellings.
  var subject: String? {
    if case .number(let number) = self, number.isInteger { number.lexeme } else { string }
  }
}

extension JSONObject {
  fileprivate func text(_ claim: String) throws(IDTokenExpectation.Fault) -> String {
    guard let text = self[claim]?.string else { throw .claim(claim) }
    return text
  }

  fileprivate func subject() throws(IDTokenExpectation.Fault) -> String {
    guard let subject = self["sub"]?.subject else { throw .claim("sub") }
    return subject
  }

  /// Returns a `NumericDate`, possibly with a fraction, in a range without overflow. RFC 7519
  /// section 2.
  func time(_ claim: String) throws(IDTokenExpectation.Fault) -> UnixTime {
    guard case .number(let number)? = self[claim], let seconds = Double(number.lexeme),
      (0..<9_007_199_254_740_992).contains(seconds)
    else { throw .claim(claim) }
    return UnixTime(seconds)
  }
}
