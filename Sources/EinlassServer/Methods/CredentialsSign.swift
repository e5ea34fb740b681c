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
        .required(
          "headers", .array(.object(field), max: nil), "The fields to add to the request.",
          isSecret: true)
      ]),
      reasons: retrievalReasons + [
        "accountBanned", "flowNotSupported", "throttled", "tokenNotSaved", "networkFailure",
        "providerFailure", "verificationFailed", "unsafeURL",
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
        request.refusesPlaintext = server.door != nil
        request.renewal = server.credentialRequest(of: id, for: params[.resource])
        let signed = try await server.budgetedEinlass.sign(request)
        try server.requireOpenDoor()
        var event = AuditEvent(
          application: frontEnd.application, method: "credentials.sign",
          provider: account.provider, account: id, clientID: signed.clientID,
          credential: "authorization")
        event.request = request.line
        try server.audit.record(event)
        return [
          "headers": .array(
            signed.fields.map { ["name": .string($0.name), "value": .string($0.value)] })
        ]
      } catch { throw RPCError(error) }
    })
}

private let field: [Field] = [
  .required("name", .string(maxBytes: nil), "The name."),
  .required("value", .string(maxBytes: nil), "The value."),
]

extension SignRequest {
  /// The method, the host and the path for the audit trail: without the query, which often has
  /// secrets.
  fileprivate var line: String? {
    guard var address = try? WebAddress.parse(url) else { return nil }
    address.query = nil
    let line = "\(method) \(address.authority)\(address.path)".utf8
    // Both ends, so that a long beginning hides nothing.
    guard line.count > 256 else { return String(line) }
    return String(decoding: line.prefix(96) + Array("…".utf8) + line.suffix(157), as: UTF8.self)
  }
}

private enum Params {
  static let method = TypedField.required(
    "method", .oneOf(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]),
    "The method of the request.")
  static let url = TypedField.required(
    "url", .string(maxBytes: 8192), "The address of the request.", isSecret: true)
  static let form = TypedField.optional(
    "form", .parameters(maxBytes: 65536), default: [:], "The fields of a form body.",
    isSecret: true)
  static let nonce = TypedField.optional(
    "nonce", .string(maxBytes: 1024), "The DPoP-Nonce of the resource's last answer, if any.")
}

private let credentialsSignDescription = """
  - Add each of `headers` to the request, in place of one of the same name. They are those that the service or its host
    takes: mostly `Authorization`, with Basic for a git host, and `DPoP` beside it for a token that is bound to a key (RFC
    9449).
  - A token that ends soon is refreshed first, as in [`credentials.get`](#credentialsget).
  - The address must be at one of the `hosts` of the provider, at an origin of its own requests, at the `resource`, or at a
    service of the [configuration](README.md#services). Another one is `unsafeURL` with the `detail` `notServed`. So is an
    endpoint for authorization, tokens, devices, registration, revocation or introspection.
  - The header of an OAuth 2.0 account has the token itself, so it is no less than `credentials.get`.
  """
