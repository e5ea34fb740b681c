internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `providers.add`: adds a provider to the catalogue, stored in a file beside the store.
func providersAdd(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "providers.add", .network,
      "Adds a provider that describes itself (OpenID Connect Discovery, RFC 8414), or one by a descriptor.",
      description: providersAddDescription,
      params: fields(Params.issuer, Params.descriptor, Params.id, Params.name),
      rules: [.either("issuer", or: "descriptor")],
      result: .object([
        .provider,
        .required("created", .boolean, "false: an added provider with that id was replaced."),
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
      "Removes an added provider and its stored registration; its accounts stay, and serve again when it is added again.",
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
          hadRegistration = try server.store.forgetRegistrations(at: id)
        }
        server.audit.note(
          AuditEvent(
            application: server.session.application, method: "providers.remove",
            provider: id))
        return ["registration": .bool(hadRegistration)]
      } catch { throw RPCError(error) }
    })
}

extension AccountStore {
  /// Removes the registrations at a provider. Returns whether there was one.
  func forgetRegistrations(at provider: String) throws(Problem) -> Bool {
    let known = try read { reader throws(Problem) in try reader.registrations(at: provider) }
    for known in known { _ = try registrations.set(provider, known.flow, nil, .usual) }
    return !known.isEmpty
  }
}

private enum Params {
  static let issuer = TypedField.optional(
    "issuer", .string(maxBytes: 2048),
    "The https address of an OpenID Connect or OAuth issuer, exactly as in its metadata.")
  static let descriptor = TypedField.optional(
    "descriptor", .json(.any), "A descriptor in the form of the built-in catalogue.")
  static let id = TypedField.optional(
    "id", .identifier,
    "With issuer: the id; without it made of the host, and of more if another issuer has that host."
  )
  static let name = TypedField.optional("name", .name, "With issuer: the name for people.")
}

private let providersAddDescription = """
  - Either `issuer` or `descriptor` is given.
  - The provider is stored beside the store. Other processes have it when they start.
  - Of the metadata only `issuer`, `token_endpoint`, `authorization_endpoint` and, where id_tokens are used, `jwks_uri`
    must be readable, and the members that protect: `code_challenge_methods_supported`, `*_signing_alg_values_supported`,
    `require_*`, `dpop_*`, `authorization_response_iss_parameter_supported` and
    `tls_client_certificate_bound_access_tokens`. An address that would be `unsafeURL` is never used.
  - A given `id`, or the `id` of a descriptor, replaces an added provider of this id (`created: false`).
  """
