internal import Einlass
internal import EinlassJSON
internal import EinlassRPC
internal import EinlassSystem

/// `access.list`: returns the access decisions of the person for all applications.
func accessList(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "access.list", .immediate,
      "The access decisions for each application and provider.",
      params: fields(.limit, .cursor),
      result: .object([
        .required("grants", .array(.reference("Grant"), max: nil), "The grants."), .nextCursor,
      ]),
      reasons: ["accountStoreFailure", "invalidCursor"]),
    .immediate { params, _, deadline throws(RPCError) in
      let start = try params[.cursor].map { cursor throws(RPCError) in
        guard let place = AccessGrant.Place(cursor: cursor) else { throw RPCError(.invalidCursor) }
        return place
      }
      return try server.withStore(by: deadline) { patience throws(Problem) in
        try server.store.read(patience) { reader throws(Problem) in
          .object(
            try Pages.page(
              "grants", limit: params[.limit], log: server.log, cursor: \.place.cursor,
              encode: { JSONValue($0) },
              piece: { (last: AccessGrant?, count) throws(Problem) in
                try reader.grants(after: last?.place ?? start, limit: count)
              }))
        }
      }
    })
}

/// `access.set`: stores a decision for any application, including the caller, without a prompt.
func accessSet(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "access.set", .immediate,
      "Grants or denies an application the accounts of a provider, or some of them.",
      description: accessSetDescription,
      params: fields(.provider, state, .application, accounts, .permissions, .audience, .includes),
      result: .object([.revision]),
      reasons: ["unknownProvider", "unknownAccount", "accountStoreFailure"]),
    .immediate { params, _, deadline throws(RPCError) in
      if let accounts = params[accounts] {
        guard params[state] == .granted, !accounts.isEmpty else {
          throw .invalidParams(
            path: "/accounts", expected: "at least one account, with the state granted")
        }
      }
      let (application, provider) = try server.subject(of: params)
      let frontEnd = server.session.frontEnd
      let ownTitle = sameBytes(application, frontEnd.application) ? frontEnd.title : nil
      let grant = AccessGrant(
        application: application, provider: provider.id,
        state: params[state],
        accounts: params[accounts]?.withoutRepetitions.map(Account.ID.init(rawValue:)),
        permissions: provider.permissions(asked: params[.permissions]),
        audience: params[.audience] ?? provider.defaultAudience, includes: params[.includes],
        title: ownTitle, changedAt: server.effects.now())
      let event = AuditEvent(
        application: server.session.application, method: "access.set",
        provider: provider.id, includes: grant.includes, subject: application,
        state: grant.state.rawValue)
      return try server.decide(event, by: deadline) { patience throws(Problem) in
        for account in grant.accounts ?? [] {
          let found = try server.store.account(account, patience)
          guard sameBytes(found.provider, provider.id) else {
            throw .unknownAccount(account, provider.id)
          }
        }
        return try server.store.decide(grant.place, patience) { former in
          var grant = grant
          // The title that the person has seen stays.
          grant.title = grant.title ?? former?.title
          return grant
        }
      }
    })
}

/// `access.reset`: removes a decision, so that the next request asks again.
func accessReset(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "access.reset", .immediate,
      "Removes an access decision, so that the next request asks again.",
      params: fields(.provider, .application),
      result: .object([.revision]),
      reasons: ["unknownProvider", "accountStoreFailure"]),
    .immediate { params, _, deadline throws(RPCError) in
      let (application, provider) = try server.subject(of: params)
      let event = AuditEvent(
        application: server.session.application, method: "access.reset",
        provider: provider.id, subject: application)
      return try server.decide(event, by: deadline) { patience throws(Problem) in
        try server.store.resetGrant(application, provider.id, patience)
      }
    })
}

private let accounts = TypedField.optional(
  "accounts", .identifiers(max: AccessGrant.accountsLimit),
  "With granted: the ids of the only accounts of the decision; all accounts of the provider when missing."
).refusingNull

private let state = TypedField.required(
  "state", .oneOf(AccessGrant.State.self, placeholder: .denied), "The decision of the person.")

extension AccessGrant.Place {
  /// The cursor for the position after this grant. A slash separates its parts, because the id of a
  /// provider contains none.
  fileprivate var cursor: String { "\(provider)/\(application)" }

  /// Reads a cursor; `nil` if it is invalid.
  fileprivate init?(cursor: String) {
    let parts = cursor.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    self.init(provider: String(parts[0]), application: String(parts[1]))
  }
}

extension Server {
  /// Changes a decision, records the change, and returns the new revision.
  fileprivate func decide(
    _ event: AuditEvent, by deadline: Deadline?,
    _ change: (AccountStore.Patience) throws(Problem) -> Int64
  ) throws(RPCError) -> JSONValue? {
    let revision = try withStore(by: deadline) { patience throws(Problem) in
      try audit.note(event, patience) { () throws(Problem) in try change(patience) }
    }
    return (revision ?? nil).map { ["revision": JSONValue($0)] }
  }

  /// Returns the application and the provider of a request.
  fileprivate func subject(of params: JSONObject) throws(RPCError) -> (String, Provider) {
    // A decision proves that a person is present, so prompts are allowed again.
    prompts.personActed()
    do throws(Problem) {
      return (
        params[.application] ?? session.application,
        try catalog.provider(params[.provider])
      )
    } catch { throw RPCError(error) }
  }
}

private let accessSetDescription = """
  - The grant is then this one and no more. An open `grantAccess` that is answered by it closes as `satisfied`, in any
    process.
  """
