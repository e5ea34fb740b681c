internal import EinlassCrypto
internal import EinlassJSON

/// Shows with each request that its sender holds the key that a token is bound to. RFC 9449.
struct ProofOfPossession: Sendable {
  /// The longest nonce that is sent back.
  static let nonceLimitBytes = 1024

  /// ES256, which every such server takes.
  let key: PrivateKey

  /// With a new key, for a new credential.
  init() { key = .generate(.ellipticCurve(.p256)) }

  init(_ key: PrivateKey) { self.key = key }

  /// With the key of a token; `nil` for one that is bound to none.
  init?(_ token: OAuth2Credential) {
    guard let key = token.proofKey.flatMap({ PrivateKey(pkcs8: $0) }) else { return nil }
    self.key = key
  }

  /// The value of a `DPoP` header. Section 4.2.
  ///
  /// - Parameters:
  ///   - address: whose query is left out.
  ///   - token: for a resource, whose digest goes along.
  ///   - nonce: what the server wants to see again.
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

  /// `ath`. Section 4.2.
  static func digest(of token: String) -> String {
    Base64URL.encode(Digest.sha256(Array(token.utf8)))
  }

  /// The same request with its proof, and with the digest of the token that it carries.
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
  /// Learns what a server wants to see in the next proof. Whether that is why it has refused this one. RFC 9449
  /// sections 8 and 9.
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
  /// Whether it carries a token that is bound to a key.
  var isBound: Bool {
    headers.contains { $0.name == "Authorization" && $0.value.hasPrefix("DPoP ") }
  }

  /// A token that is bound to a key is never sent as one that serves whoever bears it. Section 7.1.
  mutating func bind() {
    for index in headers.indices where headers[index].name == "Authorization" {
      let value = headers[index].value
      if value.hasPrefix("Bearer ") { headers[index].value = "DPoP " + value.dropFirst(7) }
    }
  }
}
