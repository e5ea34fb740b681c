internal import EinlassCrypto

extension Exchange {
  /// Sends a request to a token endpoint or a similar one: the grant's fields, the descriptor's
  /// additions, and the client authentication. RFC 6749 section 4.1.3.
  ///
  /// - Parameters:
  ///   - token: The access token to exchange for another.
  ///   - device: The device code and user code to poll with.
  ///   - others: The client authentication methods of an endpoint with a list of its own.
  func ask(
    _ endpoint: TokenEndpoint, _ template: RequestTemplate, _ grant: [Parameter],
    by registration: ClientRegistration, token: Secret? = nil, device: DeviceAuthorization? = nil,
    authentication others: [ClientAuthentication]? = nil, at step: Step
  ) async throws(FlowFailure) -> Answer {
    let identity = endpoint.identity(of: registration)
    let template = identity == nil ? template : endpoint.presenting(template, at: step)
    var values = Template.Values(texts: [.clientID: registration.clientID])
    values[.clientSecret] = registration.clientSecret.map(revealedText)
    values[.token] = token.map(revealedText)
    values[.deviceCode] = device.map { revealedText($0.deviceCode) }
    values[.userCode] = device?.userCode
    let (bare, added) = template.filled(values)
    // Each attempt needs its own assertion, because an assertion serves only once.
    return try await send(at: step) { () throws(Problem) in
      var request = bare
      request.identity = identity
      if let identity { try provider.requireUsable(identity, now: effects.now()) }
      var form = grant + added
      if !template.saysWhoAsks {
        let way = endpoint.clientAuthentication.fitting(registration, at: others)
        try way.prove(registration, form: &form, headers: &request.headers) { () throws(Problem) in
          try endpoint.assertion.text(
            by: registration, way, at: template.address, of: provider, issuer: endpoint.issuer,
            id: effects.randomBytes(16), now: effects.now(at: template.address))
        }
      }
      // Without it some providers answer in another format.
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
