internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `accounts.renew`: renews the application's credential of an account without the person.
func accountsRenew(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "accounts.renew", .network,
      "Renews the application's credential with the provider, as far as that goes without the person.",
      params: [.account, .resource],
      result: .object([
        .required(
          "result", .oneOf(["renewed", "rejected", "failed"]),
          "rejected: the provider does not want to; failed: it could not be asked, or not without the person."
        ),
        .optional("error", .any, "Unless renewed: {code, message, data}, data.hint mends it."),
      ]),
      reasons: retrievalReasons + ["tokenNotSaved"]),
    .task { params, _ async throws(RPCError) in
      do throws(Problem) {
        switch try await server.budgetedEinlass.renew(server.credentialRequest(params)) {
        case .renewed: return ["result": "renewed"]
        case .rejected(let why): return ["result": "rejected", "error": RPCError(why).json]
        case .failed(let why): return ["result": "failed", "error": RPCError(why).json]
        }
      } catch { throw RPCError(error) }
    })
}
