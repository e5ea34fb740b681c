/// One way to prove a client in a request: the method, and the audience of its assertion.
struct ClientProof {
  let way: ClientAuthentication
  /// `nil` for a method without an assertion.
  var audience: String?
  /// Whether the registration has no secret, so that an empty one is sent.
  var isEmpty = false

  /// Returns the proofs to try at an endpoint, in order. Each method with an assertion is tried with
  /// each audience, and first with the one that has worked there. After the method that the endpoint
  /// announces comes the registration's own one.
  ///
  /// - Parameter others: The methods of an endpoint with a list of its own.
  static func all(
    of registration: ClientRegistration, at address: WebAddress, of endpoint: TokenEndpoint,
    authentication others: [ClientAuthentication]?, step: Step, remembering memory: ServerMemory
  ) -> [ClientProof] {
    let announced = endpoint.clientAuthentication.fitting(registration, at: others)
    let own = endpoint.clientAuthentication.fitting(registration)
    let ways =
      registration.authentication == nil || own == announced ? [announced] : [announced, own]
    return ways.flatMap { way -> [ClientProof] in
      let hasSecret = registration.clientSecret != nil
      guard hasSecret || !way.isForSecret || way == .basicEmpty else {
        return [ClientProof(way: .none)]
      }
      guard way.isAssertion else {
        return [ClientProof(way: way, isEmpty: !hasSecret && way.isForSecret)]
      }
      var audiences = endpoint.assertion.audiences(at: address, of: endpoint, step: step)
      if let kept = memory.assertionAudiences.read(address.text),
        let index = audiences.firstIndex(of: kept)
      {
        audiences.insert(audiences.remove(at: index), at: 0)
      }
      return audiences.map { ClientProof(way: way, audience: $0) }
    }
  }

  /// The noun for the sent proof, for a sentence.
  var words: String {
    if let audience { return "an assertion for \(audience) (\(way.rawValue))" }
    if way.isMutualTLS { return "a certificate (\(way.rawValue))" }
    if isEmpty { return "the clientId with an empty secret (\(way.rawValue))" }
    return way == .none ? "the clientId alone" : "the clientId and clientSecret (\(way.rawValue))"
  }

  /// The next step after a refusal, which names only the parts that were sent.
  var advice: Problem.Advice {
    if way.isMutualTLS { return .checkClientCertificate }
    if way.signsWithKey { return .checkClientKey }
    return way == .none || isEmpty ? .checkClientID : .changeSettings
  }
}

extension [Parameter] {
  /// Whether the grant may be spent by a request that the server refuses: a code, a refresh token or
  /// an assertion.
  var mayBeSpent: Bool {
    let polls = ["urn:ietf:params:oauth:grant-type:device_code", "client_credentials"]
    return contains { $0.name == "grant_type" && !polls.contains($0.value) }
  }
}

extension FlowFailure {
  /// Whether the server may have refused the client's proof. RFC 6749 section 5.2. Some servers call
  /// an assertion for another audience an invalid request.
  func mayBeAbout(_ proof: ClientProof?) -> Bool {
    guard remedy == nil, deviceState == nil, let said = problem.serverError else { return false }
    if isInvalidRequest, proof?.audience != nil { return true }
    return said.oauthCode == .invalidClient || said.status == 401 || said.status == 403
  }

  var isInvalidRequest: Bool { problem.serverError?.oauthCode == .invalidRequest }
}
