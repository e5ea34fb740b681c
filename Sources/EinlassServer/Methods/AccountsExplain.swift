internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `accounts.explain`: returns the account that a request would use, and the deciding rule.
func accountsExplain(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "accounts.explain", .immediate,
      "Explains which account auth.perform would use with these parameters; changes nothing.",
      params: ChoiceParams.all,
      result: .object([
        .required(
          "rule", Schema(Explanation.Rule.self),
          "The rule that selects the account; person: the person is asked; nothing: the request fails."
        ),
        .optional("account", .identifier, "Unless the person decides: the account's id."),
        .required(
          "prompts", .array(Schema(Prompt.Kind.self), max: nil),
          "The kinds of the expected prompts."),
        .optional("error", .reference("Error"), "The expected error."),
      ]),
      reasons: ["unknownProvider", "accountStoreFailure"]),
    .immediate { params, _, deadline throws(RPCError) in
      let request = server.performRequest(params, of: server.session.frontEnd)
      return try server.withStore(by: deadline) { patience throws(Problem) in
        let explanation = try server.einlass.explain(
          request, asking: server.session.frontEnd.prompts, patience: patience)
        return .object(
          JSONObject(present: [
            "rule": .string(explanation.rule.rawValue),
            "account": explanation.account.map { .string($0.id.rawValue) },
            "prompts": JSONValue(explanation.prompts.map(\.kind.rawValue)),
            "error": explanation.problem.map { RPCError($0).json },
          ]))
      }
    })
}
