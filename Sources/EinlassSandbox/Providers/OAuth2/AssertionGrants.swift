import EinlassCrypto
import EinlassJSON
import FoundationEssentials

/// Grants with a signed assertion. RFC 7523 section 2.1, RFC 8693 section 2, Identity Assertion JWT
/// Authorization Grant.
extension OAuth2Provider {
  static let jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"
  static let tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
  private static let tokenTypes = "urn:ietf:params:oauth:token-type:"
  static let identityAssertion = tokenTypes + "id-jag"
  private static let assertionSeconds: Int64 = 300

  /// Exchanges a token. With the requested type `id-jag` the answer holds an assertion for another
  /// server; `nil` for another type.
  func identityAssertion(
    _ parameters: [Parameter], of application: Consumer, _ request: Request,
    in world: inout World
  ) throws(OAuth2Refusal) -> Answer? {
    guard sameBytes(parameters["grant_type"] ?? "", Self.tokenExchange),
      sameBytes(parameters["requested_token_type"] ?? "", Self.identityAssertion)
    else { return nil }
    let user = try subject(parameters, of: application, request, in: &world)
    guard let audience = parameters["audience"] else {
      throw OAuth2Refusal("invalid_request", "audience is missing")
    }
    let names = [issuer(for: request, in: world)] + trusted(in: world).map(\.issuer)
    let isKnown = names.contains { sameBytes($0, audience) }
    world.note("audience", isKnown, audience)
    guard isKnown else { throw OAuth2Refusal("invalid_target", "The audience is unknown") }
    let scopes = parameters["scope"].map(behaviour(in: world).split) ?? []
    let claims = JSONObject(present: [
      "iss": .string(issuer(for: request, in: world)), "sub": .string(user.id),
      "aud": .string(audience),
      "client_id": .string(application.record["clientThere"]?.string ?? application.id),
      "jti": .string(world.randomText(20)), "iat": JSONValue(world.now),
      "exp": JSONValue(world.now + Self.assertionSeconds),
      "resource": parameters["resource"].map(JSONValue.string),
      "scope": scopes.isEmpty ? nil : .string(scopes.joined(separator: " ")),
    ])
    guard let key = signingKeys(in: &world).first else {
      throw OAuth2Refusal("server_error", "There is no key to sign with", status: 500)
    }
    return .json(
      [
        "access_token": .string(key.sign(claims, type: "oauth-id-jag+jwt")),
        "issued_token_type": .string(Self.identityAssertion), "token_type": "N_A",
        "expires_in": JSONValue(Self.assertionSeconds),
      ], headers: [Parameter(name: "Cache-Control", value: "no-store")])
  }

  /// Redeems an assertion of a trusted issuer (RFC 7523 section 3).
  func redeemAssertion(
    _ parameters: [Parameter], of application: Consumer, _ request: Request,
    in world: inout World
  ) throws(OAuth2Refusal) -> Grant {
    try requireAssertions(in: world)
    guard let text = parameters["assertion"] else {
      throw OAuth2Refusal("invalid_request", "assertion is missing")
    }
    let claims = try claims(of: text, for: application, request, in: &world)
    let named = claims["resource"]?.string
    guard named == nil || sameBytes(parameters["resource"] ?? "", named ?? "") else {
      world.note("resource", false, parameters["resource"])
      throw OAuth2Refusal("invalid_target", "The assertion is for another resource")
    }
    let granted = claims["scope"]?.string?.split(separator: " ").map(String.init)
    let scopes = parameters["scope"].map(behaviour(in: world).split) ?? granted ?? []
    guard granted.map({ granted in scopes.allSatisfy(granted.contains) }) ?? true else {
      throw OAuth2Refusal("invalid_scope", "The assertion does not have this scope")
    }
    guard let user = user(claims["sub"]?.string ?? "", in: world) else {
      throw OAuth2Refusal("invalid_grant", "The subject of the assertion is unknown")
    }
    return Grant(
      application: application, user: user, scopes: scopes, resource: parameters["resource"])
  }

  /// Exchanges an id_token for an access token of its person.
  func exchange(
    _ parameters: [Parameter], of application: Consumer, _ request: Request,
    in world: inout World
  ) throws(OAuth2Refusal) -> Grant {
    let user = try subject(parameters, of: application, request, in: &world)
    let wanted = parameters["requested_token_type"] ?? Self.tokenTypes + "access_token"
    guard sameBytes(wanted, Self.tokenTypes + "access_token") else {
      throw OAuth2Refusal("invalid_request", "The requested token type is not supported")
    }
    var grant = Grant(
      application: application, user: user,
      scopes: behaviour(in: world).split(parameters["scope"] ?? ""),
      resource: parameters["resource"])
    grant.issuedType = wanted
    return grant
  }

  private func requireAssertions(in world: World) throws(OAuth2Refusal) {
    guard behaviour(in: world).takesAssertions else {
      throw OAuth2Refusal("unsupported_grant_type", "The grant type is not supported")
    }
  }

