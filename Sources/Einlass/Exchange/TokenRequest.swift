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
    let call = TokenCall(
      self, endpoint, template, grant, by: registration, token: token, device: device, scope: scope,
      at: step)
    var proofs = call.proofs(among: others, at: step)
    /// The failure to report if no other audience makes the request valid.
    var invalid: FlowFailure?
    while true {
      let proof = proofs.removeFirst()
      do throws(FlowFailure) {
        // Each attempt needs its own assertion, because an assertion serves only once.
        let answer = try await send(at: step) { () throws(Problem) in
          try call.request(by: proof)
        }
        if let audience = proof?.audience {
          effects.memory.assertionAudiences.write(call.template.address.text, audience)
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
}

/// A request to a token endpoint without the proof of its client. A class, because each attempt of
/// `ask` would hold all its parts.
private final class TokenCall: Sendable {
  let template: RequestTemplate
  private let endpoint: TokenEndpoint
  private let registration: ClientRegistration
  private let provider: Provider
  private let effects: Effects
  private let bare: HTTPRequest
  private let form: [Parameter]

  init(
    _ exchange: Exchange, _ endpoint: TokenEndpoint, _ template: RequestTemplate,
    _ grant: [Parameter], by registration: ClientRegistration, token: Secret?,
    device: DeviceAuthorization?, scope: String?, at step: Step
  ) {
    let identity = endpoint.identity(of: registration)
    let template = identity == nil ? template : endpoint.presenting(template, at: step)
    var values = Template.Values(texts: [.clientID: registration.clientID])
    values[.clientSecret] = registration.clientSecret.map(revealedText)
    values[.token] = token.map(revealedText)
    values[.deviceCode] = device.map { revealedText($0.deviceCode) }
    values[.userCode] = device?.userCode
    values[.permissions] = scope
    var bare = template.filled(values).request
    bare.identity = identity
    (self.template, self.endpoint, self.registration) = (template, endpoint, registration)
    (provider, effects, self.bare) = (exchange.provider, exchange.effects, bare)
    form = grant + template.fields(values)
  }

  /// Returns the proofs of the client to try; a single `nil` for a request that needs none.
  func proofs(among others: [ClientAuthentication]?, at step: Step) -> [ClientProof?] {
    guard !template.saysWhoAsks else { return [nil] }
    let proofs = ClientProof.all(
      of: registration, at: template.address, of: endpoint, authentication: others,
      step: step, remembering: effects.memory)
    return form.mayBeSpent ? Array(proofs.prefix(1)) : proofs
  }

  /// Returns the request with the proof of the client.
  func request(by proof: ClientProof?) throws(Problem) -> HTTPRequest {
    var request = bare
    if let identity = request.identity {
      try provider.requireUsable(identity, now: effects.now())
    }
    let address = template.address
    var form = form
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
    return request
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
