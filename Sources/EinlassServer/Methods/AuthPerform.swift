internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `auth.perform`: gets a credential of a stored account, with the person's consent and choice.
func authPerform(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "auth.perform", .interactive,
      "Asks for access and for the account, then gets a credential for the application.",
      params: choiceParams + [
        .optional("flowKind", Schema(FlowKind.self), "The only allowed kind of flow."),
        .optional(
          "signIn", .oneOf(["never", "ifNeeded"]),
          "ifNeeded: the person signs in if no account works."),
        .optional(
          "credential", .oneOf(["fetch", "none"]), "none: only choose an account."),
        .optional("interactive", .oneOf(["auto", "never"]), "never: no prompt, 1010 instead."),
        .minValiditySeconds, .detached, .deadlineSeconds,
      ] + pageParams,
      result: .object([
        .required("flow", .identifier, "The flow's id."),
        .optional("account", .identifier, "The account's id; missing when detached."),
        .optional(
          "created", .boolean,
          "After a sign-in by the person: whether it added the account."),
        .optional("credential", .reference("Credential"), "The credential for the application."),
      ]),
      reasons: [
        "noSystemAccount", "accessNotGranted", "userCanceledAccountSelection", "accountBanned",
        "reloginNeeded", "notIssuedToThisClient", "unknownAccount", "invalidChoice",
        "bindingMismatch",
      ] + flowReasons + signInReasons),
    .task { params, call async throws(RPCError) in
      let request = server.performRequest(params, of: server.session.frontEnd)
      return try await server.perform(params, call, .perform(request)) {
        _, asker async throws(Problem) in
        let result = try await server.einlass.perform(request, asking: asker)
        if let credential = result.credential {
          try server.audit.record(
            AuditEvent(
              "auth.perform", handing: credential, of: result.account, to: request.application,
              clientID: result.clientID))
          server.scheduleRefresh(of: result)
        }
        return JSONObject(present: [
          "account": .string(result.account.id.rawValue),
          "created": result.created.map(JSONValue.bool),
          "credential": result.credential.map {
            JSONValue($0, of: result.identity, includesRefreshToken: request.includesRefreshToken)
          },
        ])
      }
    })
}

/// The parameters that determine access and account.
let choiceParams: [Field] = [
  .provider,
  .optional("account", .identifier, "Answers selectAccount and confirmAccount in advance."),
  .optional("confirm", .boolean, "Answers confirmAccount in advance."),
  .optional(
    "selection", Schema(PerformRequest.Selection.self),
    "Ask for the account always, or only with several accounts and no preferred one."),
  .permissions, .audience,
  .optional("includeRefreshToken", .boolean, "Return the refresh token too."),
]

extension Server {
  /// Makes the request of a front end with these parameters.
  func performRequest(
    _ params: JSONObject, of frontEnd: Session.FrontEnd
  ) -> PerformRequest {
    let provider = params["provider"]?.string ?? ""
    var request = PerformRequest(
      application: frontEnd.application, registration: registration(for: frontEnd, at: provider),
      provider: provider,
      account: params["account"]?.string.map { Account.ID(rawValue: $0) },
      confirmsOnlyAccount: params["confirm"]?.bool ?? false,
      selection: params["selection"]?.string.flatMap(PerformRequest.Selection.init) ?? .always,
      permissions: params["permissions"]?.strings,
      audience: params["audience"]?.string.flatMap(AccessGrant.Audience.init),
      flowKind: params["flowKind"]?.string.flatMap(FlowKind.init),
      fetchesCredential: params["credential"]?.string != "none",
      isInteractive: params["interactive"]?.string != "never",
      includesRefreshToken: params["includeRefreshToken"]?.bool ?? false)
    request.minValiditySeconds = params["minValiditySeconds"]?.int64
    request.signIn = signInRequest(params, of: frontEnd, at: provider)
    request.signsInIfNeeded = params["signIn"]?.string == "ifNeeded"
    return request
  }
}
