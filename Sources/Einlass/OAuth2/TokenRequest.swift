extension TokenEndpoint {
  /// A request for a token: the grant's fields, what the descriptor adds, and the client's proof. RFC 6749 section 4.1.3.
  func request(
    _ template: RequestTemplate, _ grant: [Parameter], by registration: ClientRegistration
  ) -> HTTPRequest {
    var (request, added) = template.filled(.init(texts: [.clientID: registration.clientID]))
    var form = grant + added
    clientAuthentication.prove(registration, form: &form, headers: &request.headers)
    // Some answer in a form of their own unless they are asked for this.
    request.headers.append(.init("Accept", "application/json"))
    request.body = Array(FormEncoding.encode(form).utf8)
    return request
  }
}