  /// Returns the person of the token to exchange: an id_token that was issued to the application,
  /// or a JWT of a trusted issuer.
  private func subject(
    _ parameters: [Parameter], of application: Consumer, _ request: Request,
    in world: inout World
  ) throws(OAuth2Refusal) -> Record {
    try requireAssertions(in: world)
    guard let text = parameters["subject_token"], let type = parameters["subject_token_type"] else {
      throw OAuth2Refusal("invalid_request", "subject_token or subject_token_type is missing")
    }
    let claims: JSONObject
    switch type {
    case Self.tokenTypes + "id_token":
      claims = try idTokenClaims(of: text, for: application, request, in: &world)
    case Self.tokenTypes + "jwt":
      claims = try self.claims(of: text, for: application, request, in: &world)
    default: throw OAuth2Refusal("invalid_request", "The subject token type is not supported")
    }
    guard let user = user(claims["sub"]?.string ?? "", in: world) else {
      throw OAuth2Refusal("invalid_grant", "The subject is unknown")
    }
    return user
  }

  private func idTokenClaims(
    of text: String, for application: Consumer, _ request: Request, in world: inout World
  ) throws(OAuth2Refusal) -> JSONObject {
    let token = SignedText(text)
    let keys = signingKeys(in: &world)
    let flaw: String? =
      switch token {
      case nil: "malformed"
      case let token? where !token.isSigned(by: keys): "of another signer"
      case let token?
      where !sameBytes(token.claims["iss"]?.string ?? "", issuer(for: request, in: world)):
        "of another issuer"
      case let token?
      where !token.audience.contains(where: {
        sameBytes($0, application.id) || sameBytes($0, issuer(for: request, in: world))
      }):
        "for another application"
      case let token? where token.claims["exp"]?.int64 ?? 0 <= world.now: "expired"
      default: nil
      }
    world.note("subjectToken", flaw == nil, flaw)
    guard let token, flaw == nil else {
      throw OAuth2Refusal("invalid_grant", "The subject token is \(flaw ?? "malformed")")
    }
    return token.claims
  }

  /// Returns the claims of an assertion that this server accepts, and only once.
  private func claims(
    of text: String, for application: Consumer, _ request: Request, in world: inout World
  ) throws(OAuth2Refusal) -> JSONObject {
    let token = SignedText(text)
    let own = issuer(for: request, in: world)
    let issuers = [(provider: name, issuer: own)] + trusted(in: world)
    let source = issuers.first { sameBytes($0.issuer, token?.claims["iss"]?.string ?? "") }
    let signer = Self.all.first { $0.name == source?.provider }
    let keys = signer?.signingKeys(in: &world) ?? []
    let names = [own, origin(of: request) + (path(of: .token, in: world) ?? "")]
    let id = token?.claims["jti"]?.string ?? ""
    let client = token?.claims["client_id"]?.string
    let isIdentity = token?.type == "oauth-id-jag+jwt"
    let flaw: String? =
      switch token {
      case nil: "malformed"
      case _ where source == nil: "of an untrusted issuer"
      case let token? where !token.isSigned(by: keys): "of another signer"
      case let token? where !token.audience.contains(where: { names.contains($0) }):
        "for another audience"
      case let token? where token.claims["exp"]?.int64 ?? 0 <= world.now: "expired"
      case _ where id.isEmpty: "without jti"
      case _ where world.state[at: name, "assertions", id] != nil: "used before"
      case _ where isIdentity && client == nil: "without client_id"
      case _ where client.map({ !sameBytes($0, application.id) }) ?? false:
        "for another application"
      default: nil
      }
    world.note("assertion", flaw == nil, flaw)
    guard let token, flaw == nil else {
      throw OAuth2Refusal("invalid_grant", "The assertion is \(flaw ?? "malformed")")
    }
    world.state[at: name, "assertions", id] = token.claims["exp"]
    return token.claims
  }

  /// The other issuers whose assertions count, and for which this issuer makes assertions: the name
  /// of the sandbox's provider and its issuer.
  private func trusted(in world: World) -> [(provider: String, issuer: String)] {
    (world.state[at: name, "trusted"]?.object?.members ?? []).compactMap { member in
      member.value.string.map { (member.name, $0) }
    }
  }
}

/// A JWT, read but not yet believed.
private struct SignedText {
  let type: String?
  let claims: JSONObject
  private let keyID: String
  private let signed: [UInt8]
  private let signature: [UInt8]

  init?(_ text: String) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let header = Self.bytes(parts[0]), let payload = Self.bytes(parts[1]),
      let signature = Self.bytes(parts[2]), let head = (try? JSONReader.read(header))?.object,
      let claims = (try? JSONReader.read(payload))?.object
    else { return nil }
    (self.claims, self.signature) = (claims, signature)
    (type, keyID) = (head["typ"]?.string, head["kid"]?.string ?? "")
    signed = Array((parts[0] + "." + parts[1]).utf8)
  }

  var audience: [String] { claims["aud"].map { $0.string.map { [$0] } ?? $0.strings } ?? [] }

  /// Whether the key with this token's id has signed it.
  func isSigned(by keys: [SigningKey]) -> Bool {
    guard let key = keys.first(where: { $0.id == keyID }), let half = key.publicHalf else {
      return false
    }
    return SignatureVerification.isValid(signature, of: signed, by: half, key.algorithm.scheme)
  }

  private static func bytes(_ part: Substring) -> [UInt8]? {
    let text = part.replacing("-", with: "+").replacing("_", with: "/")
    return Data(base64Encoded: text + String(repeating: "=", count: (4 - text.count % 4) % 4))
      .map { Array($0) }
  }
}

extension SigningKey {
  fileprivate var publicHalf: PublicKey? {
    switch key.publicParts {
    case .rsa(let modulus, let exponent): PublicKey(rsaModulus: modulus, exponent: exponent)
    case .point(let x, let y): PublicKey(curve: .p256, x: x, y: y)
    case .ed25519: nil
    }
  }
}
