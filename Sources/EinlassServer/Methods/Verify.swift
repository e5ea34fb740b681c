internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `verify`: asks the provider for the owner and the state of a credential, and checks both.
func verify(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "verify", .network,
      "Checks a credential at the provider: its validity, its application and its person.",
      description: verifyDescription,
      params: fields(.provider, .checkedCredential, .verifiedAccount, Params.expect),
      rules: [.either("credential", or: "account")],
      result: .object([
        .required("valid", .boolean, "Whether every check is ok."),
        .optional("identity", .reference("Identity"), "The person of the credential."),
        .optional(
          "clientId", .string(maxBytes: nil),
          "The client id of the registration that it was issued to."),
        .optional("scopes", .array(.string(maxBytes: nil), max: nil), "The scopes of the token."),
        .optional("expiresAt", .unixTime, "The expiry time."),
        .required(
          "checks",
          .array(
            .object([
              .required(
                "check", .string(maxBytes: nil),
                "The name of the check: active, application, expiry and others."),
              .required("ok", .boolean, "Whether the check passed."),
              .optional("detail", .string(maxBytes: nil), "The reason for a failed check."),
            ]), max: nil), "The checks in the order made."),
      ]),
      reasons: [
        "unknownProvider", "unknownAccount", "authenticatorUnconfigured", "accessNotGranted",
        "flowNotSupported", "networkFailure", "providerFailure", "throttled", "accountStoreFailure",
        "reloginNeeded", "notIssuedToThisClient", "bindingMismatch", "unsafeURL", "cancelled",
      ]),
    .task { params, _ async throws(RPCError) in
      let account = params[.verifiedAccount].map(VerifyRequest.Subject.account)
      guard let subject = account ?? VerifyRequest.Subject(params[.checkedCredential]) else {
        throw RPCError(.internal)
      }
      let frontEnd = server.session.frontEnd
      let provider = params[.provider]
      let expected = params[Params.expect]
      let request = VerifyRequest(
        application: frontEnd.application,
        registration: server.registration(for: frontEnd, at: provider), provider: provider,
        subject: subject,
        expected: VerifyRequest.Expectation(
          id: expected[Expected.id], clientID: expected[Expected.clientID],
          scopes: expected[Expected.scopes], nonce: expected[Expected.nonce]))
      do throws(Problem) {
        return JSONValue(try await server.budgetedEinlass.verify(request))
      } catch { throw RPCError(error) }
    })
}

private enum Params {
  static let expect = TypedField.optional(
    "expect",
    .object(
      fields(Expected.id, Expected.clientID, Expected.scopes, Expected.nonce), isClosed: true),
    default: [:], "The conditions: valid is true only if each of them holds."
  ).refusingNull
}

private enum Expected {
  static let id = TypedField.optional(
    "id", .identifier, "The provider's id of the person."
  ).refusingNull
  static let clientID = TypedField.optional(
    "clientId", .identifier, "The client id of the application; the caller's own when missing."
  ).refusingNull
  static let scopes = TypedField.optional(
    "scopes", .identifiers(max: 256), "The expected scopes."
  ).refusingNull
  static let nonce = TypedField.optional(
    "nonce", .string(maxBytes: 1024), "The expected nonce of an id_token."
  ).refusingNull
}

extension TypedField where Value == Account.ID? {
  static let verifiedAccount = optional(
    "account", .account, "Instead of credential: the stored credential of this account.")
}

extension TypedField where Value == JSONValue? {
  static let checkedCredential = optional(
    "credential", .json(verifiedCredential), "The credential to check.", isSecret: true)
}

extension VerifyRequest.Subject {
  /// Reads a validated credential; `nil` if there is none.
  init?(_ json: JSONValue?) {
    let idToken = json?["idToken"]?.string.map { Secret($0) }
    if json?["type"] == "idToken", let idToken {
      self = .idToken(idToken)
      return
    }
    switch Credential(json) {
    case nil, .session?: return nil
    case .oauth2(var token)?:
      token.idToken = idToken
      self = .credential(.oauth2(token))
    case .oauth1(let token)?: self = .credential(.oauth1(token))
    }
  }
}

