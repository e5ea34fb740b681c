internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// The types of errors in the protocol document.
extension Schema {
  /// An error inside a result or a notification; an answer's `error` has the same form.
  static let error = Schema.object([
    .required("code", .integer(), "The number of the reason."),
    .required("message", .string(), "For people; it may change at any time."),
    .required("data", .object(errorData), "The data for programs."),
  ])

  /// A problem in a list or in the result of `initialize`.
  static let problem = Schema.object([
    .required("code", .integer(), "The code of the error."),
    .required("reason", .oneOf(reasons), "The reason of the error."),
    .optional("detail", .string(), "The detail of the error."),
    .optional("path", .string(), "The file."),
    .required("message", .string(), "For people."),
    .required("next", .nextSteps, "The next steps, the most useful one first."),
    .optional("final", .boolean, "True with an empty next, because nothing helps."),
  ])

  /// A list of next steps.
  static let nextSteps = Schema.array(.reference("NextStep"), max: nil)

  /// A next step, with at most one of `method`, `page` and `command` in most cases.
  static let nextStep = Schema.object([
    .required("label", .string(maxBytes: nil), "The step in English words, for people."),
    .optional("method", .identifier, "The request of this protocol that does it."),
    .optional("params", .map(.any), "Some parameters of the method."),
    .optional("page", .string(maxBytes: nil), "A page of the provider, with https."),
    .optional("command", .string(maxBytes: nil), "A command of a shell: to show, never to run."),
  ])

  /// Every reason, in the order of `errors.json`.
  static let reasons: [String] = {
    let standard = RPCError.Standard.allCases.map(\.rawValue)
    return standard + Problem.Reason.allCases.map(\.word).filter { !standard.contains($0) }
  }()
}

/// The members of an error's `data`. Which reasons have which of the last ones is in `errors.json`.
private let errorData: [Field] = [
  .required("reason", .oneOf(Schema.reasons), "The stable name of the error."),
  .required("retryable", .boolean, "Whether the same request may succeed later."),
  .optional("detail", .string(), "The case within a reason."),
  .required("next", .nextSteps, "The next steps, the most useful one first."),
  .optional("final", .boolean, "True with an empty next, because nothing helps."),
  .optional("provider", .identifier, "The provider."),
  .optional("account", .identifier, "The account."),
  .optional("flow", .identifier, "The flow that has failed."),
  .optional("path", .string(), "The parameter as a JSON Pointer, or the file."),
  .optional("expected", .string(), "invalidParams, invalidHeader: the expected value."),
  .optional("supported", .array(.integer()), "unsupportedVersion: the known versions."),
  .optional("method", .string(), "unknownMethod: the method of the request."),
  .optional(
    "by", .oneOf(["client", "authCancel", "endOfInput", "shutdown"]),
    "cancelled: the cause; client means $/cancelRequest, shutdown also exit, a signal and the end of processId."
  ),
  .optional(
    "holder", .integer(1...Int64(Int32.max)),
    "accountStoreFailure: the id of the process that keeps the store locked."),
  .optional(
    "networkCode", .integer(),
    "networkFailure: a number of NSURLErrorDomain; -1205: the server refused the client's certificate, -1206: it demands one."
  ),
  .optional("retryAfterSeconds", .count, "throttled, tooManyRequests: the time to wait."),
  .optional(
    "serverError",
    .object([
      .optional("status", .integer(), "The status of HTTP."),
      .optional("code", .string(maxBytes: 64), "The code of the provider."),
      .optional("subcode", .string(maxBytes: 64), "The second code of the provider."),
      .optional("text", .string(), "The words of the provider, of at most 200 characters."),
    ]), "The words of the provider, cleaned."),
  .optional(
    "prompts", .array(.reference("NeededPrompt")),
    "interactionRequired: the prompts, each with the way to answer it in advance."),
  .optional("outcome", Schema(Prompts.Outcome.self), "The outcome of a closed prompt."),
  .optional(
    "identity", .reference("Identity"),
    "flowNotSupported with the detail applicationUnknown: the person of the token, as in the result of verify."
  ),
  .optional("email", .string(), "The address of the other user."),
  .optional("providers", .array(.identifier), "The ways to sign in as the other user."),
  .optional(
    "pendingCredential", .string(),
    "The name of the proven identity, for users.link and users.signIn.",
    isSecret: true),
]

/// The components of the document for errors, by their reasons.
var errorComponents: JSONObject {
  func component(_ error: RPCError) -> (String, JSONValue) {
    let data = JSONObject(present: [
      "reason": error.data["reason"], "next": error.data["next"], "final": error.data["final"],
    ])
    return (
      error.reason,
      [
        "code": JSONValue(Int64(error.code)), "message": .string(error.message),
        "data": .object(data),
      ]
    )
  }
  let standard = RPCError.Standard.allCases.map { component(RPCError($0)) }
  let own = Problem.Reason.allCases.filter { RPCError.Standard(rawValue: $0.word) == nil }
  return JSONObject(standard + own.map { component(RPCError(Problem($0, $0.summary))) })
}
