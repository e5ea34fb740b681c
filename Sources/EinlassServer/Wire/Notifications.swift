internal import Einlass
internal import EinlassRPC

/// All notifications of this process.
let notifications: [NotificationDescriptor] = [
  NotificationDescriptor(
    "prompt.opened", "A question to the person; answer with prompt.answer.",
    params: promptFields),
  NotificationDescriptor(
    "prompt.closed", "A prompt needs no answer any more.",
    params: [
      .required("prompt", .identifier, "The prompt's id."),
      .required("outcome", Schema(Prompts.Outcome.self), "How it ended."),
    ]),
  NotificationDescriptor(
    "auth.progress", "How far a flow is.",
    params: [
      .required("flow", .identifier, "The flow's id."),
      .required("stage", Schema(Stage.self), "What it does now."),
    ]),
  NotificationDescriptor(
    "auth.completed", "The outcome of a detached flow, exactly once.",
    params: [
      .required("flow", .identifier, "The flow's id."),
      .optional("account", .identifier, "When it ended well: the account's id."),
      .optional("credential", .reference("Credential"), "When it ended well: the credential."),
      .optional("error", .any, "When it did not: {code, message, data}."),
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
              "change", Schema(StoreChange.Kind.self), "What happened."),
          ]), max: StoreChanges.limit), "What changed."),
      .reload,
    ]),
  NotificationDescriptor(
    "access.changed", "A decision about access was made or forgotten.",
    params: [
      .revision, .optional("application", .identifier, "Whose."),
      .optional("provider", .identifier, "Of which provider's accounts."), .reload,
    ]),
  NotificationDescriptor(
    "credentials.refreshed", "Another token has taken the place of the one before.",
    params: [
      .account, .required("tokenType", .string(maxBytes: nil), "Bearer or DPoP."),
      .required("scopes", .array(.string(maxBytes: nil), max: nil), "What it is good for."),
      .optional("expiresAt", .unixTime, "When it ends; missing: not known."),
    ]),
  NotificationDescriptor(
    "credentials.refreshFailed",
    "A credential is not refreshed any more without being asked for; the next credentials.get tries.",
    params: [
      .account, .optional("resource", .string(maxBytes: nil), "Which resource's; missing: none."),
      .required("error", .any, "Why: {code, message, data}, data.hint mends it."),
    ]),
  NotificationDescriptor(
    "store.progress", "How far a long work on the store is.",
    params: [
      .required("request", .any, "The id of the request."),
      .required("method", .identifier, "What it asked for."),
      .required("done", .integer(0...Int64.max), "How much is done."),
      .required("total", .integer(0...Int64.max), "Of how much."),
    ]),
]

extension Field {
  fileprivate static let reload = optional(
    "reload", .boolean, "True when too much changed to be told one by one: ask for the list again.")
}
