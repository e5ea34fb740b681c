extension Exchange {
  /// Asks a token endpoint, or one like it: the grant's fields, what the descriptor adds, and the client's proof. RFC 6749
  /// section 4.1.3.
  func ask(
    _ words: TokenEndpoint, _ template: RequestTemplate, _ grant: [Parameter],
    by registration: ClientRegistration, at step: Step
  ) async throws(Setback) -> Answer {
    // An assertion serves once, so that what is sent again is made again.
    try await send(at: step) { () throws(Problem) in
      var (request, added) = template.filled(.init(texts: [.clientID: registration.clientID]))
      var form = grant + added
      let way = words.clientAuthentication.fitting(registration)
      try way.prove(registration, form: &form, headers: &request.headers) { () throws(Problem) in
        try words.assertion.text(
          by: registration, way, at: template.address, of: provider, issuer: words.issuer,
          effects: effects)
      }
      // Some answer in a form of their own unless they are asked for this.
      request.headers.append(.init("Accept", "application/json"))
      request.body = Array(FormEncoding.encode(form).utf8)
      return request
    }
  }
}
