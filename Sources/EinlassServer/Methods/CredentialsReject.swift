internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `credentials.reject`: reports that a resource refused the application's credential.
func credentialsReject(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "credentials.reject", .network,
      "Reports that a resource refused the credential. It is not returned again; the next get returns a new one.",
      params: fields(.account, .resource), result: .object([]), reasons: retrievalReasons),
    .task { params, _ async throws(RPCError) in
      do throws(Problem) {
        try await server.budgetedEinlass.reject(
          server.credentialRequest(of: params[.account], for: params[.resource]))
        return [:]
      } catch { throw RPCError(error) }
    })
}
