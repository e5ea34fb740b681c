internal import EinlassJSON

// Signed answers of identity requests. OpenID Connect Core 1.0 section 5.3.2.

extension Exchange {
  /// Returns the claims in the answer of an identity request. A signed answer needs one of the
  /// issuer's keys. The caller compares its `sub` with that of the id_token.
  func claims(
    in answer: Answer, signedFor registration: ClientRegistration?
  ) async throws(FlowFailure) -> JSONValue {
    if let object = answer.object { return object }
    guard answer.isSigned, let registration, let endpoint = provider.keySource,
      let keySet = endpoint.keySet, let issuer = endpoint.issuer
    else {
      var failure = unusable(.identity, answer.fault)
      failure.isUnreadable = true
      throw failure
    }
    // The registration may name another algorithm for these answers than for id_tokens.
    let allowed = endpoint.algorithms.union(TokenAlgorithm.usual).subtracting([.hs256])
    let now = effects.now(at: endpoint.request.address)
    // Some servers end the text with a line feed.
    let end = answer.body.lastIndex { $0 > 0x20 }.map { $0 + 1 } ?? 0
    let text = String(decoding: answer.body[..<end], as: UTF8.self)
    let result = try await checked(by: keySet, isFresh: true) { keys in
      Result { () throws(IDTokenExpectation.Fault) in
        let claims = try JSONWebSignature.claims(in: text, keys, allowed).1
        try claims.requireUserinfo(from: issuer.text, for: registration.clientID, now: now)
        return JSONValue.object(claims)
      }
    }
    switch result {
    case .success(let claims): return claims
    case .failure(let fault): throw FlowFailure(.userinfoRejected(provider, fault))
    }
  }
}

extension JSONObject {
  /// Throws unless the claims that name an issuer, an audience or an end allow the answer.
  fileprivate func requireUserinfo(
    from issuer: String, for clientID: String, now: UnixTime
  ) throws(IDTokenExpectation.Fault) {
    if let said = self["iss"]?.present {
      let isNamed = said.string.map {
        IssuerName(issuer).isNamed(by: $0, tenant: self["tid"]?.string)
      }
      guard isNamed == true else { throw .issuer }
    }
    if let said = self["aud"]?.present {
      let audience = said.array ?? [said]
      guard audience.contains(.string(clientID)) else { throw .audience }
    }
    if self["exp"]?.present != nil, now >= (try time("exp")) + 60 { throw .expired }
  }
}

extension HTTPResponse {
  /// Whether the body is declared as a JSON Web Token.
  var isSigned: Bool {
    let type = header("content-type")?.prefix { $0 != ";" }.lowercased()
    return type?.split(separator: " ").first == "application/jwt"
  }
}

extension Problem {
  /// The failed verification of a signed answer to the identity request.
  fileprivate static func userinfoRejected(
    _ provider: Provider, _ fault: IDTokenExpectation.Fault
  ) -> Problem {
    Problem(
      .verificationFailed,
      "The signed answer of \(provider.name) about the person is invalid, because \(fault.sentence). Nothing was stored.",
      detail: fault.check, provider: provider.id)
  }
}
