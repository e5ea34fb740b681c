extension Signer {
  /// Returns a descriptor's request, filled and signed for this moment. `adding`: further
  /// parameters of the protocol.
  func request(
    _ template: RequestTemplate, _ values: Template.Values = .init(), adding: [Parameter] = [],
    effects: Effects
  ) -> HTTPRequest {
    var (request, form) = template.filled(values)
    let authorization = authorization(
      method: request.method.rawValue, address: request.address, form: form,
      adding: adding, nonce: Self.nonce(effects), timestamp: effects.now(at: request.address))
    request.headers.append(.init("Authorization", authorization))
    return request
  }

  /// Returns 128 random bits in hexadecimal, because no two requests may share a nonce and a
  /// timestamp. RFC 5849 section 3.3.
  public static func nonce(_ effects: Effects) -> String { Hexadecimal.encode(effects.nonce()) }
}

extension OAuth2Credential {
  /// Returns a function that fills a request template with the token, the client id and the
  /// subject. The request of a token with a proof key uses the scheme `DPoP` instead of `Bearer`.
  func bearing(clientID: String, subject: String?) -> (RequestTemplate) -> HTTPRequest {
    var values = Template.Values(texts: [
      .token: revealedText(accessToken), .clientID: clientID,
    ])
    values[.subject] = subject
    return { template in
      var request = template.filled(values).request
      if proofKey != nil { request.bind() }
      return request
    }
  }
}
