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
  func text(
    method: String, address: WebAddress, token: String?, nonce: String?, effects: Effects
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
      "jti": .string(Base64URL.encode(effects.randomBytes(16))), "htm": .string(method),
      "htu": .string(target.text), "iat": JSONValue(effects.now(at: address)),
      "ath": token.map { .string(Self.digest(of: $0)) }, "nonce": nonce.map(JSONValue.string),
    ])
    return TokenSigner(key)?.token(header: header, claims: claims)
  }

  /// Returns the `ath` claim. RFC 9449 section 4.2.
  static func digest(of token: String) -> String {
    Base64URL.encode(Digest.sha256(Array(token.utf8)))
  }

  /// Returns the request with its proof, including the digest of the token that it carries.
  func proving(_ request: HTTPRequest, effects: Effects) -> HTTPRequest {
    let scheme = "DPoP "
    let authorization = request.headers.first { $0.name == "Authorization" }?.value
    let token = authorization.flatMap {
      $0.hasPrefix(scheme) ? String($0.dropFirst(scheme.count)) : nil
    }
    let proof = text(
      method: request.method.rawValue, address: request.address, token: token,
      nonce: effects.memory.proofNonces.read(request.address.origin), effects: effects)
    var request = request
    if let proof { request.headers.append(.init("DPoP", proof)) }
    return request
  }
}

extension Effects {
  /// Stores the nonce that a server demands for the next proof. Returns whether the server refused
  /// this request only for lack of that nonce. RFC 9449 sections 8 and 9.
  func noteProofNonce(of response: HTTPResponse, from address: WebAddress) -> Bool {
    guard let nonce = response.header("dpop-nonce"), TokenResponse.isToken(nonce),
      nonce.utf8.count <= ProofOfPossession.nonceLimitBytes
    else { return false }
    memory.proofNonces.write(address.origin, nonce)
    let error =
      response.header("www-authenticate").flatMap(Challenge.parse)?
      .first { $0.scheme == "dpop" }?["error"]
      ?? (try? JSONReader.read(response.body))?["error"]?.string
    return [400, 401].contains(response.status) && error == "use_dpop_nonce"
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
