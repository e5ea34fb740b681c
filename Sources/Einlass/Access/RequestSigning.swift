internal import EinlassJSON

/// Returns the headers for a request of the front end: `credentials.sign`.
///
/// Uses only a credential issued to the caller's registration, and only while access is granted.
func authorization(
  for request: SignRequest, in catalog: ProviderCatalog, store: AccountStore, effects: Effects
) throws(Problem) -> RequestAuthorization {
  let account = try store.account(request.account)
  let provider = try catalog.provider(account.provider)
  let own = try store.registration(
    request.registration, at: provider, for: account.id, resource: request.resource)
  let stored = try store.issuedCredential(
    of: account, at: provider, to: request.application, own, for: request.resource)
  let clientID = stored.registration.clientID
  let address = try address(of: request)
  guard provider.serves(address, for: request.resource, among: request.services) else {
    throw .notServed(address, by: provider)
  }
  let now = effects.now()
  if let problem = account.refusal(of: stored, by: address.origin, at: provider, now: now) {
    throw problem
  }
  let host = provider.hosts.first(where: ServiceAddress(originOf: address).isServed(at:))
  var signed = RequestAuthorization(authorization: nil, clientID: clientID)
  signed.headers = host?.headers ?? []
  switch stored.credential {
  case .oauth2(let credential):
    let token = revealedText(credential.accessToken)
    guard credential.proofKey != nil else {
      let fields = host?.fields(for: token) ?? [Parameter("Authorization", "Bearer \(token)")]
      signed.authorization = fields.first { $0.name == "Authorization" }?.value
      signed.headers = fields.filter { $0.name != "Authorization" }
      return signed
    }
    let nonce = request.nonce ?? effects.memory.proofNonces.read(address.origin)
    let proof = ProofOfPossession(credential)?.text(
      method: request.method, address: address, token: token, nonce: nonce,
      id: effects.randomBytes(16), now: effects.now(at: address))
    // A server refuses a bound token without its proof.
    guard let proof else { throw .reloginNeeded(provider, account) }
    (signed.authorization, signed.proof) = ("DPoP \(token)", proof)
  case .oauth1(let token):
    let registration = try provider.complete(own, with: provider.signatureMethod.needs)
    let signer = Signer(
      method: provider.signatureMethod, registration: registration, token: token)
    signed.authorization = signer.authorization(
      method: request.method, address: address, form: request.form,
      nonce: Signer.nonce(effects), timestamp: effects.now(at: address))
  case .session: throw .flowNotSupported(provider, "a signed request")
  }
  return signed
}

extension Provider {
  /// Whether a request to this address may be signed: it is at a host or an origin of the provider,
  /// at the protected resource of the credential, or at a service of the configuration.
  fileprivate func serves(
    _ url: WebAddress, for resource: String?, among services: [Service]
  ) -> Bool {
    var places = services.filter { sameBytes($0.provider, id) }.map(\.address)
    if let resource = resource.flatMap({ try? ServiceAddress($0) }) { places.append(resource) }
    var path = url
    path.query = nil
    // A path that programs read differently counts only as a request to the origin.
    let address = (try? ServiceAddress(path.text)) ?? ServiceAddress(originOf: url)
    guard !serves(address) else { return true }
    return places.contains(where: address.isBelow)
  }
}

private func address(of request: SignRequest) throws(Problem) -> WebAddress {
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
