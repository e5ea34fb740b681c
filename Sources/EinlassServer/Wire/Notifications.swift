internal import Einlass
internal import EinlassRPC

/// All notifications of this process.
let notifications: [NotificationDescriptor] = [
  NotificationDescriptor(
    "prompt.opened", "A prompt for the person, to be answered with prompt.answer.",
    params: promptFields, whole: .reference("Prompt")),
  NotificationDescriptor(
    "prompt.closed", "A prompt no longer needs an answer.",
    params: [
      .required("prompt", .identifier, "The prompt's id."),
      .required("outcome", Schema(Prompts.Outcome.self), "The outcome of the prompt."),
    ]),
  NotificationDescriptor(
    "auth.progress", "The progress of a flow.",
    params: [
      .required("flow", .identifier, "The flow's id."),
      .required(
        "stage", Schema(Stage.self),
        "The current stage; awaitingPort: a sign-in of another program has the port of the redirect address; awaitingSignIn: another program asks for the same sign-in."
      ),
    ]),
  NotificationDescriptor(
    "auth.completed", "The outcome of a detached flow, exactly once.",
    params: [
      .required("flow", .identifier, "The flow's id."),
      .optional("account", .identifier, "After success: the account's id."),
      .optional("created", .boolean, "As in the result of accounts.signIn."),
      .optional("emailVerified", .boolean, "As in the result of accounts.signIn."),
      .optional("profile", .map(.any, hasAnyNames: true), "As in the result of accounts.signIn."),
      .optional("provider", .identifier, "As in the result of accounts.signIn."),
      .optional("resource", .string(maxBytes: nil), "As in the result of accounts.signIn."),
      .optional("credential", .reference("Credential"), "After success: the credential."),
      .optional("error", .reference("Error"), "After a failure: the error."),
    ]),
  NotificationDescriptor(
    "accounts.changed", "Accounts were added, removed or changed.",
    params: [
      .revision,
      .required(
        "changes",
        .array(
          .object([
            .account,
            .required(
              "change", Schema(StoreChange.Kind.self), "The kind of change."),
          ]), max: StoreChanges.limit), "The changes."),
      .reload,
    ]),
  NotificationDescriptor(
    "access.changed", "An access decision was made or removed.",
    params: [
      .revision, .optional("application", .identifier, "The application of the decision."),
      .optional("provider", .identifier, "The provider of the accounts."), .reload,
    ]),
  NotificationDescriptor(
    "providers.changed", "Providers were added, replaced, removed, or got another registration.",
    params: [
      .required(
        "changes",
        .array(
          .object([
            .provider,
            .required(
              "change", Schema(ProviderChange.self),
              "The kind of change; configured: its registration was added, replaced or removed."),
          ]), max: StoreChanges.limit), "The changes."),
      .reload,
    ]),
  NotificationDescriptor(
    "users.changed",
    "Users of the application's directory changed; for capabilities.users alone, first after initialize.",
    params: [
      .revision,
      .required(
        "changes",
        .array(
          .object([
            .required("user", .identifier, "The user's id."),
            .required("change", Schema(StoreChange.UserKind.self), "The kind of change."),
          ]), max: StoreChanges.limit), "The changes."),
      .reload,
    ]),
  NotificationDescriptor(
    "credentials.refreshed", "A new token is in the store; credentials.get has it.",
    params: [
      .account, .required("tokenType", .string(maxBytes: nil), "Bearer or DPoP."),
      .required("scopes", .array(.string(maxBytes: nil), max: nil), "The scopes of the token."),
      .optional("expiresAt", .unixTime, "The expiry time; missing if unknown."),
    ]),
  NotificationDescriptor(
    "credentials.refreshFailed",
    "The automatic refresh of a credential has ended; the next credentials.get tries a refresh, and begins it again.",
    params: [
      .account,
      .optional(
        "resource", .string(maxBytes: nil),
        "The resource of the credential; missing for the account's own."),
      .required("error", .reference("Error"), "The error; data.next has the next steps."),
    ]),
  NotificationDescriptor(
    "network.changed", "The machine went on or offline; for capabilities.network alone.",
    params: [.required("online", .boolean, "Whether the machine is online now.")]),
  NotificationDescriptor(
    "store.progress",
    "The progress of store.check, store.backup, store.move or store.rotateKey, at most once for each percent.",
    params: [
      .required("request", .any, "The id of the request."),
      .required("method", .identifier, "The method of the request."),
      .required("done", .count, "The finished amount of work."),
      .required("total", .count, "The total amount of work."),
    ]),
]

extension Field {
  fileprivate static let reload = optional(
    "reload", .boolean,
    "true after more than 100 changes at once, or unknown ones: request the list again.")
}
