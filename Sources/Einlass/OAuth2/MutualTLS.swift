internal import EinlassCrypto
internal import EinlassJSON

/// The words of a token endpoint for clients with a certificate. RFC 8705.
///
///     "mutualTLS": {"token": "https://mtls.example.com/token",
///                   "revocation": "https://mtls.example.com/revoke", "bindsTokens": true}
///
/// The addresses replace those of the same requests for a client that presents its certificate (RFC
/// 8705 section 5). With `bindsTokens` the tokens of every client with a certificate are bound to it
/// (RFC 8705 section 3).
struct MutualTLS: Sendable, Equatable {
  /// The requests with an address of their own, by their words.
  enum Endpoint: String, Sendable, CaseIterable {
    case token, revocation, introspection, deviceAuthorization, pushed, identity

    /// The endpoint of a step; `nil` if clients present no certificate there.
    init?(of step: Step) {
      switch step {
      case .token, .renew, .deviceToken, .assertion: self = .token
      case .revoke: self = .revocation
      case .tokenInfo: self = .introspection
      case .deviceAuthorization: self = .deviceAuthorization
      case .pushedAuthorization: self = .pushed
      case .identity: self = .identity
      case .requestToken, .accessToken, .applicationToken, .keySet, .login, .antiForgery,
        .sessionCheck:
        return nil
      }
    }

    /// The name in a server's metadata.
    var metadataName: String {
      switch self {
      case .token: "token_endpoint"
      case .revocation: "revocation_endpoint"
      case .introspection: "introspection_endpoint"
      case .deviceAuthorization: "device_authorization_endpoint"
      case .pushed: "pushed_authorization_request_endpoint"
      case .identity: "userinfo_endpoint"
      }
    }
  }

  var addresses: [Endpoint: WebAddress] = [:]
  var bindsTokens = false

  init() {}

  /// Reads the word of a token endpoint; no addresses and no bound tokens without it.
  init(_ name: String, in reader: DescriptorReader) throws(DescriptorReader.Fault) {
    guard reader.has(name) else { return }
    let reader = try reader.object(
      name, members: Endpoint.allCases.map(\.rawValue) + ["bindsTokens"])
    for endpoint in Endpoint.allCases {
      guard let address = try reader.optional(endpoint.rawValue, reader.address) else { continue }
      guard address.query == nil else {
        throw reader.fault(endpoint.rawValue, "The address must not have a query.")
      }
      addresses[endpoint] = address
    }
    bindsTokens = try reader.bool("bindsTokens", default: false)
  }

  /// The word of a descriptor; `nil` for no addresses and no bound tokens.
  var word: JSONValue? {
    let places = Endpoint.allCases.compactMap { endpoint in
      addresses[endpoint].map { (endpoint.rawValue, JSONValue.string($0.text)) }
    }
    let members = places + (bindsTokens ? [("bindsTokens", true)] : [])
    return members.isEmpty ? nil : .object(JSONObject(members))
  }

  /// Returns the same words with every address moved.
  func relocated(_ move: (WebAddress) -> WebAddress) -> MutualTLS {
    var moved = self
    moved.addresses = addresses.mapValues(move)
    return moved
  }
}

extension TokenEndpoint {
  /// Whether a client presents its certificate here, to prove itself or to bind its tokens.
  func takesCertificate(of registration: ClientRegistration) -> Bool {
    clientAuthentication.fitting(registration).isMutualTLS
      || (registration.certificate != nil && mutualTLS.bindsTokens)
  }

  /// The certificate to present here; `nil` for none.
  func identity(of registration: ClientRegistration) -> ClientIdentity? {
    guard takesCertificate(of: registration), let certificate = registration.certificate,
      let privateKey = registration.privateKey
    else { return nil }
    return ClientIdentity(certificate: certificate, privateKey: privateKey)
  }

  /// Returns the request at the address for clients with a certificate. RFC 8705 section 5.
  func presenting(_ template: RequestTemplate, at step: Step) -> RequestTemplate {
    guard let endpoint = MutualTLS.Endpoint(of: step),
      let address = mutualTLS.addresses[endpoint],
      // A flow may renew or poll elsewhere than at its token endpoint.
      endpoint != .token || template.address == request.address
    else { return template }
    return template.relocated { _ in address }
  }
}

extension Provider {
  /// Whether any flow uses the registration's certificate.
  func takesCertificate(of registration: ClientRegistration) -> Bool {
    flows.contains { $0.tokens?.takesCertificate(of: registration) ?? false }
  }

  /// The certificate for requests with a token that may be bound to it; `nil` for none.
  func identity(of registration: ClientRegistration) -> ClientIdentity? {
    flows.lazy.compactMap { $0.tokens?.identity(of: registration) }.first
  }

  /// Returns the identity request at its address for clients with a certificate.
  func presenting(_ template: RequestTemplate) -> RequestTemplate {
    let endpoint = flows.lazy.compactMap(\.tokens).first {
      $0.mutualTLS.addresses[.identity] != nil
    }
    return endpoint?.presenting(template, at: .identity) ?? template
  }

  /// Throws `authenticatorUnconfigured` for a certificate that is not of the key, or has expired.
  ///
  /// - Parameter now: `nil` to accept an expired certificate.
  func requireUsable(_ identity: ClientIdentity, now: UnixTime?) throws(Problem) {
    guard let certificate = Certificate(pem: identity.certificate) else {
      throw .unusableCertificate(
        self, "is not PEM text of certificates alone, without the key")
    }
    guard PrivateKey(pem: identity.privateKey).map(certificate.isOf) ?? false else {
      throw .unusableCertificate(
        self, "belongs to another key than the private key")
    }
    guard now.map({ $0 <= certificate.endsAt }) ?? true else {
      throw .unusableCertificate(self, "has expired")
    }
  }
}

extension Problem {
  fileprivate static func unusableCertificate(_ provider: Provider, _ what: String) -> Problem {
    Problem(
      .authenticatorUnconfigured,
      "The certificate of the registration at \(provider.name) \(what).",
      detail: Provider.RegistrationPart.certificate.rawValue, provider: provider.id)
  }
}
