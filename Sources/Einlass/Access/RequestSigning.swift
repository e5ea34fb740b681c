internal import EinlassJSON

extension Einlass {
  /// Returns the fields that a front end adds to its own request. A credential that is refused or about
  /// to end is renewed first, if `request.renewal` is set.
  ///
  /// Uses only a credential issued to the caller's registration, and only while access is granted.
  /// Throws `unknownAccount`, `authenticatorUnconfigured`, `accessNotGranted`, `bindingMismatch`,
  /// `reloginNeeded`, `unsafeURL`, `throttled` with detail `refusedByService` for a service that has
  /// just refused the credential, and the problems of a renewal.
  public func sign(_ request: SignRequest) async throws(Problem) -> RequestAuthorization {
    let signing = try Signing(request, in: self)
    if let renewal = request.renewal, signing.isRenewalDue {
      _ = try await credential(renewal)
      return try Signing(request, in: self).authorization()
    }
    return try signing.authorization()
  }
}

/// A request of a front end, with the account and the credential that sign it.
private struct Signing {
  @Indirect private var request: SignRequest
  private let effects: Effects
  @Indirect private var account: Account
  @Indirect private var provider: Provider
  @Indirect private var own: ClientRegistration?
  @Indirect private var stored: StoredCredential
  @Indirect private var address: WebAddress
  @Indirect private var place: ServiceAddress

  init(_ request: SignRequest, in einlass: Einlass) throws(Problem) {
    let store = einlass.store
    let account = try store.account(request.account)
    let provider = try einlass.catalog.provider(account.provider)
    let own = try store.registration(
      request.registration, at: provider, for: account.id, resource: request.resource)
    let stored = try store.issuedCredential(
      of: account, at: provider, to: request.application, own, for: request.resource)
    let address = try webAddress(of: request)
    let place = ServiceAddress(requested: address)
    guard provider.serves(place, for: request.resource, among: request.services) else {
      throw .notServed(address, by: provider)
    }
    guard !provider.issuesCredentials(at: address, by: request.method) else {
      throw .issuesCredentials(address, provider)
    }
    let problem = account.refusal(
      of: stored, by: address.origin, at: provider, now: einlass.effects.now())
    if let problem { throw problem }
    (self.request, self.account, self.provider, self.own) = (request, account, provider, own)
    (self.stored, self.address, self.place) = (stored, address, place)
    effects = einlass.effects
  }

  /// Whether `credentials.get` would not return the stored credential as it is.
  var isRenewalDue: Bool {
    guard case .oauth2(let token) = stored.credential else { return false }
    let end = effects.now() + provider.marginSeconds(of: stored)
    return stored.isRefused || (token.expiresAt ?? .max) <= end
      || provider.isCheckDue(stored, effects)
  }

  func authorization() throws(Problem) -> RequestAuthorization {
    let clientID = stored.registration.clientID
    switch stored.credential {
    case .oauth2(let credential):
      let token = revealedText(credential.accessToken)
      guard credential.proofKey != nil else {
        return RequestAuthorization(fields: fields(with: token), clientID: clientID)
      }
      let nonce = request.nonce ?? effects.memory.proofNonces.read(address.origin)
      let proof = ProofOfPossession(credential)?.text(
        method: request.method, address: address, token: token, nonce: nonce,
        id: effects.randomBytes(16), now: effects.now(at: address))
      // A server refuses a bound token without its proof.
      guard let proof else { throw .reloginNeeded(provider, account) }
      let fields = [Parameter("Authorization", "DPoP \(token)"), Parameter("DPoP", proof)]
      return RequestAuthorization(fields: fields + (host?.headers ?? []), clientID: clientID)
    case .oauth1(let token):
      guard !request.refusesPlaintext || provider.signatureMethod != .plaintext else {
        throw .flowNotSupported(provider, "a signature without its secrets")
      }
      let registration = try provider.complete(own, with: provider.signatureMethod.needs)
      let signer = Signer(
        method: provider.signatureMethod, registration: registration, token: token)
      let signature = signer.authorization(
        method: request.method, address: address, form: request.form,
        nonce: Signer.nonce(effects), timestamp: effects.now(at: address))
      return RequestAuthorization(
        fields: [Parameter("Authorization", signature)] + (host?.headers ?? []),
        clientID: clientID)
    case .session: throw .flowNotSupported(provider, "a signed request")
    }
  }

  /// The host of the request. A moved provider has all its hosts at one address: then not git's.
  private var host: ServedHost? {
    let hosts = provider.hosts.filter(ServiceAddress(originOf: address).isServed(at:))
    return hosts.first { $0.scheme != .basic } ?? hosts.first
  }

