internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `credentials.reject`: reports that a resource refused the application's credential.
func credentialsReject(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "credentials.reject", .network,
      "Reports that a service has refused the credential (401).",
      description: credentialsRejectDescription,
      params: fields(.account, .resource, .serviceAddress, onlyRenewable), result: .object([]),
      reasons: retrievalReasons),
    .task { params, _ async throws(RPCError) in
      do throws(Problem) {
        var request = server.credentialRequest(of: params[.account], for: params[.resource])
        request.service = try service(params)
        request.rejectsOnlyRenewable = params[onlyRenewable]
        try await server.budgetedEinlass.reject(request)
        return [:]
      } catch { throw RPCError(error) }
    })
}

private let onlyRenewable = TypedField.optional(
  "onlyRenewable", .boolean, default: false,
  "true: a credential that only a sign-in replaces stays, and nobody is asked."
).refusingNull

private let credentialsRejectDescription = """
  - The next `credentials.get` brings a new one, if there is a way to get one without the person.
  - A credential that einlass can renew is not returned again, to any application of the registration. While the provider
    cannot renew it, other services than that of `address` still get it.
  - Any other one is dead only if the provider says so: einlass asks it, and the account needs a sign-in then. If the
    provider takes the credential or cannot be asked, the service of `address` alone does not get it for five minutes.
    `accounts.list` shows that as [`refusals`](#account), and a new sign-in ends it at once.
  - The provider is asked at most once a minute about an account, by all processes. Without `address`, and with a provider
    that takes the credential, nothing is refused.
  - A server has the last word about the token of its own `resource`, and about a session of its own that the provider's
    descriptor cannot check.
  """