extension JSONValue {
  fileprivate init(_ verification: Verification) {
    self = .object(
      JSONObject(present: [
        "valid": .bool(verification.isValid),
        "identity": verification.identity.map { JSONValue($0) },
        "clientId": verification.clientID.map(JSONValue.string),
        "scopes": verification.scopes.map { JSONValue($0) },
        "expiresAt": verification.expiresAt.map { JSONValue($0) },
        "checks": .array(
          verification.checks.map { check in
            .object(
              JSONObject(present: [
                "check": .string(check.check.rawValue), "ok": .bool(check.isOK),
                "detail": check.detail.map(JSONValue.string),
              ]))
          }),
      ]))
  }
}

private let verifiedCredential = Schema.tagged(
  by: "type",
  [
    (
      "oauth1",
      [
        .required("key", .string(maxBytes: 8192), "The token.", isSecret: true),
        .required("secret", .string(maxBytes: 8192), "The token's secret.", isSecret: true),
      ]
    ),
    (
      "oauth2",
      [
        .required("token", .string(maxBytes: 49152), "The access token.", isSecret: true),
        .optional(
          "idToken", .string(maxBytes: 65536), "The id_token that came with it.", isSecret: true),
      ]
    ),
    (
      "idToken",
      [
        .required(
          "idToken", .string(maxBytes: 65536), "An id_token, checked with its issuer's keys.",
          isSecret: true)
      ]
    ),
  ])

private let verifyDescription = """
  - Either `credential` or `account` is given.
  - A condition of `expect` that einlass does not know is `invalidParams`: `valid` is never `true` for a condition that was
    not checked.
  - The provider is asked by its own recipe, by introspection (RFC 7662) if the registration can prove itself, else for
    the owner of the token. If the provider cannot be asked, the error is 1015.
    A token that is bound to a key (RFC 9449) is shown with a proof by the stored key. Without that key, only
    introspection can tell.
  - If introspection says that a token is not active, the identity request is tried too. `valid` stays `false`, and the
    `detail` of `active` says so if that request accepts the token.
  - A bad credential is a result (`valid: false`), not an error. The same holds for a good one of another application
    (`application` not ok). Errors are for networks, providers without an answer, and configuration.
  - `valid` is `true` only if the application of the token is confirmed: the provider names it, the token is a stored
    one that einlass got itself, or its `idToken` beside it vouches for it. A token whose application nothing names, such
    as that of `accounts.add`, is 1015 with the `detail` `applicationUnknown`. Its `identity` is the person of the token,
    which may be another application's, so it proves nobody.
  - `setup.verifyNeeds` of `providers.list` has the parts of a registration with which the provider can be asked about a
    token by value. Without its secret a token that einlass got itself is still verified, because the store vouches for
    it, and any other one is 1006. Introspection takes another proof of the client in place of the secret; without any
    it is left out. At a provider without `verifyNeeds`, `can.verify` means id_tokens, and tokens with their `idToken`.
  - The metadata of the provider say the client authentication of introspection and revocation (RFC 8414, section 2).
  - An `idToken` beside a token vouches for it by its `at_hash`. One that has ended, or came with a former token, does
    not vouch and is not held against the token (OpenID Connect Core 1.0, sections 3.1.3.6 and 12.2): the provider is
    asked. The same holds for a stored one with a key that the issuer has taken back.
  - `{"type": "idToken", "idToken": "…"}` is checked by the keys of the issuer alone. They are kept for a day. For a
    token that fits none of them, the issuer is asked once a minute.
  - Only an id_token is accepted as one: a header with another `typ` than `JWT` and `application/jwt`, or the
    claim `events`, makes `signature` not ok (RFC 8725, sections 3.11 and 3.12).
  - An id_token for several audiences is accepted if its `azp` is the client id, because issuers list all clients of a
    project there. Each client in that list is trusted not to pass it on.
  - The checks of an id_token are `signature`, `issuer`, `audience`, `expiry`, `identity`, `nonce`, in this order, up to
    the first that fails.
  """
