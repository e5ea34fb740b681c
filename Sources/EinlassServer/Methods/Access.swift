internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `access.list`: what the person decided, for every application.
func accessList(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "access.list", .immediate,
      "What the person decided about each application and provider.",
      params: [.limit, .cursor],
      result: .object([
        .required("grants", .array(.reference("Grant"), max: nil), "Grants."), .nextCursor,
      ]),
      reasons: ["accountStoreFailure", "invalidCursor"]),
    .immediate { params, _, mayWait throws(RPCError) in
      let start = try params["cursor"]?.string.map { cursor throws(RPCError) in
        guard cursor.utf8.contains(UInt8(ascii: "/")) else { throw RPCError(.invalidCursor) }
        return cursor
      }
      return try server.answer(mayWait) { patience throws(Problem) in
        // By place, an order that survives changes.
        let grants = try server.store.snapshot(patience).grants
          .map { (place: $0.place, grant: $0) }
          .filter { entry in
            start.map { $0.utf8.lexicographicallyPrecedes(entry.place.utf8) } ?? true
          }
          .sorted { $0.place.utf8.lexicographicallyPrecedes($1.place.utf8) }
        return .object(
          Pages.page(
            "grants", grants, limit: params["limit"]?.int64, cursor: \.place,
            encode: { JSONValue($0.grant) }))
      }
    })
}

/// `access.set`: decides for an application without asking, its own included.
func accessSet(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "access.set", .immediate,
      "Grants or denies an application the use of a provider's accounts.",
      params: [
        .provider, .required("state", Schema(AccessGrant.State.self), "The decision."),
        .optional("application", .identifier, "Whose; the caller's own when missing."),
        .permissions, .audience, .includes,
      ],
      result: .object([.revision]),
      reasons: ["unknownProvider", "accountStoreFailure"]),
    .immediate { params, _, mayWait throws(RPCError) in
      let (application, provider) = try server.subject(of: params)
      let grant = AccessGrant(
        application: application, provider: provider.id,
        state: params["state"]?.string.flatMap(AccessGrant.State.init) ?? .denied,
        permissions: provider.permissions(asked: params["permissions"]?.strings),
        audience: params["audience"]?.string.flatMap(AccessGrant.Audience.init)
          ?? provider.defaultAudience,
        includes: (params["includes"]?.strings ?? []).compactMap(AccessGrant.Inclusion.init),
        changedAt: server.effects.now())
      return try server.answer(mayWait) { patience throws(Problem) in
        let revision = try server.store.setGrant(grant, patience)
        server.audit.note(
          AuditEvent(
            application: server.session.frontEnd.application, method: "access.set",
            provider: provider.id, includes: grant.includes, subject: application,
            state: grant.state.rawValue))
        return ["revision": JSONValue(revision)]
      }
    })
}

/// `access.reset`: back to never asked.
func accessReset(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "access.reset", .immediate,
      "Forgets a decision, so that the next request asks again.",
      params: [
        .provider, .optional("application", .identifier, "Whose; the caller's own when missing."),
      ],
      result: .object([.revision]),
      reasons: ["unknownProvider", "accountStoreFailure"]),
    .immediate { params, _, mayWait throws(RPCError) in
      let (application, provider) = try server.subject(of: params)
      return try server.answer(mayWait) { patience throws(Problem) in
        let revision = try server.store.resetGrant(application, provider.id, patience)
        server.audit.note(
          AuditEvent(
            application: server.session.frontEnd.application, method: "access.reset",
            provider: provider.id, subject: application))
        return ["revision": JSONValue(revision)]
      }
    })
}

extension AccessGrant {
  /// Where it stands in a list: no provider's id holds a slash.
  fileprivate var place: String { "\(provider)/\(application)" }
}

extension Server {
  /// The application and provider that a request is about.
  fileprivate func subject(of params: JSONObject) throws(RPCError) -> (String, Provider) {
    // Whoever decides is there.
    prompts.personActed()
    do throws(Problem) {
      return (
        params["application"]?.string ?? session.frontEnd.application,
        try catalog.provider(params["provider"]?.string ?? "")
      )
    } catch { throw RPCError(error) }
  }
}
