internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `prompt.answer`: passes the person's answer to a prompt.
func promptAnswer(_ prompts: Prompts) -> Method {
  Method(
    MethodDescriptor(
      "prompt.answer", .immediate,
      "Answers an open prompt.", description: promptAnswerDescription,
      params: fields(
        Params.prompt, Params.action, Params.account, Params.redirectURL, Params.text,
        Params.passphrase, Params.username, Params.password, Params.remember),
      rules: [oneEntry],
      result: .object([]),
      reasons: ["unknownPrompt", "promptAlreadyAnswered", "invalidChoice"]),
    .urgent { params, call throws(RPCError) in
      let pasted = params[Params.redirectURL] ?? params[Params.text]
      let text = pasted.map(unwrapped) ?? params[Params.passphrase] ?? params[Params.password]
      let answer: Answer =
        switch params[Params.action] {
        case .accept:
          .accept(
            account: params[Params.account], text: text.map { Secret($0) },
            username: params[Params.username], remembers: params[Params.remember])
        case .decline: .decline
        case .cancel: .cancel
        }
      let result = prompts.answer(params[Params.prompt], answer) {
        call.answer([:])
      }
      return try result.response()
    })
}

/// Returns a pasted text without the blanks, quotes and angle brackets that mail programs and shells
/// put around an address.
private func unwrapped(_ text: String) -> String {
  var text = text[...]
  while let first = text.first, first.isWhitespace || "\"'<`“‘".contains(first) {
    text.removeFirst()
  }
  while let last = text.last, last.isWhitespace || "\"'>`”’".contains(last) { text.removeLast() }
  return String(text)
}

/// `prompt.list`: returns the open prompts with all their members.
func promptList(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "prompt.list", .immediate,
      "The open prompts of this process, whole.",
      params: fields(.limit, .cursor),
      result: .object([
        .required("prompts", .array(.reference("Prompt"), max: nil), "The open prompts."),
        .nextCursor,
      ]),
      reasons: ["invalidCursor"]),
    .urgent { params, _ throws(RPCError) in
      try server.list("prompts", server.prompts.all, id: "prompt", params)
    })
}

/// The person's decision about a prompt.
private enum Action: String, CaseIterable {
  case accept, decline, cancel
}

/// An answer has one entry at most: the one of its kind of prompt.
private let oneEntry: Rule = {
  let entries = ["account", "redirectURL", "text", "passphrase", "password"]
  func accepting(_ entry: String?, _ kinds: String) -> Rule.Choice {
    Rule.Choice(
      kinds, required: entry.map { [$0] } ?? [], absent: entries.filter { $0 != entry },
      values: [("action", ["accept"])])
  }
  return Rule(
    [
      .init("any kind", values: [("action", ["decline", "cancel"])]),
      accepting(
        nil,
        "grantAccess, confirmAccount, openURL, deviceCode, trustCertificate, replaceAccount with a new one"
      ),
      accepting("account", "selectAccount, confirmAccount, replaceAccount"),
      accepting("redirectURL", "openURL with returningTo"),
      accepting("text", "enterVerifier"), accepting("passphrase", "enterPassphrase"),
      accepting("password", "enterPassword"),
    ], path: "/action", expected: "at most one entry",
    "At most one of these can be given: \(entries.joined(separator: ", ")).")
}()

private enum Params {
  static let prompt = TypedField.required("prompt", .identifier, "The prompt's id.")
  static let action = TypedField.required(
    "action", .oneOf(Action.self, placeholder: .cancel),
    "accept; decline: stored as a denial; cancel: this time only.")
  static let account = TypedField.optional(
    "account", .account,
    "With accept: the account for selectAccount; for replaceAccount too, unless it is a new one.")
  static let redirectURL = TypedField.optional(
    "redirectURL", .string(maxBytes: 32768),
    "With accept: the final address of the browser, for openURL.", isSecret: true)
  static let text = TypedField.optional(
    "text", .string(maxBytes: 32768), "With accept: the verifier, for enterVerifier.",
    isSecret: true)
  static let passphrase = TypedField.optional(
    "passphrase", .string(maxBytes: 1024), "With accept: the passphrase, for enterPassphrase.",
    isSecret: true)
  static let username = TypedField.optional(
    "username", .identifier, "With accept: the user name, if the prompt enterPassword has none.")
  static let password = TypedField.optional(
    "password", .string(maxBytes: 1024), "With accept: the password, for enterPassword.",
    isSecret: true)
  static let remember = TypedField.optional(
    "remember", .boolean, default: false,
    "With accept: true keeps the password for new sessions without the person, for enterPassword with mayRemember."
  )
}

extension Prompts.AnswerResult {
  fileprivate func response() throws(RPCError) -> JSONValue {
    switch self {
    case .taken, .repeated: return [:]
    case .notOffered(let problem): throw RPCError(problem)
    case .unknown:
      throw RPCError(
        Problem(
          .unknownPrompt, "There is no such prompt.",
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

private let promptAnswerDescription = """
  - With `accept` there is at most one of `account`, `redirectURL`, `text`, `passphrase` and `password`. einlass removes
    the blanks, quotation marks and angle brackets around `redirectURL` and `text`, because mail programs and shells add them.
  - The same answer again succeeds.
  - A different answer is `promptAlreadyAnswered`, a late one `unknownPrompt`, one outside of the choices
    `invalidChoice`. None of them changes anything.
  """
