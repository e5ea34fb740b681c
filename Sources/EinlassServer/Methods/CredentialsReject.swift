internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `credentials.reject`: reports that a resource refused the application's credential.
func credentialsReject(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "credentials.reject", .network,
      "Reports that a service refused the credential. The next get returns a new one, if there is a way to get one.",
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
  "true: a credential that only a sign-in replaces stays, and nobody is asked.")
