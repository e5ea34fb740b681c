internal import EinlassCrypto

extension Exchange {
  /// Sends a request to a token endpoint or a similar one: the grant's fields, the descriptor's
  /// additions, and the client authentication. RFC 6749 section 4.1.3.
  ///
  /// - Parameters:
  ///   - token: The access token to exchange for another.
  ///   - device: The device code and user code to poll with.
  ///   - scope: The scopes, for a template that mentions them.
  ///   - others: The client authentication methods of an endpoint with a list of its own.
  func ask(
    _ endpoint: TokenEndpoint, _ template: RequestTemplate, _ grant: [Parameter],
    by registration: ClientRegistration, token: Secret? = nil, device: DeviceAuthorization? = nil,
    scope: String? = nil,
    authentication others: [ClientAuthentication]? = nil, at step: Step
  ) async throws(FlowFailure) -> Answer {
    let identity = endpoint.identity(of: registration)
    let template = identity == nil ? template : endpoint.presenting(template, at: step)
    var values = Template.Values(texts: [.clientID: registration.clientID])
    values[.clientSecret] = registration.clientSecret.map(revealedText)
    values[.token] = token.map(revealedText)
    values[.deviceCode] = device.map { revealedText($0.deviceCode) }
    values[.userCode] = device?.userCode
    values[.permissions] = scope
    let bare = template.filled(values).request
    let form = grant + template.fields(values)
    var proofs: [ClientProof?] = [nil]
    if !template.saysWhoAsks {
      proofs = ClientProof.all(
        of: registration, at: template.address, of: endpoint, authentication: others,
        step: step, remembering: effects.memory)
      if form.mayBeSpent { proofs = Array(proofs.prefix(1)) }
    }
    /// The failure to report if no other audience makes the request valid.
    var invalid: FlowFailure?
    while true {
      let proof = proofs.removeFirst()
      do throws(FlowFailure) {
        // Each attempt needs its own assertion, because an assertion serves only once.
        let answer = try await send(at: step) { () throws(Problem) in
          var request = bare
          request.identity = identity
          if let identity { try provider.requireUsable(identity, now: effects.now()) }
          try prove(registration, by: proof, form, at: template, of: endpoint, &request)
          return request
        }
        if let audience = proof?.audience {
          effects.memory.assertionAudiences.write(template.address.text, audience)
        }
        return answer
      } catch {
        let failure = error.naming(proof, provider)
        guard error.mayBeAbout(proof) else { throw failure }
        if invalid == nil, error.isInvalidRequest { invalid = failure }
        guard !proofs.isEmpty else { throw invalid ?? failure }
      }
    }
  }

  /// Completes a request with its parameters and the proof of the client.
  private func prove(
    _ registration: ClientRegistration, by proof: ClientProof?, _ fields: [Parameter],
    at template: RequestTemplate, of endpoint: TokenEndpoint, _ request: inout HTTPRequest
  ) throws(Problem) {
    let address = template.address
    var form = fields
    if let proof {
      guard proof.way != .signedSecret || endpoint.issuer?.origin == address.origin else {
        throw .signedSecretElsewhere(provider)
      }
      try proof.way.prove(registration, form: &form, headers: &request.headers) {
        () throws(Problem) in
        try endpoint.assertion.text(
          by: registration, proof.way, for: proof.audience ?? address.text, of: provider,
          id: effects.randomBytes(16), now: effects.now(at: address))
      }
    }
    // Without it some providers answer in another format.
    request.headers.append(.init("Accept", "application/json"))
    template.put(form, into: &request)
  }
}

extension FlowFailure {
  /// Returns the same failure. A refused client is told which proof the server has refused, because
  /// it need not be the secret.
  fileprivate func naming(_ proof: ClientProof?, _ provider: Provider) -> FlowFailure {
    guard let proof, problem.reason == .authenticatorUnconfigured,
      problem.serverError?.oauthCode == .invalidClient, problem.advice == .changeSettings
    else { return self }
    var failure = self
    failure.problem.advice = proof.advice
    failure.problem.message =
      "\(provider.name) does not accept the application. It was sent \(proof.words)."
    return failure
  }
}

extension Provider {
  /// Returns the client secret for a request with a place for it: the registration's, or a new one
  /// that its key signs.
  func clientSecret(
    of registration: ClientRegistration, at place: WebAddress, _ effects: Effects
  ) throws(Problem) -> Secret? {
    let signing = flows.lazy.compactMap(\.tokens).first {
      $0.clientAuthentication.fitting(registration) == .signedSecret
    }
    guard let signing else { return registration.clientSecret }
    guard signing.issuer?.origin == place.origin else { throw .signedSecretElsewhere(self) }
    let address = signing.request.address
    return Secret(
      try signing.assertion.text(
        by: registration, .signedSecret,
        for: signing.assertion.audiences(at: address, of: signing, step: .token)[0], of: self,
        id: effects.randomBytes(16), now: effects.now(at: address)))
  }
}

extension RequestTemplate {
  var saysWhoAsks: Bool {
    bearer != nil || basic != nil || mentions(.clientSecret)
  }
}

extension Problem {
  /// The problem of a descriptor that would give a secret, signed for the issuer, to another server.
  fileprivate static func signedSecretElsewhere(_ provider: Provider) -> Problem {
    .flowNotSupported(provider, "a signed secret at another server than its issuer's")
  }
}
