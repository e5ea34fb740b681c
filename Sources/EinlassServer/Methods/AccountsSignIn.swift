internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `accounts.signIn`: signs the person in at the provider.
func accountsSignIn(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "accounts.signIn", .interactive,
      "Signs a person in at a provider or for a protected resource: adds an account, or signs in to an existing one again.",
      params: fields(
        Params.provider, Params.resource, Params.challenge, Params.probe, Params.account, .flowKind,
        Params.assertionFrom, .detached, .deadlineSeconds) + SignInParams.page,
      rules: [.either("provider", or: "resource"), assertionRule],
      result: .object([
        .required("flow", .identifier, "The flow's id."),
        .optional("account", .identifier, "The account's id; missing when detached."),
        .optional(
          "created", .boolean, "False when the account existed already; missing when detached."),
        .optional(
          "emailVerified", .boolean,
          "Whether the provider has verified the person's e-mail address; missing without one."),
        .optional(
          "profile", .map(.any, hasAnyNames: true),
          "The provider's answer about the person, as it wrote it, of at most 16 KiB."),
        .optional(
          "identityProblem", .reference("Problem"),
          "The failure of the provider's identity request, if the id_token alone names the person."),
        .optional("provider", .identifier, "With resource: the provider that issues its tokens."),
        .optional(
          "resource", .string(maxBytes: nil),
          "The resource's own name, for credentials.get."),
      ]),
      reasons: [
        "unknownAccount", "invalidChoice", "bindingMismatch", "unsafeURL", "accessNotGranted",
        "reloginNeeded", "notIssuedToThisClient", "tokenNotSaved",
      ] + flowReasons + signInReasons),
    .task { params, call async throws(RPCError) in
      let frontEnd = server.session.frontEnd
      let request = params[Params.provider].map {
        server.signInRequest(params, of: frontEnd, at: $0, by: "accounts.signIn")
      }
      let address = params[Params.resource] ?? ""
      return try await server.perform(
        params, call, request.map(PendingRequest.Kind.signIn) ?? .locate(resource: address)
      ) { pending, asker async throws(Problem) in
        let request = try await server.signInRequest(request, at: address, params, pending, asker)
        let signedIn = try await server.einlass.signIn(request, asking: asker)
        server.scheduleRefresh(of: signedIn.account.id, for: request.resource)
        let isForResource = request.resource != nil
        return JSONObject(present: [
          "account": .string(signedIn.account.id.rawValue),
          "created": .bool(signedIn.created),
          "emailVerified": signedIn.identity.flatMap { identity in
            identity.email.map { _ in
              // A provider that a front end has added could claim any address.
              .bool(identity.isEmailVerified && server.catalog.holdsItself(request.provider))
            }
          },
          "profile": signedIn.identity?.profile.map(JSONValue.object),
          "identityProblem": signedIn.identityProblem.map { problemObject($0) },
          "provider": isForResource ? .string(request.provider) : nil,
          "resource": request.resource.map(JSONValue.string),
        ])
      }
    })
}

private let assertionRule = Rule(
  [
    .init(absent: ["assertionFrom"]),
    .init(
      required: ["assertionFrom", "flowKind"],
      values: [
        (
          "flowKind",
          FlowKind.allCases.filter(\.tradesAssertion).map { .string($0.rawValue) }
        )
      ]),
  ], path: "/flowKind", expected: "jwtBearer or tokenExchange with assertionFrom",
  "The parameter /flowKind must be jwtBearer or tokenExchange with assertionFrom.")

extension Server {
  /// Returns the request; for a resource, finds the provider that issues its tokens and adds it if
  /// it is new.
  fileprivate func signInRequest(
    _ known: SignInRequest?, at resource: String, _ params: JSONObject,
    _ pending: PendingRequest, _ asker: Asker
  ) async throws(Problem) -> SignInRequest {
    if let known { return known }
    asker.report(.discovering)
    let resource = try await budgetedEinlass.protectedResource(
      at: resource, challenge: params[Params.challenge], asks: params[Params.probe],
      for: params[.flowKind], of: params[Params.account])
    let id: String
    switch resource.issuer {
    case .known(let known): id = known
    case .new(let descriptor):
      id = try added.add(descriptor, isNamed: false).id
    }
    var request = signInRequest(params, of: session.frontEnd, at: id, by: "accounts.signIn")
    request.resource = resource.name
    request.resourceScopes = resource.scopes ?? []
    request.isStepUp = resource.isStepUp
    pending.continues(as: request, at: try catalog.provider(id))
    return request
  }

