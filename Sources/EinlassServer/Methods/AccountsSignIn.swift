internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `accounts.signIn`: signs the person in at the provider.
func accountsSignIn(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "accounts.signIn", .interactive,
      "Signs a person in at a provider or for a protected resource: adds an account, or signs in to an existing one again.",
      description: accountsSignInDescription,
      params: fields(
        Params.provider, Params.resource, Params.challenge, Params.probe, Params.account, .flowKind,
        Params.assertionFrom, .detached, .deadlineSeconds) + SignInParams.all,
      rules: [.either("provider", or: "resource"), assertionRule],
      result: .object([
        .required("flow", .identifier, "The flow's id."),
        .optional("account", .identifier, "The account's id; missing when detached."),
        .optional(
          "created", .boolean, "false: the account was there; missing when detached."),
        .optional(
          "emailVerified", .boolean,
          "Whether the provider says that it has verified the person's e-mail address; missing without one."
        ),
        .optional(
          "profile", .map(.any, hasAnyNames: true),
          "The provider's answer about the person, or the claims of the id_token, as the provider wrote them; missing if longer than 16 KiB."
        ),
        .optional(
          "identityProblem", .reference("Problem"),
          "The failure of the provider's identity request, if the id_token alone names the person."),
        .optional(
          "provider", .identifier,
          "The provider that issues the tokens, if it is not the one of the request: with resource, and at another server."
        ),
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
        let (request, new) = try await server.signInRequest(
          request, at: address, params, pending, asker)
        let signedIn = try await server.signIn(request, at: new, asking: asker)
        let isElsewhere = request.provider != params[Params.provider]
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
          "provider": isElsewhere ? .string(request.provider) : nil,
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
  /// it is new. For another server of a provider, adds that, and returns its descriptor if it is new.
  fileprivate func signInRequest(
    _ known: SignInRequest?, at resource: String, _ params: JSONObject,
    _ pending: PendingRequest, _ asker: Asker
  ) async throws(Problem) -> (SignInRequest, new: JSONValue?) {
    if let known {
      let provider = try catalog.provider(known.provider)
      guard provider.serverText != nil, let place = known.login.server, place.isNameAlone else {
        return (known, nil)
      }
      let (id, new) = try added.place(PlacedProvider(provider, at: place.name))
      var request = signInRequest(params, of: session.frontEnd, at: id, by: "accounts.signIn")
      request.login.server = nil
      pending.continues(as: request, at: try catalog.provider(id))
      return (request, new)
    }
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
    request.bindsTokens = resource.bindsTokens
    pending.continues(as: request, at: try catalog.provider(id))
    return (request, nil)
  }

  /// Whether the registration of a sign-in depends on the server that it names or needs.
  func dependsOnServer(_ kind: PendingRequest.Kind) throws(Problem) -> Bool {
    guard case .signIn(let request) = kind else { return false }
    let isIncomplete = try catalog.provider(request.provider).isServerIncomplete
    return request.login.server != nil || isIncomplete
  }

  /// Signs in. `new` is the descriptor of a provider that was added for it.
  fileprivate func signIn(
    _ request: SignInRequest, at new: JSONValue?, asking asker: Asker
  ) async throws(Problem) -> AccountStore.Added {
    added.enter(request.provider, new)
    do throws(Problem) {
      let signedIn = try await einlass.signIn(request, asking: asker)
      _ = added.leave(request.provider, signedIn: true)
      scheduleRefresh(of: signedIn.account.id, for: request.resource)
      return signedIn
    } catch {
      let placed = added.leave(request.provider, signedIn: false)
      if let placed { withdraw(placed, after: error) }
      throw error
    }
  }

  /// Removes a provider that was added for a failed sign-in. It stays without a registration, because
  /// that is entered for it.
  fileprivate func withdraw(_ descriptor: JSONValue, after problem: Problem) {
    guard problem.reason != .authenticatorUnconfigured,
      problem.detail != Problem.selfRegistration, let id = descriptor["id"]?.string
    else { return }
    let isUsed = try? store.read { reader throws(Problem) in
      let accounts = try reader.accounts(of: id, after: .min, limit: 1)
      let registrations = try reader.registrations(at: id)
      return !accounts.isEmpty || registrations.contains { !$0.isIssued }
    }
    guard isUsed == false else { return }
    _ = try? store.forgetRegistrations(at: id)
    try? added.withdraw(descriptor)
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
    let page = params[SignInParams.page]
    request.openID.loginHint = page[SignInPage.loginHint]
    request.openID.prompt = page[SignInPage.prompt]
    request.openID.maxAgeSeconds = page[SignInPage.maxAgeSeconds]
    request.openID.acrValues = page[SignInPage.acrValues]
    request.openID.claims = page[SignInPage.claims].map {
      String(decoding: $0.bytes(), as: UTF8.self)
    }
    let server = params[SignInParams.server]
    let (port, isSecure) = (server[OwnServer.port], server[OwnServer.secure])
    if let host = server[OwnServer.host] ?? (port == nil && isSecure == nil ? nil : "") {
      // Without a host the port and the scheme would be for the server of the last settings.
      request.login.server = SignInRequest.Server(
        host, port: port.map { UInt16($0) }, isSecure: isSecure)
    }
    request.login.username = server[OwnServer.username]
    request.login.usesCookies = server[OwnServer.useCookies]
    request.login.acceptsUntrustedCertificates = server[OwnServer.acceptUntrustedCertificates]
    request.login.trustedPublicKey = server[OwnServer.trustedPublicKey]
    request.login.caFile = server[OwnServer.caFile]
    return request
  }
}

private enum Params {
  static let provider = TypedField.optional(
    "provider", .identifier, "A provider's id, from providers.list.")
  static let resource = TypedField.optional(
    "resource", .string(maxBytes: 2048),
    "Instead of provider: the address of a protected resource; its metadata names the provider."
  ).refusingNull
  static let challenge = TypedField.optional(
    "challenge", .string(maxBytes: 8192),
    "With resource: the WWW-Authenticate header of its answer.")
  static let probe = TypedField.optional(
    "probe", .boolean, default: false,
    "With resource and without challenge: sends the resource one request without a token for its challenge."
  )
  static let account = TypedField.optional(
    "account", .account, "The account to sign in to; the sign-in of another person fails."
  ).refusingNull
  static let assertionFrom = TypedField.optional(
    "assertionFrom", .account,
    "With the flowKind jwtBearer or tokenExchange: the account with the id_token that is traded.")
}

/// The reasons of further errors of a sign-in.
let signInReasons = [
  "userCanceled", "accessDenied", "stateMismatch", "verificationFailed", "reservedParameter",
  "accountExists", "wrongCredentials",
]

private let accountsSignInDescription = """
  - Either `provider` or `resource` is given. [Sign-in](README.md#sign-in) has the flows.

  For assertions:

  - **`jwtBearer`** and **`tokenExchange`** ask nobody, and only `flowKind` chooses them. With `assertionFrom` the
    id_token of that account is used, as `credentials.get` hands it out: the application needs access to the account. If
    the issuer of the account makes assertions for other servers (Identity Assertion JWT Authorization Grant), it makes
    one for `jwtBearer`. Otherwise the id_token itself is sent, if its audience is the server. Without `assertionFrom`
    the file `assertionFile` of the registration is the assertion.
  - An assertion for another audience, without `iss`, `sub`, `aud` or `exp`, past its end, or over 16 KiB is
    `verificationFailed`, with the claim or `form`, `tooLong` as `detail`, and is not sent. An assertion that the server
    has refused is not sent again by this process (`detail` `refused`); a changed file is. An issuer's assertion with a
    `jti` is sent once (`detail` `used`).
  - The account is that of the person whom the server identifies, otherwise of the `sub` of the assertion. Without an
    identity, an account that came from elsewhere is `accountExists` unless `account` names it. A sign-in with a page
    fails the same way if the account with its subject has that subject from an assertion alone.
  - The next token of the account comes from the same source. If the account with the id_token is gone or has no id_token,
    the refresh is `reloginNeeded` with `detail` `assertionSource`. The next step signs in to that account, with the scope
    `openid` where it is missing.

  For a server of the person's own:

  - **A provider with `server`** in `providers.list` has other servers of the same software. `server.host` names one: an https
    address, also with the path of a folder, or the part in braces of `server`. einlass adds it as a provider of its own, or
    takes the one that it has added for that server, and signs in there: `provider` of the result. Every address moves there,
    and no registration of the usual server is used. The new provider is removed if the sign-in fails, unless the registration
    is missing or refused: `providers.configure` of the next step enters it. A server of another provider is refused (`path`
    `/server/host`, with that provider).
  - **`passwordSession`** logs in at a server of the person's own, and needs no registration. `server.host`
    names it; a sign-in with `account` uses the account's server. `enterPassword` asks for the user name and the password,
    three times at most; then the sign-in is `wrongCredentials`. einlass sends the password once for each entry and keeps
    it only with `remember`. Plain http to another machine needs `server.secure: false`; otherwise it is `unsafeURL`. The subject
    of the account is `ada@pbx.example.com:8443`, so that the same name at two servers is two accounts. An answer that is
    no session, sets more than 50 cookies or has a session id over 4 KiB is `providerFailure`, and nothing of it is stored.
  - The certificate of such a server is verified. With `server.acceptUntrustedCertificates` the person is asked about one that
    is not trusted (`trustCertificate`), before the password; `server.trustedPublicKey` is the answer in advance. The accepted
    key then takes the place of the verification, for that account alone: a server with another key gets no request, and
    the problem is 1007 with `networkCode` -1202. The next sign-in of the account asks again and shows both keys. `server.caFile`
    is kept for the account too. A trust that is edited in the store without the key is `bindingMismatch`.
  - A session is dead if the server's check refuses it, and without a check in the descriptor after `credentials.reject`.
    einlass checks a session before it is handed out if the last check is older than `checkSeconds` of the descriptor,
    300 by default. A check without an answer changes nothing.
  - With `remember` the password is sealed in the store beside its session, and no result, file of accounts or log has
    it. `credentials.get`, `auth.perform` and `accounts.renew` replace a dead session with it, one login for all
    processes. If the server refuses it, it is removed, and the error is `reloginNeeded`; another failure keeps it. Without
    a remembered password a dead session is `reloginNeeded`. No login happens in the background.
  - Refused logins are counted for the user name and the server, in all processes. A password that the server has just
    refused is not sent again for 15 minutes: the prompt comes again with `again`, or the error is `wrongCredentials`. After
    five refusals in a row the next login waits 1, 2, 4, … 60 s after the last one: an earlier one is `throttled` with
    `retryAfterSeconds`, before the person is asked. A success ends the count.

  A *protected resource* (a remote server that an editor uses, say) names its issuer itself (RFC 9728).

  - `accounts.signIn {resource}` takes the address of its requests, and as `challenge` the value of its
    `WWW-Authenticate` header, if it has sent one.
  - einlass reads the descriptions of the resource and of its authorization server. It adds that server as a provider,
    unless an added provider has the same issuer. Built-in providers never serve here, because their tokens are not
    limited to one resource.
  - The description of a server is looked for at `/.well-known/oauth-authorization-server` and
    `/.well-known/openid-configuration`, both before the issuer's path, then at the latter behind the path.
  - The server must announce PKCE with `S256` (`code_challenge_methods_supported`). Without it the sign-in fails with
    `providerFailure`. A flow without a page in the browser needs none.
  - einlass then uses the client ID metadata document or registers the application, and requests a token for this resource
    alone (RFC 8707), with the scopes of the request, else of the challenge, else of the description. It adds
    `offline_access` if the server lists it, and `openid` if the server is an OpenID provider.
  - With `account`, the scopes that were granted for the resource are requested again beside those of the challenge,
    because the new token takes the place of the former one. After a challenge with `insufficient_scope` the same holds
    without `account` if a single account has a token for the resource.
  - A server that refuses the parameter `resource` (`resourceParameter: "omit"`) is not told the resource. The token is
    stored for it all the same. If the token is a JSON Web Token and its audience names only other addresses, it is refused
    (`verificationFailed`, `detail` `audience`). An address above or below the resource's is no other one. If a refresh brings such a token, only its refresh token is stored.
  - A resource that has moved to another authorization server needs a sign-in without `account`: with it the answer is
    `invalidChoice`, with the next step `accounts.signIn {resource}`.
  - Prompts have `resource`: show it, because the resource itself chose the page.
  - The result's `resource` is the name under which the credential is stored. `accounts.list` names the `resources` of
    each account.
  - A challenge may lead to the resource's own origin only. Of several authorization servers, four are tried.
  - A resource on the internet leads to servers on the internet alone. If its metadata came from a public address, every
    request to the servers that it names, to their endpoints and keys, needs a public address too, at each refresh and
    sign-out as at the sign-in. Another one is `unsafeURL` with the `detail` `notPublic`, and nothing is sent. A resource
    at an address of this machine or of its network may lead to others there.
  - `internalHosts` of the [configuration file](README.md#configuration-file) excepts hosts. A provider of `providers.add`, of the
    catalogue or of `--providers` is not limited. `providers.add` with the same issuer lifts the limit.
  - A proxy looks up names itself. What goes through a proxy counts as public, except for literals of other addresses and
    names without a dot.
  """
