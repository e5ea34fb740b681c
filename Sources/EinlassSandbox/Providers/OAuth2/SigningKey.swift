import EinlassCrypto
import EinlassJSON
import FoundationEssentials

/// A key for signing id_tokens, from its record in the state.
struct SigningKey: Sendable {
  let id: String
  let algorithm: Algorithm
  let key: PrivateKey

  /// The algorithm names of RFC 7518 section 3.1.
  enum Algorithm: String, CaseIterable, Sendable {
    case rs256 = "RS256"
    case es256 = "ES256"

    var kind: PublicKey.Kind { self == .rs256 ? .rsa : .ellipticCurve(.p256) }
    var scheme: SignatureVerification.Scheme {
      self == .rs256 ? .rsaPKCS1(.sha256) : .ecdsa(.p256, .sha256)
    }
  }

  /// The public key as a JWK (RFC 7517 section 4, RFC 7518 section 6).
  var json: JSONValue {
    var members: JSONObject = [
      "kid": .string(id), "use": "sig", "alg": .string(algorithm.rawValue),
    ]
    switch key.publicParts {
    case .rsa(let modulus, let exponent):
      members["kty"] = "RSA"
      members["n"] = .string(base64URL(modulus))
      members["e"] = .string(base64URL(exponent))
    case .point(let x, let y):
      members["kty"] = "EC"
      members["crv"] = "P-256"
      members["x"] = .string(base64URL(x))
      members["y"] = .string(base64URL(y))
    case .ed25519: break
    }
    return .object(members)
  }

  /// Returns a JWT of this type in compact form (RFC 7515 section 7.1).
  func sign(_ claims: JSONObject, type: String = "JWT") -> String {
    let header: JSONValue = [
      "alg": .string(algorithm.rawValue), "kid": .string(id), "typ": .string(type),
    ]
    let text = base64URL(header.bytes()) + "." + base64URL(JSONValue.object(claims).bytes())
    return text + "." + base64URL(key.sign(Array(text.utf8), algorithm.scheme) ?? [])
  }
}

extension OAuth2Provider {
  /// Returns the keys in the state, and generates missing ones. To rotate keys, a test edits the
  /// keys in the state and sets `signingKey`.
  func signingKeys(in world: inout World) -> [SigningKey] {
    (world.state[at: name, "keys"]?.object?.members ?? []).compactMap { member in
      let algorithm = member.value["algorithm"]?.string.flatMap(SigningKey.Algorithm.init) ?? .rs256
      if let text = member.value["key"]?.string {
        guard let bytes = Data(base64Encoded: text),
          let key = PrivateKey(pkcs8: Secret(Array(bytes))), key.kind == algorithm.kind
        else { return nil }
        return SigningKey(id: member.name, algorithm: algorithm, key: key)
      }
      let key = PrivateKey.generate(algorithm.kind)
      world.state[at: name, "keys", member.name, "key"] = .string(
        Data(key.pkcs8.reveal()).base64EncodedString())
      return SigningKey(id: member.name, algorithm: algorithm, key: key)
    }
  }

  /// The key set for the `keys` endpoint.
  func publicKeys(in world: inout World) -> [JSONValue] { signingKeys(in: &world).map(\.json) }

  /// Returns an id_token. OpenID Connect Core 1.0 sections 2 and 5.4.
  func idToken(
    for grant: Grant, user: Record, access: String, _ request: Request, in world: inout World
  ) throws(OAuth2Refusal) -> String {
    let wanted = behaviour(in: world).signingKey
    let keys = signingKeys(in: &world)
    guard let key = keys.first(where: { wanted == nil || $0.id == wanted }) else {
      throw OAuth2Refusal("server_error", "There is no key to sign with", status: 500)
    }
    let digest = Digest.sha256(Array(access.utf8))
    let application = JSONValue.string(grant.application.id)
    let further = behaviour(in: world).idTokenAudience.map(JSONValue.string)
    var claims = JSONObject(present: [
      "iss": .string(issuer(for: request, in: world)), "sub": .string(user.id),
      "aud": further.map { [application, $0] } ?? application,
      "azp": further.map { _ in application }, "iat": JSONValue(world.now),
      "exp": JSONValue(world.now + behaviour(in: world).idTokenSeconds),
      "nonce": grant.nonce.map(JSONValue.string),
      "at_hash": .string(base64URL(Array(digest.prefix(16)))),
    ])
    for claim in person(user, scopes: grant.scopes).members where claims[claim.name] == nil {
      claims[claim.name] = claim.value
    }
    return key.sign(claims)
  }

  /// Returns the claims of a user that the scopes permit. OpenID Connect Core 1.0 sections 5.1 and
  /// 5.4.
  func person(_ user: Record, scopes: [String]) -> JSONObject {
    let profile = scopes.contains("profile")
    let email = scopes.contains("email")
    return JSONObject(present: [
      "sub": .string(user.id), "name": profile ? user.value["name"] : nil,
      "preferred_username": profile ? user.value["username"] : nil,
      "picture": profile ? user.value["avatar"] : nil,
      "email": email ? user.value["email"] : nil,
      "email_verified": email ? user.value["emailVerified"] : nil,
    ])
  }
}

/// Encodes base64url without padding (RFC 7515 section 2).
func base64URL(_ bytes: [UInt8]) -> String {
  Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
    .replacing("=", with: "")
}
