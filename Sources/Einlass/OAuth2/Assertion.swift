internal import EinlassCrypto
internal import EinlassJSON

/// The names of the grants with assertions.
enum AssertionGrant {
  /// RFC 7523 section 2.1.
  static let jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"
  /// RFC 8693 section 2.1.
  static let tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"

  /// The types of tokens. RFC 8693 section 3.
  enum TokenType {
    static let accessToken = "urn:ietf:params:oauth:token-type:access_token"
    static let idToken = "urn:ietf:params:oauth:token-type:id_token"
    static let jwt = "urn:ietf:params:oauth:token-type:jwt"
    /// An assertion about a person for another server. Identity Assertion JWT Authorization Grant.
    static let identityAssertion = "urn:ietf:params:oauth:token-type:id-jag"
  }
}

/// A signed statement of an issuer about a person or a workload, for one server. Its signature is
/// not verified, because only that server has to believe it. RFC 7523 section 3.
struct Assertion: Sendable {
  /// The longest text that is read, in bytes.
  static let byteLimit = 16 << 10

  let text: Secret
  let subject: String
  let audience: [String]
  let expiresAt: UnixTime
  /// The issuer and the assertion's id (`jti`); `nil` without an id. A server may accept each id
  /// only once.
  let id: String?

  /// The reason that an assertion is not sent.
  enum Fault: Error, Equatable {
    case tooLong
    /// The text does not have the form of a signed JWT.
    case form
    /// The claim is missing or has a wrong type.
    case claim(String)
    case audience, expired
    /// The server has refused this assertion before.
    case refused
    /// The issuer made this assertion for one use, and the server has accepted it before.
    case used
  }

  /// Reads a JWT in compact form. RFC 7515 section 7.1.
  init(_ text: Secret) throws(Fault) {
    guard text.count <= Self.byteLimit else { throw .tooLong }
    let parts = revealedBytes(text).split(
      separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count == 3, !parts[2].isEmpty, Base64URL.decode(parts[2]) != nil,
      let header = Base64URL.decode(parts[0]), let payload = Base64URL.decode(parts[1]),
      (try? JSONReader.read(header))?.object != nil,
      let claims = (try? JSONReader.read(payload))?.object
    else { throw .form }
    guard let issuer = claims["iss"]?.string, !issuer.isEmpty else { throw .claim("iss") }
    guard let subject = claims["sub"]?.string, isIdentifier(subject) else { throw .claim("sub") }
    switch claims["aud"] {
    case .string(let one): audience = [one]
    case .array(let several):
      audience = several.compactMap(\.string)
      guard audience.count == several.count, !audience.isEmpty else { throw .claim("aud") }
    default: throw .claim("aud")
    }
    guard let expiresAt = try? claims.time("exp") else { throw .claim("exp") }
    (self.text, self.subject, self.expiresAt) = (text, subject, expiresAt)
    id = claims["jti"]?.string.map { "\(issuer) \($0)" }
  }

  /// Throws unless the assertion is for one of these names of a server, and has not ended.
  func check(for names: [String], now: UnixTime) throws(Fault) {
    guard isFor(names) else { throw .audience }
    guard now < expiresAt else { throw .expired }
  }

  /// Whether the assertion is for one of these names of a server, compared as bytes.
  func isFor(_ names: [String]) -> Bool {
    audience.contains { claimed in names.contains { sameBytes($0, claimed) } }
  }
}

extension Assertion.Fault {
  /// The name of the failed check: the problem's `detail`.
  var check: String {
    switch self {
    case .tooLong: "tooLong"
    case .form: "form"
    case .claim(let name): name
    case .audience: "aud"
    case .expired: "exp"
    case .refused: "refused"
    case .used: "used"
    }
  }

  /// The reason, as the end of a sentence about the assertion.
  var sentence: String {
    switch self {
    case .tooLong: "it is longer than 16 KiB"
    case .form: "it is not a signed JWT"
    case .claim(let name): "its claim \(name) is missing or malformed"
    case .audience: "it is for another audience"
    case .expired: "it has expired"
    case .refused: "it was refused before"
    case .used: "it serves once and was used before"
    }
  }
}

extension TokenEndpoint {
  /// The issuer, or the address of the token endpoint for a provider without a known issuer.
  var issuerName: String { (issuer ?? request.address).text }

  /// The names under which an assertion may address this server. RFC 7523 section 3.
  var audienceNames: [String] { [issuerName, request.address.text] }
}
