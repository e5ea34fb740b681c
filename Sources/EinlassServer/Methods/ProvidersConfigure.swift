internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `providers.configure`: stores the person's own registration at a provider, sealed.
func providersConfigure(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "providers.configure", .network,
      "Stores the person's own registration at a provider, sealed, for every application without one.",
      params: fields(.provider, clientID, .removeRegistration) + Schema.registrationParts,
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
        let revision = try server.einlass.configure(id, registration)
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

/// `ClientRegistration` reads it, together with the other parts of the registration.
private let clientID = TypedField.optional(
  "clientId", .identifier, "Consumer key, application id.")

extension TypedField where Value == Bool {
  static let removeRegistration = optional(
    "remove", .boolean, default: false,
    "Remove the registration; without clientId.")
}

private let idOrRemoval = Rule(
  [
    .init(required: ["clientId"], values: [("remove", [false])]),
    .init(
      required: ["remove"], absent: ["clientId"] + Schema.registrationParts.map(\.name),
      values: [("remove", [true])]),
  ], path: "/clientId", expected: "either clientId or remove: true",
  "The request needs either clientId or remove: true.")
