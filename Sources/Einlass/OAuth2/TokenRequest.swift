internal import EinlassCrypto

extension Exchange {
  /// Asks a token endpoint, or one like it: the grant's fields, what the descriptor adds, and the client's proof.
  /// RFC 6749 section 4.1.3.
  ///
  /// - Parameters:
  ///   - token: the access token that is turned into another.
  ///   - device: what a device has been given to ask with.
  ///   - others: the ways of proof at an endpoint that takes others than the token endpoint.
  func ask(
    _ words: TokenEndpoint, _ template: RequestTemplate, _ grant: [Parameter],
    by registration: ClientRegistration, token: Secret? = nil, device: DeviceAuthorization? = nil,
    authentication others: [ClientAuthentication]? = nil, at step: Step
  ) async throws(Setback) -> Answer {
    var values = Template.Values(texts: [.clientID: registration.clientID])
    values[.clientSecret] = registration.clientSecret.map(revealedText)
    values[.token] = token.map(revealedText)
    values[.deviceCode] = device.map { revealedText($0.deviceCode) }
    values[.userCode] = device?.userCode
    let (bare, added) = template.filled(values)
    // An assertion serves once, so that what is sent again is made again.
    return try await send(at: step) { () throws(Problem) in
      var request = bare
      var form = grant + added
      if !template.saysWhoAsks {
        let way = words.clientAuthentication.fitting(registration, at: others)
        try way.prove(registration, form: &form, headers: &request.headers) { () throws(Problem) in
          try words.assertion.text(
            by: registration, way, at: template.address, of: provider, issuer: words.issuer,
            effects: effects)
        }
      }
      // Some answer in a form of their own unless they are asked for this.
      request.headers.append(.init("Accept", "application/json"))
      request.body = Array(FormEncoding.encode(form).utf8)
      return request
    }
  }
}

extension RequestTemplate {
  fileprivate var saysWhoAsks: Bool {
    bearer != nil || basic != nil || mentions(.clientSecret)
  }
}