  /// Makes the sign-in of a front end with these parameters.
  ///
  /// - Parameter method: the method for the audit trail.
  func signInRequest(
    _ params: JSONObject, of frontEnd: Session.FrontEnd, at provider: String, by method: String
  ) -> SignInRequest {
    var request = SignInRequest(
      application: frontEnd.application, registration: registration(for: frontEnd, at: provider),
      provider: provider)
    request.applicationTitle = frontEnd.title
    request.locale = frontEnd.locale
    request.granted = { [weak self] grant, account in
      self?.audit.note(
        AuditEvent(
          application: grant.application, method: method, provider: grant.provider,
          account: account.id, subject: grant.application, state: grant.state.rawValue))
    }
    request.account = params[Params.account]
    request.flowKind = params[.flowKind]
    request.assertionFrom = params[Params.assertionFrom]
    request.registrations = { [weak self] in self?.registration(for: frontEnd, at: $0) }
    request.scopes = params[SignInParams.scopes]
    request.customParameters = params[SignInParams.customParameters]
    request.openID.loginHint = params[SignInParams.loginHint]
    request.openID.prompt = params[SignInParams.prompt]
    request.openID.maxAgeSeconds = params[SignInParams.maxAgeSeconds]
    request.openID.acrValues = params[SignInParams.acrValues]
    request.openID.claims = params[SignInParams.claims].map {
      String(decoding: $0.bytes(), as: UTF8.self)
    }
    let (port, isSecure) = (params[SignInParams.port], params[SignInParams.secure])
    if let name = params[SignInParams.server] ?? (port == nil && isSecure == nil ? nil : "") {
      // Without a name the port and the scheme would be for the server of the last settings.
      request.login.server = SignInRequest.Server(
        name, port: port.map { UInt16($0) }, isSecure: isSecure)
    }
    request.login.username = params[SignInParams.username]
    request.login.usesCookies = params[SignInParams.useCookies]
    request.login.acceptsUntrustedCertificates = params[SignInParams.acceptUntrustedCertificates]
    request.login.trustedPublicKey = params[SignInParams.trustedPublicKey]
    request.login.caFile = params[SignInParams.caFile]
    return request
  }
}

private enum Params {
  static let provider = TypedField.optional(
    "provider", .identifier, "A provider's id, from providers.list.")
  static let resource = TypedField.optional(
    "resource", .string(maxBytes: 2048),
    "Instead of provider: the address of a protected resource; its metadata names the provider.")
  static let challenge = TypedField.optional(
    "challenge", .string(maxBytes: 8192),
    "With resource: the WWW-Authenticate header of its answer.")
  static let probe = TypedField.optional(
    "probe", .boolean, default: false,
    "With resource and without challenge: sends the resource one request without a token for its challenge."
  )
  static let account = TypedField.optional(
    "account", .account, "The account to sign in to; the sign-in of another person fails.")
  static let assertionFrom = TypedField.optional(
    "assertionFrom", .account,
    "With the flowKind jwtBearer or tokenExchange: the account with the id_token that is traded.")
}

/// The parameters of the provider's sign-in page.
enum SignInParams {
  static let scopes = TypedField.optional(
    "scopes", .identifiers(max: 256),
    "The requested scopes, instead of the provider's default scopes; or names of scopeNames besides them."
  )
  static let customParameters = TypedField.optional(
    "customParameters", .parameters(maxBytes: 4096), default: [:],
    "Further parameters for the provider's page or the request for a device code, passed on unchanged.",
    isSecret: true)
  static let loginHint = TypedField.optional(
    "loginHint", .string(maxBytes: 1024), "The expected person: an address or a name.")
  static let prompt = TypedField.optional(
    "prompt", .string(maxBytes: 256), "login, consent, select_account, none.")
  static let maxAgeSeconds = TypedField.optional(
    "maxAgeSeconds", .integer(0...31_536_000),
    "The largest age of the person's sign-in at the provider.")
  static let acrValues = TypedField.optional(
    "acrValues", .string(maxBytes: 1024),
    "Requested authentication context classes (acr), preferred first.")
  static let claims = TypedField.optional(
    "claims", .json(.map(.any)), "The claims request of OpenID Connect Core 5.5."
  )

  /// At most `https://`, a host name of 253 bytes, a port and a slash.
  static let server = TypedField.optional(
    "server", .string(maxBytes: 268),
    "For passwordSession: the person's own server, as a host name or an address; the settings of settings.get when missing."
  )
  static let port = TypedField.optional(
    "port", .integer(1...65535), "With server: its port; the provider's usual one when missing.")
  static let secure = TypedField.optional(
    "secure", .boolean,
    "With server: whether to use https; false sends the password by plain http, readable on the way."
  )
  static let username = TypedField.optional(
    "username", .identifier,
    "For passwordSession: the user name; the person enters it when missing.")
  static let useCookies = TypedField.optional(
    "useCookies", .boolean,
    "For passwordSession: keeps the cookies of the session, if the provider leaves it open; false when missing."
  )

  static let acceptUntrustedCertificates = TypedField.optional(
    "acceptUntrustedCertificates", .boolean,
    "For passwordSession: asks the person about a certificate that is not trusted.")
  static let trustedPublicKey = TypedField.optional(
    "trustedPublicKey", .string(maxBytes: 52),
    "For passwordSession: the public key to accept without a question, sha256// and base64."
  ).refusingNull
  static let caFile = TypedField.optional(
    "caFile", .string(maxBytes: 4096),
    "For passwordSession: the absolute path of a PEM file with the authorities of this server."
  ).refusingNull

  static let page = fields(
    scopes, customParameters, loginHint, prompt, maxAgeSeconds, acrValues, claims, server, port,
    secure, username, useCookies, acceptUntrustedCertificates, trustedPublicKey, caFile)
}

/// The reasons of further errors of a sign-in.
let signInReasons = [
  "userCanceled", "accessDenied", "stateMismatch", "verificationFailed", "reservedParameter",
  "accountExists", "wrongCredentials",
]
