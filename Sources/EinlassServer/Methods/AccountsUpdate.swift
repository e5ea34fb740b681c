internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `accounts.update`: changes the display name of an account.
func accountsUpdate(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "accounts.update", .immediate,
      "Changes the display name; an empty one removes it.",
      params: [
        .account, .optional("displayName", .string(maxBytes: 256), "The name to show."),
      ],
      result: .object([.revision]),
      reasons: ["unknownAccount", "accountStoreFailure"]),
    .immediate { params, _, deadline throws(RPCError) in
      let displayName = params["displayName"]?.string
      return try server.read(by: deadline) { patience throws(Problem) in
        let id = Account.ID(params)
        let revision =
          if let displayName {
            try server.einlass.renameAccount(id, to: displayName, patience: patience)
          } else {
            try server.store.update(id, patience) { _ in }
          }
        return ["revision": JSONValue(revision)]
      }
    })
}

extension Account.ID {
  /// Reads `account` from validated parameters.
  init(_ params: JSONObject) { self.init(rawValue: params["account"]?.string ?? "") }
}
