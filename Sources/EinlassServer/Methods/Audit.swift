internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `audit.list`: returns which application received which credential, and when.
func auditList(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "audit.list", .immediate,
      "The receivers of credentials, the newest first, never the credential.",
      description: auditListDescription,
      params: AuditFilter.fields + fields(.limit, .cursor),
      result: .object([
        .required(
          "entries", .array(.reference("AuditEntry"), max: nil), "The entries, the newest first."),
        .nextCursor,
      ]),
      reasons: ["accountStoreFailure", "invalidCursor"]),
    .immediate { params, _, deadline throws(RPCError) in
      let page = try server.withStore(by: deadline) { patience throws(Problem) -> JSONObject? in
        try server.audit.page(params, patience)
      }
      guard let page else { return nil }
      guard let page else { throw RPCError(.invalidCursor) }
      return .object(page)
    })
}

/// `audit.prune`: removes the entries before a time. The removal adds an entry of its own.
func auditPrune(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "audit.prune", .immediate, "Removes the entries of the audit trail before a time.",
      params: fields(before),
      result: .object([
        .required("removed", .count, "The number of removed entries.")
      ]),
      reasons: ["accountStoreFailure"]),
    .immediate { params, _, deadline throws(RPCError) in
      // Reading the whole file is slow, so do it on the waiting thread, which passes a deadline.
      guard let deadline else { return nil }
      do throws(Problem) {
        let removed = Int64(
          try server.audit.prune(
            before: params[before], .init(until: deadline)))
        server.audit.note(
          AuditEvent(
            application: server.session.application, method: "audit.prune",
            count: removed))
        return ["removed": JSONValue(removed)]
      } catch { throw RPCError(error) }
    })
}

private let before = TypedField.required("before", .unixTime, "Older entries are removed.")

/// The parameters that select entries.
enum AuditFilter {
  /// The members of an entry that must be equal.
  static let equal = [
    TypedField.optional("application", .identifier, "Only entries of this application."),
    TypedField.optional("provider", .identifier, "Only entries about this provider."),
    TypedField.optional("account", .identifier, "Only entries about this account."),
    TypedField.optional("method", .identifier, "Only entries of this method."),
  ]
  static let since = TypedField.optional("since", .unixTime, default: 0, "Not before this time.")
  static let before = TypedField.optional(
    "before", .unixTime, default: 253_402_300_799, "Before this time.")

  static let fields = equal.map(\.field) + EinlassRPC.fields(since, before)
}

private let auditListDescription = """
  - A page may be empty and still have a `nextCursor`. After `audit.prune`, an old cursor is `invalidCursor`.
  """
