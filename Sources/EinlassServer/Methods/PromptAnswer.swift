internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `prompt.answer`: passes the person's answer to a prompt.
func promptAnswer(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "prompt.answer", .immediate,
      "Answers an open prompt. The same answer again is accepted, a different one is refused.",
      params: [
        .required("prompt", .identifier, "The prompt's id."),
        .required(
          "action", .oneOf(["accept", "decline", "cancel"]),
          "accept; decline: stored as a denial; cancel: this time only."),
        .optional(
          "account", .identifier,
          "With accept: the account for selectAccount; for replaceAccount too, unless it is a new one."
        ),
        .optional(
          "redirectURL", .string(maxBytes: 32768),
          "With accept: the final address of the browser, for openURL.", isSecret: true
        ),
        .optional(
          "text", .string(maxBytes: 32768), "With accept: the verifier, for enterVerifier.",
          isSecret: true),
        .optional(
          "passphrase", .string(maxBytes: 1024),
          "With accept: the passphrase, for enterPassphrase.",
          isSecret: true),
      ],
      result: .object([]),
      reasons: ["unknownPrompt", "promptAlreadyAnswered", "invalidChoice"]),
    .urgent { params, call throws(RPCError) in
      let account = params["account"]?.string.map { Account.ID(rawValue: $0) }
      let answer: Answer =
        switch params["action"]?.string {
        case "accept":
          .accept(
            account: account,
            text: (params["redirectURL"] ?? params["text"] ?? params["passphrase"])?.string
              .map { Secret($0) })
        case "decline": .decline
        default: .cancel
        }
      let result = server.prompts.answer(params["prompt"]?.string ?? "", answer) {
        call.answer([:])
      }
      return try result.response()
    })
}

/// `prompt.list`: returns the open prompts with all their members.
func promptList(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "prompt.list", .immediate,
      "The open prompts as they were announced.",
      params: [.limit, .cursor],
      result: .object([
        .required("prompts", .array(.reference("Prompt"), max: nil), "Prompts."), .nextCursor,
      ]),
      reasons: ["invalidCursor"]),
    .urgent { params, _ throws(RPCError) in
      try server.list("prompts", server.prompts.all, id: "prompt", params)
    })
}

extension Prompts.AnswerResult {
  fileprivate func response() throws(RPCError) -> JSONValue {
    switch self {
    case .taken, .repeated: return [:]
    case .notOffered(let problem): throw RPCError(problem)
    case .unknown:
      throw RPCError(
        Problem(
          .unknownPrompt, "There is no such prompt. See prompt.list for the open prompts.",
          hint: Problem.Hint("prompt.list")))
    case .late(let outcome):
      throw RPCError(
        Problem(.unknownPrompt, "The prompt is closed; its outcome was \(outcome.rawValue)."),
        outcome: outcome)
    case .different(let outcome):
      throw RPCError(
        Problem(.promptAlreadyAnswered, "The prompt was answered differently before."),
        outcome: outcome)
    }
  }
}

extension RPCError {
  fileprivate init(_ problem: Problem, outcome: Prompts.Outcome) {
    self.init(problem)
    data["outcome"] = .string(outcome.rawValue)
  }
}
