internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `providers.configure`: stores the person's own registration at a provider, sealed.
func providersConfigure(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "providers.configure", .network,
      "Stores the person's own registration at a provider, sealed, for each application without one.",
      description: providersConfigureDescription,
      params: fields(.provider, flowKind, clientID, .removeRegistration) + Schema.registrationParts,
      rules: [idOrRemoval],
      result: .object([
        .required("configured", .boolean, "Whether a registration exists now, from any source."),
        .revision,
      ]),
      reasons: ["unknownProvider", "authenticatorUnconfigured", "accountStoreFailure"]),
    .task { params, _ async throws(RPCError) in
      do throws(Problem) {
        let registration = ClientRegistration(.object(params))
        let id = params[.provider]
        let revision = try server.einlass.configure(id, registration, for: params[flowKind])
        if registration == nil { server.added.forgetRefusal(of: id) }
        let frontEnd = server.session.frontEnd
        server.audit.note(
          AuditEvent(
            application: frontEnd.application, method: "providers.configure", provider: id,
            clientID: registration?.clientID))
        let stored = try server.store.read { reader throws(Problem) in try reader.registrations }
        let isConfigured = try server.catalog.provider(id).isConfigured(
          by: server.registration(for: frontEnd, at: id), or: stored)
        return ["configured": .bool(isConfigured), "revision": JSONValue(revision)]
      } catch { throw RPCError(error) }
    })
}

private let flowKind = TypedField.optional(
  "flowKind", .oneOf(FlowKind.self, placeholder: .authorizationCode),
  "The only flow that uses the registration; without it every flow without one of its own.")

/// `ClientRegistration` reads it, together with the other parts of the registration.
private let clientID = TypedField.optional(
  "clientId", .identifier, "Consumer key, application id.")

extension TypedField where Value == Bool {
  static let removeRegistration = optional(
    "remove", .boolean, default: false,
    "true forgets the registration; no part of a registration is allowed then.")
}

private let idOrRemoval = Rule(
  [
    .init(required: ["clientId"], values: [("remove", [false])]),
    .init(
      required: ["remove"], absent: ["clientId"] + Schema.registrationParts.map(\.name),
      values: [("remove", [true])]),
  ], path: "/clientId", expected: "either clientId or remove: true",
  "The request needs either clientId or remove: true.")

private let providersConfigureDescription = """
  - `{provider, remove: true}` forgets it. [Registrations](README.md#registrations) has the rules.
  - `flowKind` is for a provider with two kinds of client, such as one for devices. The requests about a token use
    the registration of the flow that it came from, or the general one if that has the token's client id, and never that
    of another flow. `remove: true` with it forgets that registration alone.
  - `dpop: true` binds tokens to a key although the descriptor does not. `idTokenAlgorithm` is the
    `id_token_signed_response_alg` of the registration; with `HS256` the client secret signs id_tokens.
  - An assertion (`private_key_jwt`, `client_secret_jwt`) names one audience: at the token endpoint its address, elsewhere
    the issuer, unless `assertionAudience` fixes it. After a refusal the others are tried, except with a code or a refresh
    token. The address of the token endpoint is sent only to its own origin.
  - `privateKey` (PEM text, PKCS #8 or the older forms, without a passphrase), with `keyId`, serves for
    `private_key_jwt` and for OAuth 1.0a with RSA-SHA1. An unreadable key is 1006 before a person is asked.
  - `certificate` (PEM text, with its intermediate authorities) serves for `tls_client_auth` and
    `self_signed_tls_client_auth`, and for tokens bound to it (RFC 8705). `privateKey` is its key. A certificate of
    another key, an unreadable or an expired one is 1006 with the `detail` `certificate`, before a request.
  - A token that is bound to the certificate is useless without it. The front end needs the certificate and its key for
    its own requests to the resource.
  """
