internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `accounts.update`: changes the display name of an account.
func accountsUpdate(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "accounts.update", .immediate,
      "Changes the display name; an empty one removes it.",
      params: fields(.account, displayName),
      result: .object([.revision]),
      reasons: ["unknownAccount", "accountStoreFailure"]),
    .immediate { params, _, deadline throws(RPCError) in
      return try server.withStore(by: deadline) { patience throws(Problem) in
        let id = params[.account]
        let revision =
          if let name = params[displayName] {
            try server.einlass.renameAccount(id, to: name, patience: patience)
          } else {
            try server.store.update(id, patience) { _ in }
          }
        return ["revision": JSONValue(revision)]
      }
    })
}

private let displayName = TypedField.optional(
  "displayName", .string(maxBytes: 256), "The name for people; an empty one removes it.")
