internal import EinlassCrypto
internal import EinlassJSON

/// The proof, with each request, that its sender holds the key of a bound token. RFC 9449.
struct ProofOfPossession: Sendable {
  /// The longest nonce that is sent back.
  static let nonceLimitBytes = 1024

  /// A key for ES256, which every such server accepts.
  let key: PrivateKey

  /// Makes a new key, for a new credential.
  init() { key = .generate(.ellipticCurve(.p256)) }

  init(_ key: PrivateKey) { self.key = key }

  /// Uses the key of a token; `nil` if the token is not bound.
  init?(_ token: OAuth2Credential) {
    guard let key = token.proofKey.flatMap({ PrivateKey(pkcs8: $0) }) else { return nil }
    self.key = key
  }

  /// Returns the value of a `DPoP` header. RFC 9449 section 4.2.
  ///
  /// - Parameters:
  ///   - address: The request's address; its query is left out.
  ///   - token: The access token for a resource; its digest is included.
  ///   - nonce: The nonce that the server demands.
  ///   - id: Random bytes, because a proof serves only once.
  func text(
    method: String, address: WebAddress, token: String?, nonce: String?, id: [UInt8],
    now: UnixTime
  ) -> String? {
    guard case .point(let x, let y) = key.publicParts else { return nil }
    var target = address
    target.query = nil
    let header: JSONObject = [
      "typ": "dpop+jwt",
      "jwk": [
        "kty": "EC", "crv": "P-256", "x": .string(Base64URL.encode(x)),
        "y": .string(Base64URL.encode(y)),
      ],
    ]
    let claims = JSONObject(present: [
      "jti": .string(Base64URL.encode(id)), "htm": .string(method),
      "htu": .string(target.text), "iat": JSONValue(now),
      "ath": token.map { .string(Self.digest(of: $0)) }, "nonce": nonce.map(JSONValue.string),
    ])
    return TokenSigner(key)?.token(header: header, claims: claims)
  }

  /// Returns the `ath` claim. RFC 9449 section 4.2.
  static func digest(of token: String) -> String {
    Base64URL.encode(Digest.sha256(Array(token.utf8)))
  }
}

extension HTTPRequest {
  /// Whether the request carries a token bound to a key.
  var isBound: Bool {
    headers.contains { $0.name == "Authorization" && $0.value.hasPrefix("DPoP ") }
  }

  /// Sends a bound token as `DPoP`, never as `Bearer`. RFC 9449 section 7.1.
  mutating func bind() {
    for index in headers.indices where headers[index].name == "Authorization" {
      let value = headers[index].value
      if value.hasPrefix("Bearer ") { headers[index].value = "DPoP " + value.dropFirst(7) }
    }
  }
}
