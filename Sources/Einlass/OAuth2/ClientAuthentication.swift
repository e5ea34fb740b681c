internal import EinlassCrypto

/// A client's way to authenticate at a token endpoint: the names of RFC 7591 section 2, and three
/// more.
enum ClientAuthentication: String, Sendable, CaseIterable {
  /// A public client: its id is in the form.
  case none
  /// RFC 6749 section 2.3.1: id and secret are form-encoded, then sent as HTTP Basic.
  case basic = "client_secret_basic"
  /// HTTP Basic of the unencoded id and secret. Many providers accept only this, against the RFC.
  case basicPlain = "client_secret_basic_plain"
  /// The same, with an empty secret if the registration has none.
  case basicEmpty = "client_secret_basic_empty"
  /// Id and secret in the form.
  case post = "client_secret_post"
  /// An assertion signed with the secret. OpenID Connect Core 1.0 section 9.
  case secretJWT = "client_secret_jwt"
  /// An assertion signed with the registration's private key.
  case privateKeyJWT = "private_key_jwt"
  /// Id and secret in the form. The secret is an assertion, signed with the registration's private
  /// key in the name of its team.
  case signedSecret = "client_secret_signed"
  /// The certificate of the TLS connection, from an authority that the server trusts. RFC 8705
  /// section 2.1.
  case tls = "tls_client_auth"
  /// The certificate of the TLS connection, registered itself. RFC 8705 section 2.2.
  case selfSignedTLS = "self_signed_tls_client_auth"

  /// Whether the certificate of the TLS connection proves the client. It comes before every other
  /// way, because a person adds a certificate for nothing else.
  var isMutualTLS: Bool { self == .tls || self == .selfSignedTLS }

  /// Adds the client authentication to a request's form and headers. A registration without a
  /// secret can only send its id.
  ///
  /// - Parameter assertion: Makes the assertion for `secretJWT`, `privateKeyJWT` and `signedSecret`.
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
    case (.signedSecret, _):
      form.name(registration.clientID)
      form.append(Parameter("client_secret", try assertion()))
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
    case (.none, _), (.basic, nil), (.basicPlain, nil), (.post, nil), (.secretJWT, nil),
      (.tls, _), (.selfSignedTLS, _):
      form.name(registration.clientID)
    }
  }

  /// The method that this one is a spelling of, as servers announce it.
  fileprivate var standard: ClientAuthentication {
    self == .basicPlain || self == .basicEmpty ? .basic : self
  }

  /// Whether an assertion proves the client.
  var isAssertion: Bool { self == .secretJWT || signsWithKey }

  /// Whether the registration's private key signs the assertion.
  var signsWithKey: Bool { self == .privateKeyJWT || self == .signedSecret }

  /// Whether a client secret proves the client.
  var isForSecret: Bool { self != .none && !signsWithKey && !isMutualTLS }

  private static func basicHeader(_ id: String, _ secret: String) -> HTTPRequest.Header {
    .init("Authorization", "Basic \(Base64.encode(Array("\(id):\(secret)".utf8)))")
  }
}

extension [ClientAuthentication] {
  /// Whether a client without a certificate has no choice.
  var areMutualTLS: Bool { !isEmpty && allSatisfy(\.isMutualTLS) }

  /// Returns the way that the registration names. Otherwise returns the first way for a
  /// certificate, the first way that signs with a private key, then `basicEmpty`, then the first way
  /// for a secret, as far as the list holds them, and `none` as the last resort. A list of ways for a
  /// certificate alone leaves no other choice.
  func fitting(_ registration: ClientRegistration) -> ClientAuthentication {
    let own = registration.authentication.flatMap(ClientAuthentication.init(rawValue:))
    if let own { return own }
    if let way = first(where: \.isMutualTLS),
      registration.certificate != nil || areMutualTLS
    {
      return way
    }
    if let way = first(where: \.signsWithKey), registration.privateKey != nil { return way }
    if contains(.basicEmpty) { return .basicEmpty }
    guard registration.clientSecret != nil else { return .none }
    return first { $0.isForSecret } ?? .none
  }
}

extension [ClientAuthentication] {
  /// Returns the way at an endpoint with its own list `others`. The usual way stays if it is on
  /// that list or if the registration can use nothing on it.
  func fitting(
    _ registration: ClientRegistration, at others: [ClientAuthentication]?
  ) -> ClientAuthentication {
    let usual = fitting(registration)
    guard let others, !others.contains(where: { $0 == usual || $0 == usual.standard }) else {
      return usual
    }
    var free = registration
    free.authentication = nil
    let other = others.fitting(free)
    return others.contains(other) ? other : usual
  }
}

extension [Parameter] {
  /// Adds the client's id, unless the form has it already.
  fileprivate mutating func name(_ clientID: String) {
    if !contains(where: { $0.name == "client_id" }) {
      append(Parameter("client_id", clientID))
    }
  }
}

extension ClientRegistration {
  /// The valid values of `authentication`.
  public static let authentications = ClientAuthentication.allCases.map(\.rawValue)
}
