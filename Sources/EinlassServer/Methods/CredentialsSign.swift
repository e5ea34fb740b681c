internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `credentials.sign`: makes an Authorization header, so that no front end needs signing code.
func credentialsSign(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "credentials.sign", .network,
      "Makes the header of a request: an OAuth 1.0a signature, Bearer, DPoP or the provider's own.",
      description: credentialsSignDescription,
      params: fields(
        .account, .resource, Params.method, Params.url, Params.form, Params.nonce),
      result: .object([
        .optional(
          "authorization", .string(maxBytes: nil),
          "The value of the Authorization header; missing if one of headers has the token.",
          isSecret: true),
        .optional(
          "headers", .map(.string(maxBytes: nil)),
          "The further fields that the provider's host takes, by the name.", isSecret: true),
        .optional(
          "dpop", .string(maxBytes: nil),
          "The value of the DPoP header to send too, if the token is bound to a key.",
          isSecret: true),
      ]),
      reasons: [
        "unknownAccount", "accessNotGranted", "authenticatorUnconfigured", "reloginNeeded",
        "notIssuedToThisClient", "unsafeURL", "bindingMismatch", "throttled", "accountStoreFailure",
      ]),
    .task { params, _ async throws(RPCError) in
      let frontEnd = server.session.frontEnd
      let id = params[.account]
      do throws(Problem) {
        let account = try server.store.account(id)
        var request = SignRequest(
          application: frontEnd.application,
          registration: server.registration(for: frontEnd, at: account.provider), account: id,
          method: params[Params.method], url: params[Params.url],
          form: params[Params.form], nonce: params[Params.nonce])
        request.resource = params[.resource]
        request.services = server.configuration.services
        let signed = try server.einlass.sign(request)
        try server.audit.record(
          AuditEvent(
            application: frontEnd.application, method: "credentials.sign",
            provider: account.provider, account: id, clientID: signed.clientID,
            credential: "authorization"))
        return .object(
          JSONObject(present: [
            "authorization": signed.authorization.map(JSONValue.string),
            "headers": signed.headers.isEmpty
              ? nil : .object(JSONObject(signed.headers.map { ($0.name, .string($0.value)) })),
            "dpop": signed.proof.map(JSONValue.string),
          ]))
      } catch { throw RPCError(error) }
    })
}

private enum Params {
  static let method = TypedField.required(
    "method", .oneOf(["GET", "POST", "PUT", "PATCH", "DELETE"]), "The method of the request.")
  static let url = TypedField.required(
    "url", .string(maxBytes: 8192), "The address of the request.", isSecret: true)
  static let form = TypedField.optional(
    "form", .parameters(maxBytes: 65536), default: [:], "The fields of a form body.",
    isSecret: true)
  static let nonce = TypedField.optional(
    "nonce", .string(maxBytes: 1024), "The DPoP-Nonce of the resource's last answer, if any.")
}

private let credentialsSignDescription = """
  - The address must be at one of the `hosts` of the provider, at an origin of its own requests, at the `resource`, or at a
    service of the [configuration](README.md#services). Another one is `unsafeURL` with the `detail` `notServed`.
  - A token with `tokenType: "DPoP"` is bound to a key that stays here (RFC 9449). Each request has both headers:
    `authorization`, and `dpop` as `DPoP`.
  """
