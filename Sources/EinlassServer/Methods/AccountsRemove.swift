internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `accounts.remove`: forgets an account and its credentials. Local removal always happens.
func accountsRemove(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "accounts.remove", .network,
      "Removes the account and its credentials from the store.",
      params: [.account],
      result: .object([
        .required("revoked", .array(.string(maxBytes: nil), max: nil), "What was revoked."),
        .required(
          "notRevoked",
          .array(
            .object([
              .required("what", .string(maxBytes: nil), "A credential."),
              .required("reason", .string(maxBytes: nil), "Why it stays valid at the provider."),
            ]), max: nil), "What stays valid at the provider."),
        .revision,
      ]),
      reasons: ["unknownAccount", "accountStoreFailure"]),
    .task { params, _ async throws(RPCError) in
      do throws(Problem) {
        let revision = try server.store.remove(Account.ID(params), .usual)
        return [
          "revoked": [],
          "notRevoked": [
            [
              "what": "credential",
              "reason": "This provider's descriptor has no way to revoke it.",
            ]
          ],
          "revision": JSONValue(revision),
        ]
      } catch { throw RPCError(error) }
    })
}
