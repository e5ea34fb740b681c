internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `accounts.remove`: removes an account and its credentials, even if their revocation fails. With
/// `requireRevocation` it refuses if the provider cannot be asked.
func accountsRemove(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "accounts.remove", .network,
      "Removes the account and its credentials here, then revokes them at the provider.",
      description: accountsRemoveDescription,
      params: fields(.account, .requireRevocation), result: revocationSchema,
      reasons: leavingReasons),
    .task { params, _ async throws(RPCError) in
      let frontEnd = server.session.frontEnd
      do throws(Problem) {
        return JSONValue(
          try await server.budgetedEinlass.removeAccount(
            params[.account], requiringRevocation: params[.requireRevocation],
            registration: { server.registration(for: frontEnd, at: $0) }))
      } catch { throw RPCError(error) }
    })
}

private let accountsRemoveDescription = """
  - Without `requireRevocation`, the removal here always happens.
  """
