internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `providers.add`: adds a provider to the catalogue, stored in a file beside the store.
func providersAdd(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "providers.add", .network,
      "Adds a provider, either by its issuer, if it publishes metadata, or by a descriptor.",
      params: fields(Params.issuer, Params.descriptor, Params.id, Params.name),
      rules: [.either("issuer", or: "descriptor")],
      result: .object([
        .provider,
        .required("created", .boolean, "False when a provider with that id was replaced."),
        .optional(
          "ignored", .array(.string(maxBytes: nil), max: nil),
          "The members of the issuer's metadata that cannot be read and count as absent, if any."),
      ]),
      reasons: [
        "unsafeURL", "providerFailure", "networkFailure", "accountStoreFailure", "cancelled",
      ]),
    .task { params, _ async throws(RPCError) in
      do throws(Problem) {
        let source: AddProviderRequest.Source =
          if let issuer = params[Params.issuer] {
            .issuer(issuer)
          } else {
            .descriptor(params[Params.descriptor] ?? .null)
          }
        let new = try await server.budgetedEinlass.descriptor(
          of: AddProviderRequest(
            source, id: params[Params.id], name: params[Params.name]))
        let isNamed = params[Params.issuer] == nil || params[Params.id] != nil
        let (id, isNew) = try server.added.add(new.descriptor, isNamed: isNamed)
        return .object(
          JSONObject(present: [
            "provider": .string(id), "created": .bool(isNew),
            "ignored": new.ignored.isEmpty ? nil : JSONValue(new.ignored),
          ]))
      } catch { throw RPCError(error) }
    })
}

/// `providers.remove`: removes an added provider and its stored registration. Its accounts stay.
func providersRemove(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "providers.remove", .network,
      "Removes an added provider and its stored registration. Its accounts stay, and are unusable until it is added again.",
      params: fields(.provider),
      result: .object([
        .required("registration", .boolean, "Whether a stored registration was removed.")
      ]),
      reasons: ["unknownProvider", "accountStoreFailure", "cancelled"]),
    .task { params, _ async throws(RPCError) in
      do throws(Problem) {
        let id = params[.provider]
        var hadRegistration = false
        try server.added.remove(id) { id throws(Problem) in
          hadRegistration = try server.store.read { reader throws(Problem) in
            try reader.registration(at: id) != nil
          }
          _ = try server.store.registrations.set(id, nil, .usual)
        }
        server.audit.note(
          AuditEvent(
            application: server.session.application, method: "providers.remove",
            provider: id))
        return ["registration": .bool(hadRegistration)]
      } catch { throw RPCError(error) }
    })
}

private enum Params {
  static let issuer = TypedField.optional(
    "issuer", .string(maxBytes: 2048), "Its https address, exactly as in its metadata.")
  static let descriptor = TypedField.optional(
    "descriptor", .json(.any), "An object as in the built-in catalogue.")
  static let id = TypedField.optional(
    "id", .identifier, "With issuer: the id; by default made of its host.")
  static let name = TypedField.optional("name", .name, "With issuer: the name for people.")
}
