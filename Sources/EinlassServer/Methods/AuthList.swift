internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `auth.list`: returns the running flows.
func authList(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "auth.list", .immediate,
      "The running flows of this process, oldest first.",
      params: fields(.limit, .cursor),
      result: .object([
        .required(
          "flows",
          .array(
            .object([
              .required("flow", .identifier, "The flow's id."),
              .required("application", .identifier, "The application that started it."), .provider,
              .required("flowKind", Schema(FlowKind.self), "The kind of flow."),
              .required("stage", Schema(Stage.self), "The current stage."),
              .required("startedAt", .unixTime, "The start time."),
              .required("expiresAt", .unixTime, "The time at which it gives up."),
              .required("detached", .boolean, "Whether auth.completed reports its outcome."),
              .required("prompts", .array(.identifier, max: nil), "The prompts it waits for."),
            ]), max: nil), "The flows."), .nextCursor,
      ]),
      reasons: ["invalidCursor"]),
    .urgent { params, _ throws(RPCError) in
      let flows = server.flows.all.map { flow -> JSONObject in
        [
          "flow": .string(flow.id), "application": .string(flow.application),
          "provider": .string(flow.provider), "flowKind": .string(flow.flowKind?.rawValue ?? ""),
          "stage": .string(flow.stage.rawValue), "startedAt": JSONValue(flow.startedAt),
          "expiresAt": JSONValue(flow.expiresAt), "detached": .bool(flow.isDetached),
          "prompts": JSONValue(server.prompts.waited(by: flow)),
        ]
      }
      return try server.list("flows", flows, id: "flow", params)
    })
}

/// `auth.cancel`: ends a flow. Its request is answered with `-32800`.
func authCancel(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "auth.cancel", .immediate,
      "Cancels a flow; its request answers -32800, or auth.completed has this error.",
      params: fields(flowID),
      result: .object([]),
      reasons: ["unknownFlow"]),
    .urgent { params, call throws(RPCError) in
      guard let flow = server.flows[params[flowID]] else {
        throw RPCError(
          Problem(
            .unknownFlow, "There is no such flow.",
            hint: Problem.Hint("auth.list")))
      }
      // Before the end, because its notifications follow the answer.
      call.answer([:])
      flow.end(.cancelledByCall)
      return [:]
    })
}

private let flowID = TypedField.required("flow", .identifier, "The flow's id.")