  /// The fields that the service takes, or else the host.
  private func fields(with token: String) -> [Parameter] {
    let service = request.services.filter {
      sameBytes($0.provider, provider.id) && place.isBelow($0.address)
    }.max { $1.address.isCloser(than: $0.address) }
    guard (service?.scheme ?? host?.scheme) == .basic else {
      let own = service?.scheme == nil ? host?.fields(for: token) : nil
      return own ?? [Parameter("Authorization", "Bearer \(token)")]
    }
    let named = [service?.username, host?.username, account.username].compactMap(\.self)
    // A host that takes any user name has * for it.
    let username = named.first { $0 != "*" && isBasicUsername($0) } ?? "oauth2"
    return [
      Parameter("Authorization", "Basic " + Base64.encode(Array("\(username):\(token)".utf8)))
    ]
  }
}

extension ServiceAddress {
  /// The place of a request. A path that programs read differently counts only as one to the origin.
  fileprivate init(requested url: WebAddress) {
    var path = url
    path.query = nil
    self = (try? ServiceAddress(path.text)) ?? ServiceAddress(originOf: url)
  }
}

extension Provider {
  /// Whether a request to this address may be signed: it is at a host or an origin of the provider,
  /// at the protected resource of the credential, or at a service of the configuration.
  fileprivate func serves(
    _ address: ServiceAddress, for resource: String?, among services: [Service]
  ) -> Bool {
    guard !serves(address) else { return true }
    var places = services.filter { sameBytes($0.provider, id) }.map(\.address)
    if let resource = resource.flatMap({ try? ServiceAddress($0) }) { places.append(resource) }
    return places.contains(where: address.isBelow)
  }
}

extension Problem {
  fileprivate static func issuesCredentials(_ url: WebAddress, _ provider: Provider) -> Problem {
    Problem(
      .unsafeURL,
      "\(provider.name) issues or ends credentials at this address of \(url.origin), so no request to it is signed.",
      detail: "notServed", provider: provider.id, path: "/url")
  }
}

private func webAddress(of request: SignRequest) throws(Problem) -> WebAddress {
  let address: WebAddress
  do { address = try WebAddress.parse(request.url) } catch {
    throw Problem(
      .unsafeURL, "The url \(error.rawValue).", path: "/url")
  }
  guard address.isSafe else {
    throw Problem(
      .unsafeURL, "The url is plain http to another machine.", path: "/url")
  }
  guard !request.method.isEmpty, request.method.utf8.allSatisfy({ (0x41...0x5A).contains($0) })
  else {
    throw .invalidParameter("/method", "The method must be an HTTP method in upper case: GET.")
  }
  return address
}

extension AccountStore {
  /// Returns the account's credential that was issued to this application's registration, for this
  /// resource or for none in particular.
  ///
  /// Throws `accessNotGranted` without access, `authenticatorUnconfigured` without a registration,
  /// `notIssuedToThisClient` if only other registrations have credentials, and `reloginNeeded` if
  /// nothing is stored. Throws `bindingMismatch` for the account's own credential, which reverse
  /// auth exchanges, and for a credential bound to other origins.
  func issuedCredential(
    of account: Account, at provider: Provider, to application: String,
    _ registration: ClientRegistration?, for resource: String? = nil
  ) throws(Problem) -> StoredCredential {
    let registration = try provider.complete(registration, with: [.clientID])
    let grant = try read { reader throws(Problem) in
      try reader.grant(to: application, for: provider)
    }
    guard grant?.allows(account.id) == true else {
      throw .accessMissing(provider, for: application, to: account.id, within: grant)
    }
    let credentials = try credentials(account.id)
    guard let stored = credentials.issued(to: registration, for: resource) else {
      throw credentials.stored(under: registration, for: resource) == nil
        ? .nothingStored(for: registration, resource, among: credentials, provider, account)
        : .bindingMismatch(provider, account)
    }
    guard provider.isBound(stored) else { throw .bindingMismatch(provider, account) }
    return stored
  }
}

extension Provider {
  /// Whether a flow can derive an application's credential from the account's stored ones, without
  /// the person.
  func issues(from credentials: [StoredCredential]) -> Bool {
    flows.contains { flow in
      switch flow {
      case .reverseAuth: credentials.contains(where: \.isForReverseAuth)
      case .systemToken(let descriptor):
        descriptor.applicationToken != nil && credentials.contains { $0.role == .system }
      case .authorizationCode, .deviceCode, .oauth1, .clientCredentials, .jwtBearer,
        .tokenExchange, .passwordSession:
        false
      }
    }
  }

  /// The signature method of the provider's OAuth 1.0a requests.
  var signatureMethod: SignatureMethod {
    for flow in flows {
      switch flow {
      case .reverseAuth(let flow): return flow.signature
      case .oauth1(let flow): return flow.signature
      case .systemToken, .authorizationCode, .deviceCode, .clientCredentials, .jwtBearer,
        .tokenExchange, .passwordSession:
        continue
      }
    }
    return .hmacSHA1
  }
}
