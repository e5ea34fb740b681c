internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `accounts.setPreferred`: sets the account that an application uses when it has several.
func accountsSetPreferred(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "accounts.setPreferred", .immediate,
      "Sets the account of a provider that an application prefers; without an account, removes the preference.",
      params: fields(.provider, preferredAccount, .application),
      result: .object([.revision]),
      reasons: ["unknownProvider", "unknownAccount", "invalidChoice", "accountStoreFailure"]),
    .immediate { params, _, deadline throws(RPCError) in
      let application = params[.application] ?? server.session.application
      server.prompts.personActed()
      return try server.withStore(by: deadline) { patience throws(Problem) in
        let revision = try server.einlass.setPreferred(
          params[preferredAccount], of: params[.provider], for: application, patience: patience)
        return ["revision": JSONValue(revision)]
      }
    })
}

private let preferredAccount = TypedField.optional(
  "account", .account, "The preferred account's id; missing to remove the preference.")
