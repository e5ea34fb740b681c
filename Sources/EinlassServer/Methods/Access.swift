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
        guard let slash = cursor.utf8.firstIndex(of: UInt8(ascii: "/")) else {
          throw RPCError(.invalidCursor)
        }
        return (String(cursor[..<slash]), String(cursor[cursor.utf8.index(after: slash)...]))
      }
      return try server.answer(mayWait) { patience throws(Problem) in
        // By provider, then application: an order that survives changes.
        let grants = try server.store.snapshot(patience).grants
          .map { ($0, key: ($0.provider, $0.application)) }
          .sorted { $0.key < $1.key }
          .drop { grant in start.map { grant.key <= $0 } ?? false }
        return .object(
          Pages.page(
            "grants", grants, limit: params["limit"]?.int64,
            cursor: { "\($0.0.provider)/\($0.0.application)" }, encode: { JSONValue($0.0) }))
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
        .permissions, .audience,
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
        changedAt: server.effects.now())
      return try server.answer(mayWait) { patience throws(Problem) in
        ["revision": JSONValue(try server.store.setGrant(grant, patience))]
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
        ["revision": JSONValue(try server.store.resetGrant(application, provider.id, patience))]
      }
    })
}

extension Server {
  /// The application and provider that a request is about.
  fileprivate func subject(of params: JSONObject) throws(RPCError) -> (String, Provider) {
    do throws(Problem) {
      return (
        params["application"]?.string ?? session.frontEnd.application,
        try catalog.provider(params["provider"]?.string ?? "")
      )
    } catch { throw RPCError(error) }
  }
}
