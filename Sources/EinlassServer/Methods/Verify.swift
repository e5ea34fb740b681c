internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `verify`: asks the provider for the owner and the state of a credential, and checks both.
func verify(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "verify", .network,
      "Asks the provider for the validity, the application and the person of a credential.",
      params: fields(.provider, .checkedCredential, .verifiedAccount, Params.expect),
      rules: [.either("credential", or: "account")],
      result: .object([
        .required("valid", .boolean, "Whether every check is ok."),
        .optional("identity", .reference("Identity"), "The person of the credential."),
        .optional("clientId", .string(maxBytes: nil), "The application it was issued to."),
        .optional("scopes", .array(.string(maxBytes: nil), max: nil), "The scopes of the token."),
        .optional("expiresAt", .unixTime, "The expiry time."),
        .required(
          "checks",
          .array(
            .object([
              .required("check", .string(maxBytes: nil), "active, application, expiry, …"),
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
    default: [:], "The expected values."
  ).refusingNull
}

private enum Expected {
  static let id = TypedField.optional(
    "id", .identifier, "The provider's id of the person."
  ).refusingNull
  static let clientID = TypedField.optional(
    "clientId", .identifier, "The application; the caller's own."
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
    "account", .account, "Or: the stored credential of this account.")
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
