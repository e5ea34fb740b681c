internal import EinlassCrypto

/// How a client proves itself at a token endpoint: the names of RFC 7591 section 2, and two more.
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
  /// An assertion that the secret signs. OpenID Connect Core 1.0 section 9.
  case secretJWT = "client_secret_jwt"
  /// An assertion that the registration's private key signs.
  case privateKeyJWT = "private_key_jwt"

  /// Adds the proof to a request's form and headers. A registration without a secret can only name itself.
  ///
  /// - Parameter assertion: makes the one that the two last ways send.
  func prove(
    _ registration: ClientRegistration, form: inout [Parameter],
    headers: inout [HTTPRequest.Header], assertion: () throws(Problem) -> String
  ) throws(Problem) {
    let secret = registration.clientSecret.map(revealedText)
    switch (self, secret) {
    case (.privateKeyJWT, _), (.secretJWT, _?):
      form.name(registration.clientID)
      form += [
        Parameter("client_assertion_type", ClientAssertion.type),
        Parameter("client_assertion", try assertion()),
      ]
    case (.basic, let secret?):
      headers.append(
        Self.basicHeader(
          FormEncoding.encode(component: registration.clientID),
          FormEncoding.encode(component: secret)))
    case (.basicPlain, let secret?):
      headers.append(Self.basicHeader(registration.clientID, secret))
    case (.basicEmpty, _):
      headers.append(Self.basicHeader(registration.clientID, secret ?? ""))
    case (.post, let secret?):
      form.name(registration.clientID)
      form.append(Parameter("client_secret", secret))
    case (.none, _), (.basic, nil), (.basicPlain, nil), (.post, nil), (.secretJWT, nil):
      form.name(registration.clientID)
    }
  }

  private static func basicHeader(_ id: String, _ secret: String) -> HTTPRequest.Header {
    .init("Authorization", "Basic \(Base64.encode(Array("\(id):\(secret)".utf8)))")
  }
}

extension [ClientAuthentication] {
  /// The way that the registration names, else the one that it has what it takes for: its private key's if there is one,
  /// else the first of its secret's, else by name alone.
  func fitting(_ registration: ClientRegistration) -> ClientAuthentication {
    let own = registration.authentication.flatMap(ClientAuthentication.init(rawValue:))
    if let own { return own }
    if registration.privateKey != nil, contains(.privateKeyJWT) { return .privateKeyJWT }
    if contains(.basicEmpty) { return .basicEmpty }
    guard registration.clientSecret != nil else { return .none }
    return first { $0 != .none && $0 != .privateKeyJWT } ?? .none
  }
}

extension [ClientAuthentication] {
  /// The way at an endpoint that takes others than these, where it names them: the usual one, if it is among them or the
  /// only one that the registration can do.
  func fitting(
    _ registration: ClientRegistration, at others: [ClientAuthentication]?
  ) -> ClientAuthentication {
    let usual = fitting(registration)
    guard let others, !others.contains(usual) else { return usual }
    var free = registration
    free.authentication = nil
    let other = others.fitting(free)
    return others.contains(other) ? other : usual
  }
}

extension [Parameter] {
  /// Names the client, unless the form does already.
  fileprivate mutating func name(_ clientID: String) {
    if !contains(where: { $0.name == "client_id" }) {
      append(Parameter("client_id", clientID))
    }
  }
}

extension ClientRegistration {
  /// What `authentication` may say.
  public static let authentications = ClientAuthentication.allCases.map(\.rawValue)
}
