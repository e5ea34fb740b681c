internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `accounts.renew`: renews the application's credential of an account without the person.
func accountsRenew(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "accounts.renew", .network,
      "Renews the application's credential at the provider, as far as that goes without the person.",
      description: accountsRenewDescription,
      params: fields(.account, .resource),
      result: .object([
        .required(
          "result", .oneOf(["renewed", "rejected", "failed"]),
          "rejected: the provider refused; failed: the provider could not be asked, or the person is needed."
        ),
        .optional(
          "error", .reference("Error"), "The error unless renewed; data.next has the next steps."),
      ]),
      reasons: retrievalReasons + ["tokenNotSaved"]),
    .task { params, _ async throws(RPCError) in
      do throws(Problem) {
        let request = server.credentialRequest(of: params[.account], for: params[.resource])
        switch try await server.budgetedEinlass.renew(request) {
        case .renewed: return ["result": "renewed"]
        case .rejected(let why): return ["result": "rejected", "error": RPCError(why).json]
        case .failed(let why): return ["result": "failed", "error": RPCError(why).json]
        }
      } catch { throw RPCError(error) }
    })
}

private let accountsRenewDescription = """
  - `error.data.next` has the step for the person. The `detail` `notRenewable` means that nothing is wrong with the
    account.
  """
