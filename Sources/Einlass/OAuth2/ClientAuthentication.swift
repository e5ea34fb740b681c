internal import EinlassCrypto

/// How a client proves itself at a token endpoint: the names of RFC 7591 section 2, and one more.
enum ClientAuthentication: String, Sendable, CaseIterable {
  /// Public: its id stands in the form.
  case none
  /// RFC 6749 section 2.3.1: id and secret are form-encoded, then sent as HTTP Basic.
  case basic = "client_secret_basic"
  /// HTTP Basic of id and secret as they are: what many providers take alone, against the RFC.
  case basicPlain = "client_secret_basic_plain"
  /// The same, with an empty secret for a registration that has none.
  case basicEmpty = "client_secret_basic_empty"
  /// Id and secret in the form.
  case post = "client_secret_post"

  /// Adds the proof to a request's form and headers. A registration without a secret can only name itself.
  func prove(
    _ registration: ClientRegistration, form: inout [Parameter],
    headers: inout [HTTPRequest.Header]
  ) {
    let empty = self == .basicEmpty ? "" : nil
    guard let secret = registration.clientSecret.map(revealedText) ?? empty, self != .none else {
      form.append(Parameter("client_id", registration.clientID))
      return
    }
    switch self {
    case .none: break
    case .basic:
      headers.append(
        Self.basicHeader(
          FormEncoding.encode(component: registration.clientID),
          FormEncoding.encode(component: secret)))
    case .basicPlain, .basicEmpty:
      headers.append(Self.basicHeader(registration.clientID, secret))
    case .post:
      form += [Parameter("client_id", registration.clientID), Parameter("client_secret", secret)]
    }
  }

  private static func basicHeader(_ id: String, _ secret: String) -> HTTPRequest.Header {
    .init("Authorization", "Basic \(Base64.encode(Array("\(id):\(secret)".utf8)))")
  }
}
