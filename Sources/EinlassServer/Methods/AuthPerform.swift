internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `auth.perform`: gets a credential of a stored account, with the person's consent and choice.
func authPerform(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "auth.perform", .interactive,
      "Asks for access and for the account, then gets a credential for the application.",
      params: ChoiceParams.all
        + fields(
          .flowKind, Params.signIn, Params.credential, Params.interactive, .minValiditySeconds,
          .detached, .deadlineSeconds) + SignInParams.page,
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
        "bindingMismatch", "unsafeURL",
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

/// Whether the person signs in if no account works.
private enum SignInChoice: String, CaseIterable {
  case never, ifNeeded
}

/// Whether the request returns a credential, or only chooses an account.
private enum CredentialChoice: String, CaseIterable {
  case fetch, none
}

/// Whether the request may ask the person.
private enum PromptChoice: String, CaseIterable {
  case auto, never
}

private enum Params {
  static let signIn = TypedField.optional(
    "signIn", .oneOf(SignInChoice.self, placeholder: .never), default: "never",
    "ifNeeded: the person signs in if no account works.")
  static let credential = TypedField.optional(
    "credential", .oneOf(CredentialChoice.self, placeholder: .fetch), default: "fetch",
    "none: only choose an account.")
  static let interactive = TypedField.optional(
    "interactive", .oneOf(PromptChoice.self, placeholder: .auto), default: "auto",
    "never: no prompt, 1010 instead.")
}

/// The parameters that determine access and account.
enum ChoiceParams {
  static let account = TypedField.optional(
    "account", .account, "Answers selectAccount and confirmAccount in advance.")
  static let confirm = TypedField.optional(
    "confirm", .boolean, default: false, "Answers confirmAccount in advance.")
  static let selection = TypedField.optional(
    "selection", .oneOf(PerformRequest.Selection.self, placeholder: .always), default: "always",
    "Ask for the account always, or only with several accounts and no preferred one.")
  static let includeRefreshToken = TypedField.optional(
    "includeRefreshToken", .boolean, default: false, "Return the refresh token too.")

  static let all = fields(
    .provider, account, confirm, selection, .permissions, .audience, includeRefreshToken)
}

extension Server {
  /// Makes the request of a front end with these parameters.
  func performRequest(
    _ params: JSONObject, of frontEnd: Session.FrontEnd
  ) -> PerformRequest {
    let provider = params[.provider]
    var request = PerformRequest(
      application: frontEnd.application, registration: registration(for: frontEnd, at: provider),
      provider: provider,
      account: params[ChoiceParams.account], confirmsOnlyAccount: params[ChoiceParams.confirm],
      selection: params[ChoiceParams.selection], permissions: params[.permissions],
      audience: params[.audience], flowKind: params[.flowKind],
      fetchesCredential: params[Params.credential] == .fetch,
      isInteractive: params[Params.interactive] == .auto,
      includesRefreshToken: params[ChoiceParams.includeRefreshToken])
    request.minValiditySeconds = params[.minValiditySeconds]
    request.applicationTitle = frontEnd.title
    request.decided = { [weak self] grant in
      self?.audit.note(
        AuditEvent(
          application: grant.application, method: "auth.perform", provider: grant.provider,
          includes: grant.includes, subject: grant.application, state: grant.state.rawValue))
    }
    var signIn = signInRequest(params, of: frontEnd, at: provider, by: "auth.perform")
    (signIn.permissions, signIn.audience) = (request.permissions, request.audience)
    request.signIn = signIn
    request.signsInIfNeeded = params[Params.signIn] == .ifNeeded
    request.registrations = { [weak self] in self?.registration(for: frontEnd, at: $0) }
    return request
  }
}
