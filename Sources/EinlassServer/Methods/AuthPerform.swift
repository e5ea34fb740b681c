internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// `auth.perform`: signs in with a stored account. Protocol section 3.
func authPerform(_ server: Server) -> Method {
  Method(
    MethodDescriptor(
      "auth.perform", .interactive,
      "Asks for access and for the account, then gets a credential for the application.",
      params: choiceParams + [
        .optional("flowKind", Schema(FlowKind.self), "This kind of flow and no other."),
        .optional(
          "credential", .oneOf(["fetch", "none"]), "none: only the choice of an account."),
        .optional("interactive", .oneOf(["auto", "never"]), "never: no prompt, 1010 instead."),
        .optional("detached", .boolean, "Answer at once; the outcome is auth.completed."),
        .optional("deadlineSeconds", .integer(10...3600), "How long people may take; 300."),
      ],
      result: .object([
        .required("flow", .identifier, "The flow's id."),
        .optional("account", .identifier, "The account's id; missing when detached."),
        .optional("credential", .reference("Credential"), "What the application may use."),
      ]),
      reasons: [
        "noSystemAccount", "accessNotGranted", "userCanceledAccountSelection", "accountBanned",
        "reloginNeeded", "authenticatorUnconfigured", "networkFailure", "providerFailure",
        "accountStoreFailure", "interactionRequired", "flowExpired", "flowNotSupported",
        "throttled", "unknownProvider", "unknownAccount", "invalidChoice", "bindingMismatch",
        "overloaded", "cancelled",
      ]),
    .task { params, call async throws(RPCError) in
      let isDetached = params["detached"]?.bool ?? false
      let flow = try server.newFlow(
        params, request: isDetached || call.id == nil ? nil : call.wireID, isDetached: isDetached)
      server.flows.insert(flow)
      if isDetached {
        let id = JSONValue.string(flow.id)
        call.answer(["flow": id], announcing: "auth.completed") { outcome in
          switch outcome {
          case .success(let result): result.object ?? ["flow": id]
          case .failure(let error): ["flow": id, "error": error.json]
          }
        }
      }
      return try await server.run(flow, on: call.peer.executor)
    })
}

/// What decides about access and account.
let choiceParams: [Field] = [
  .provider,
  .optional("account", .identifier, "Answers selectAccount and confirmAccount in advance."),
  .optional("confirm", .boolean, "Answers confirmAccount in advance."),
  .optional(
    "selection", Schema(PerformRequest.Selection.self),
    "Ask always, or only when there are many accounts and none is preferred."),
  .permissions, .audience,
  .optional("includeRefreshToken", .boolean, "Return the refresh token too."),
]

extension Server {
  fileprivate func newFlow(
    _ params: JSONObject, request: JSONValue?, isDetached: Bool
  ) throws(RPCError) -> RunningFlow {
    do throws(Problem) {
      let provider = try catalog.provider(params["provider"]?.string ?? "")
      let frontEnd = session.frontEnd
      let now = effects.now()
      return RunningFlow(
        id: newID("f"), wish: wish(params, of: frontEnd, at: provider.id),
        applicationTitle: frontEnd.title, providerName: provider.name,
        flowKind: params["flowKind"]?.string.flatMap(FlowKind.init) ?? provider.flowKinds[0],
        startedAt: now, expiresAt: now + (params["deadlineSeconds"]?.int64 ?? 300),
        isDetached: isDetached, request: request)
    } catch { throw RPCError(error) }
  }

  /// What a front end asks for with these parameters.
  func wish(
    _ params: JSONObject, of frontEnd: Session.FrontEnd, at provider: String
  ) -> PerformRequest {
    PerformRequest(
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
  }

  /// Runs the flow to its end, its deadline or its cancellation.
  fileprivate func run(
    _ flow: RunningFlow, on executor: any TaskExecutor
  ) async throws(RPCError) -> JSONValue {
    let deadline = Task(executorPreference: executor) {
      if (try? await self.effects.sleepUntil(flow.expiresAt)) != nil { flow.end(.expired) }
    }
    defer {
      deadline.cancel()
      flows.remove(flow)
    }
    do throws(Problem) {
      let asker = asker(for: flow)
      let result = try await flow.run(on: executor) { () async throws(Problem) in
        let result = try await self.einlass.perform(flow.wish, asking: asker)
        if let credential = result.credential {
          try self.audit.record(
            AuditEvent(
              "auth.perform", handing: credential, of: result.account, to: flow.wish.application,
              clientID: flow.wish.registration?.clientID))
        }
        return result
      }
      return .object(
        JSONObject(present: [
          "flow": .string(flow.id), "account": .string(result.account.id.rawValue),
          "credential": result.credential.map {
            JSONValue(
              $0, of: result.identity, includesRefreshToken: flow.wish.includesRefreshToken)
          },
        ]))
    } catch {
      var answer = RPCError(error, flow: flow.id, for: flow.application)
      if error.reason == .cancelled {
        // The peer puts its own word in when it was the one that cancelled a request.
        answer.data["by"] = flow.end == .cancelledByCall ? "authCancel" : "shutdown"
      }
      throw answer
    }
  }

  private func asker(for flow: RunningFlow) -> Asker {
    Asker(
      kinds: session.frontEnd.prompts.union(script.kinds),
      ask: { prompt async throws(Problem) in
        if let answer = self.script.answer(prompt, at: flow.provider) { return answer }
        guard self.session.frontEnd.prompts.contains(prompt.kind) else {
          throw .answersUsedUp(prompt)
        }
        let offered = try self.offered(by: prompt, at: flow.provider)
        return try await self.prompts.ask(prompt, offering: offered, for: flow)
      },
      report: { stage in
        flow.stage = stage
        self.announcer.announce(
          "auth.progress", ["flow": .string(flow.id), "stage": .string(stage.rawValue)])
      })
  }

  /// The accounts that may be answered to a prompt: with `more`, any of the provider's.
  private func offered(by prompt: Prompt, at provider: String) throws(Problem) -> [Account.ID] {
    switch prompt {
    case .grantAccess: []
    case .confirmAccount(let account): [account.id]
    case .selectAccount(let accounts, more: false): accounts.map(\.id)
    case .selectAccount(_, more: true):
      try store.snapshot(.usual).accounts.filter { sameBytes($0.provider, provider) }.map(\.id)
    }
  }
}

extension Problem {
  fileprivate static func answersUsedUp(_ prompt: Prompt) -> Problem {
    Problem(
      .interactionRequired,
      "The file of --answers has no answer left for this question: \(prompt.kind.rawValue).",
      neededPrompts: [prompt])
  }
}
