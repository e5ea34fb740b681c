internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `auth.perform`: gets a credential of a stored account, with the person's consent and choice.
func authPerform(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "auth.perform", .interactive,
      "Asks for access and for the account, then gets a credential for the application.",
      description: authPerformDescription,
      params: ChoiceParams.all
        + fields(
          .flowKind, Params.signIn, Params.credential, Params.interactive, .minValiditySeconds,
          .detached, .deadlineSeconds) + SignInParams.all,
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
    "ifNeeded: the person signs in if there is no account, or if the account needs it.")
  static let credential = TypedField.optional(
    "credential", .oneOf(CredentialChoice.self, placeholder: .fetch), default: "fetch",
    "none: the request ends with the choice of the account.")
  static let interactive = TypedField.optional(
    "interactive", .oneOf(PromptChoice.self, placeholder: .auto), default: "auto",
    "never: 1010 in place of a prompt.")
}

/// The parameters that determine access and account.
enum ChoiceParams {
  static let account = TypedField.optional(
    "account", .account, "Answers selectAccount and confirmAccount in advance.")
  static let confirm = TypedField.optional(
    "confirm", .boolean, default: false, "Answers confirmAccount in advance.")
  static let selection = TypedField.optional(
    "selection", .oneOf(PerformRequest.Selection.self, placeholder: .always), default: "always",
    "always asks for the account, whenMany only among several without a preferred one.")
  static let includeRefreshToken = TypedField.optional(
    "includeRefreshToken", .boolean, default: false,
    "true: the credential has its refresh token too.")

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

private let authPerformDescription = """
  - `scopes` and the parameters after it belong to a sign-in (`signIn: "ifNeeded"`).
  - `account` picks the account: `selectAccount` and `confirmAccount` are not shown, and preferences do not matter.
    `confirm: true` answers `confirmAccount` alone.
  - No parameter answers `grantAccess`: call `access.set` before, or let the person sign in, which
    [grants the account](README.md#access-by-sign-in).
  - With `signIn: "ifNeeded"`, without an account or with one that needs it, the person signs in as by
    `accounts.signIn`. `created` is in the result then. A person who said no to access is not asked to sign in.
  - An `account` that is unknown, or of another provider, is `unknownAccount` or `invalidChoice` before any question, also
    with `signIn: "ifNeeded"`.
  - Programs that need the same sign-in at once open one page. The others report the stage `awaitingSignIn` and use the
    account of the first sign-in, or fail with its reason. A sign-in is the same if provider, client id, scopes, resource
    and named account are equal. `accounts.signIn` does the same for a named account. If the process with the page is
    stopped, another opens the page after some seconds.
  - With `detached: true`, the answer `{flow}` comes at once. `auth.completed` follows exactly once, also after a cancel
    and a deadline.

  The question depends on former answers of the person and on the number of accounts:

  | Access | No account | One | Many |
  |---|---|---|---|
  | never asked | `noSystemAccount`, or the sign-in, which grants access | `grantAccess`, then as granted or denied | the same |
  | granted | `noSystemAccount` | succeeds (`whenMany`) or asks (`always`) | asks |
  | denied | `accessNotGranted` | `accessNotGranted` | `accessNotGranted` |

  - Providers with `oneAccount` ask `confirmAccount` in place of `selectAccount`.
  - Permissions beyond the granted ones open `grantAccess` again, and `added` names them.
  - `includeRefreshToken` opens `grantAccess` again if the grant does not include `refreshToken`. The prompt `includes`
    it.
  - A decline of more permissions leaves the grant as it was.
  - With a grant for some accounts, only these are offered. Another one that is named as `account` opens `grantAccess`. An
    accepted `grantAccess` is then a grant for all accounts of the provider. If it was about more rights for accounts with
    access, the other accounts stay closed.
  - The result has in full all that was issued to the application's own registration. No result and no notification has
    the credentials of the system: the account's own token and secret, and refresh tokens that were not asked for.
  """
