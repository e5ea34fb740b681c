internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `accounts.list`: the stored accounts in order of adding. Not gated by grants; never opens the key.
func accountsList(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "accounts.list", .immediate,
      "The stored accounts, in order of adding. Opens no key and asks nobody.",
      params: [
        .optional("provider", .identifier, "Only those of this provider."), .limit, .cursor,
      ],
      result: .object([
        .revision, .required("accounts", .array(.reference("Account"), max: nil), "Accounts."),
        .nextCursor,
      ]),
      reasons: ["accountStoreFailure", "invalidCursor"]),
    .immediate { params, _, mayWait throws(RPCError) in
      let position = try params["cursor"]?.string.map { cursor throws(RPCError) in
        guard let position = Int64(cursor) else { throw RPCError(.invalidCursor) }
        return position
      }
      let provider = params["provider"]?.string
      return try server.answer(mayWait) { patience throws(Problem) in
        let snapshot = try server.store.snapshot(patience)
        let accounts = snapshot.accounts.lazy.filter { account in
          (position.map { account.position > $0 } ?? true)
            && (provider.map { sameBytes($0, account.provider) } ?? true)
        }
        var result: JSONObject = ["revision": JSONValue(snapshot.revision)]
        let page = Pages.page(
          "accounts", accounts, limit: params["limit"]?.int64, cursor: { String($0.position) },
          encode: { JSONValue($0) })
        for member in page.members { result[member.name] = member.value }
        return .object(result)
      }
    })
}
