internal import Einlass
internal import EinlassJSON
internal import EinlassRPC
internal import EinlassSystem

/// `credentials.get`: returns the application's credential of an account without any prompt.
func credentialsGet(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "credentials.get", .network,
      "A credential of an account for the application: the stored one while it is valid, else a new one.",
      description: credentialsGetDescription,
      params: fields(
        .account, .minValiditySeconds, Params.forceRefresh, Params.idToken, Params.scopes,
        .resource, .serviceAddress),
      result: .object([
        .required("credential", .reference("Credential"), "The credential for the application."),
        .optional(
          "lifetimeSeconds", .count,
          "The time left of the credential, if it is less than minValiditySeconds."),
      ]),
      reasons: retrievalReasons + [
        "accountBanned", "flowNotSupported", "throttled", "tokenNotSaved", "networkFailure",
        "providerFailure", "verificationFailed", "unsafeURL",
      ]),
    .taskUnlessReady(
      { params, _ throws(RPCError) in
        let request: CredentialRequest
        do throws(Problem) { request = try server.credentialRequest(params) } catch {
          throw RPCError(error)
        }
        return try server.withStore(by: nil) { patience throws(Problem) -> JSONValue? in
          try server.einlass.storedCredential(request).map { result throws(Problem) in
            try server.answer(result, request, patience)
          }
        } ?? nil
      },
      { params, _ async throws(RPCError) in
        do throws(Problem) {
          let request = try server.credentialRequest(params)
          return try server.answer(
            await server.budgetedEinlass.credential(request), request, .usual)
        } catch { throw RPCError(error) }
      }))
}

/// The reasons of errors of all requests for an application's credential.
let retrievalReasons = [
  "unknownAccount", "authenticatorUnconfigured", "accessNotGranted", "reloginNeeded",
  "notIssuedToThisClient", "bindingMismatch", "accountStoreFailure", "cancelled",
]

private enum Params {
  static let forceRefresh = TypedField.optional(
    "forceRefresh", .boolean, default: false, "true: a new token in any case.")
  static let idToken = TypedField.optional(
    "idToken", .boolean, default: false,
    "true: the id_token must stay valid for that time too; otherwise it may end before the access token."
  )
  static let scopes = TypedField.optional(
    "scopes", .identifiers(max: 256), default: [],
    "The scopes that the token must have, or names of the provider's scopeNames."
  ).refusingNull
}

extension TypedField where Value == Int64? {
  static let minValiditySeconds = optional(
    "minValiditySeconds", .integer(0...31_536_000),
    "The time in seconds for which the credential must stay valid; without it 60, or as in the provider's descriptor, and a credential that cannot be renewed serves to its end."
  )
}

extension TypedField where Value == String? {
  static let serviceAddress = optional(
    "address", .string(maxBytes: 8192),
    "The address of the service: a URL, or a host name with a port if it is not the usual one."
  ).refusingNull
}

/// Returns the origin of the service in the parameters; `nil` without one.
func service(_ params: JSONObject) throws(Problem) -> String? {
  guard let address = params[.serviceAddress] else { return nil }
  guard let service = ServiceRefusal.service(address) else {
    throw Problem(
      .invalidParameter, "The parameter /address must be an http or https address, or a host name.",
      path: "/address")
  }
  return service
}

extension Server {
  fileprivate func answer(
    _ result: PerformResult, _ request: CredentialRequest, _ patience: AccountStore.Patience
  ) throws(Problem) -> JSONValue {
    .object(
      JSONObject(present: [
        "credential": try handOut(result, request, patience),
        "lifetimeSeconds": shortLifetime(of: result, request).map { JSONValue($0) },
      ]))
  }

  /// The time left of the credential, if the request wanted more.
  private func shortLifetime(of result: PerformResult, _ request: CredentialRequest) -> Int64? {
    guard let wanted = request.minValiditySeconds, case .oauth2(let token)? = result.credential,
      let left = token.expiresAt.map({ max(0, $0 - effects.now()) }), left < wanted
    else { return nil }
    return left
  }

  /// Records the credential in the audit trail, then returns the answer with it.
  func handOut(
    _ result: PerformResult, _ request: CredentialRequest, by method: String = "credentials.get",
    _ patience: AccountStore.Patience
  ) throws(Problem) -> JSONValue {
    guard let credential = result.credential else {
      throw Problem(.internal, "The result holds no credential.")
    }
    try requireOpenDoor()
    try audit.record(
      AuditEvent(
        method, handing: credential, of: result.account, to: request.application,
        clientID: result.clientID), patience)
    if shortLifetime(of: result, request) != nil { warnOfLifetime(result.account, request) }
    scheduleRefresh(of: result, for: request.resource)
    return JSONValue(credential, of: result.identity, includesRefreshToken: false)
  }

  /// Logs once that a fresh token expires earlier than requested, because every call then refreshes
  /// it.
  private func warnOfLifetime(_ account: Account, _ request: CredentialRequest) {
    let hasWarned = hasWarnedOfValidity.withLock { hasWarned in
      defer { hasWarned = true }
      return hasWarned
    }
    guard !hasWarned else { return }
    log.warning(
      "credentials",
      "minValiditySeconds \(request.minValiditySeconds ?? 0) is more than a token of \(account.provider) lasts, so every credentials.get refreshes it"
    )
  }

  /// Makes the request for the caller's credential with these validated parameters.
  func credentialRequest(_ params: JSONObject) throws(Problem) -> CredentialRequest {
    var request = credentialRequest(of: params[.account], for: params[.resource])
    request.scopes = params[Params.scopes]
    request.minValiditySeconds = params[.minValiditySeconds]
    request.forcesRefresh = params[Params.forceRefresh]
    // A refresh can end the token of every other program, so a door asks for it by `credentials.reject`.
    if let door, !door.methods.contains("credentials.reject") {
      request.forcesRefresh = false
      request.minValiditySeconds = request.minValiditySeconds.map { min($0, 600) }
    }
    request.needsIDToken = params[Params.idToken]
    request.service = try service(params)
    return request
  }

  /// Makes the request for the caller's credential of an account, without requirements.
  func credentialRequest(of account: Account.ID, for resource: String?) -> CredentialRequest {
    let frontEnd = session.frontEnd
    var request = CredentialRequest(
      application: frontEnd.application,
      registration: { [weak self] in self?.registration(for: frontEnd, at: $0) }, account: account,
      pause: pauses.pause)
    request.promptKinds = frontEnd.prompts
    request.resource = resource
    return request
  }
}

private let credentialsGetDescription = """
  - It needs granted access, and asks nobody.
  - With `minValiditySeconds` above the lifetime of a new token, each call refreshes the token. That is logged once, and
    `lifetimeSeconds` has the time that is left, for a smaller value.
  - `scopes` fails with 1005 if the token is known to have fewer. The next step is a sign-in for both. A wider scope serves
    for those that it contains: `scopeContents` of `providers.list`.
  - Without `resource`, the answer never has a token for a resource. With it, the answer has the token for this one
    only.
  - For the `address` of a service that has just refused the token, the error is 1017 with `detail` `refusedByService`
    and `retryAfterSeconds`: see [`credentials.reject`](#credentialsreject). The scheme, the host and the port of the
    address count; a host name alone is an https one.
  """
