internal import Einlass
internal import EinlassJSON
internal import EinlassRPC

/// Runs the methods that may wait for a person: `auth.perform` and `accounts.signIn`.
extension Server {
  /// Runs the work as a flow to its end, its deadline or its cancellation. Returns the result of
  /// the work and the flow's id. A detached flow is answered with its id alone, and the result is
  /// sent as `auth.completed`.
  func perform(
    _ params: JSONObject, _ call: Call, _ kind: PendingRequest.Kind,
    _ work: @escaping @Sendable (PendingRequest, Asker) async throws(Problem) -> JSONObject
  ) async throws(RPCError) -> JSONValue {
    let isDetached = params[.detached]
    let flow = try newFlow(
      params, kind, request: isDetached || call.id == nil ? nil : call.wireID,
      isDetached: isDetached)
    flows.insert(flow)
    if isDetached {
      let id = JSONValue.string(flow.id)
      call.answer(["flow": id], announcing: "auth.completed") { outcome in
        switch outcome {
        case .success(let result): result.object ?? ["flow": id]
        case .failure(let error): ["flow": id, "error": error.json]
        }
      }
    }
    return try await run(flow, on: call.peer.executor, work)
  }

  private func newFlow(
    _ params: JSONObject, _ kind: PendingRequest.Kind, request: JSONValue?, isDetached: Bool
  ) throws(RPCError) -> PendingRequest {
    do throws(Problem) {
      let provider = try kind.provider.map { id throws(Problem) in try catalog.provider(id) }
      var resource: String?
      if case .locate(let address) = kind { resource = address }
      let now = effects.now()
      return PendingRequest(
        id: newID("f"), kind: kind, of: session.frontEnd,
        providerName: provider?.name ?? resource ?? "",
        flowKind: params[.flowKind]
          ?? provider?.flowKinds[0] ?? .authorizationCode,
        startedAt: now, expiresAt: now + params[.deadlineSeconds],
        isDetached: isDetached, request: request)
    } catch { throw RPCError(error) }
  }

  private func run(
    _ flow: PendingRequest, on executor: any TaskExecutor,
    _ work: @escaping @Sendable (PendingRequest, Asker) async throws(Problem) -> JSONObject
  ) async throws(RPCError) -> JSONValue {
    defer {
      flows.remove(flow)
      prompter?.leave(flow)
    }
    do throws(Problem) {
      let asker = asker(for: flow)
      let result = try await runToDeadline(flow, on: executor) { () async throws(Problem) in
        if flow.kind.isInteractive {
          // No question, not even for the passphrase, is asked for a token that could not be
          // stored.
          if flow.kind.storesCredential {
            try self.store.requireWritable()
            // No passphrase is asked for a sign-in that has no registration. Another server has one
            // of its own, and a fault of the server's name comes first.
            if let provider = flow.kind.provider, try !self.dependsOnServer(flow.kind) {
              try self.einlass.requireRegistration(flow.kind.registration, at: provider)
            }
          }
          try await self.openKey(asking: asker.ask)
        }
        return try await work(flow, asker)
      }
      return .object(
        JSONObject([("flow", .string(flow.id))] + result.members.map { ($0.name, $0.value) }))
    } catch {
      added.note(error)
      var answer = RPCError(error, flow: flow.id, for: flow.application)
      if error.reason == .cancelled {
        // If the peer cancelled the request, it replaces this `by` with its own.
        answer.data["by"] = flow.end == .cancelledByCall ? "authCancel" : "shutdown"
      }
      throw answer
    }
  }

  /// Runs work that may wait for a person to its end, its deadline or its cancellation.
  func runToDeadline<Success: Sendable>(
    _ flow: PendingRequest, on executor: any TaskExecutor,
    _ work: @escaping @Sendable () async throws(Problem) -> Success
  ) async throws(Problem) -> Success {
    let deadline = Task(executorPreference: executor) {
      do throws(Problem) {
        try await self.effects.sleepUntil(flow.expiresAt)
        flow.end(.expired)
      } catch {
        if error.reason != .cancelled { flow.end(.failed(error)) }
      }
    }
    defer { deadline.cancel() }
    return try await flow.run(on: executor, work)
  }

  private func asker(for flow: PendingRequest) -> Asker {
    Asker(
      kinds: session.frontEnd.prompts.union(script.kinds)
        .union(prompter != nil && flow.kind.isInteractive ? Prompt.Kind.allCases : []),
      ask: { prompt async throws(Problem) in
        if prompt.kind.isSignIn, let signIn = flow.kind.signIn {
          flow.grant = try self.einlass.grant(bySigningIn: signIn)
        }
        if let answer = self.script.answer(prompt, at: flow.provider) { return answer }
        let isOffered: @Sendable (Account.ID) -> Bool = { [weak self] account in
          self?.offers(account, by: prompt, at: flow.provider) ?? false
        }
        if self.session.frontEnd.prompts.contains(prompt.kind) {
          return try await self.prompts.ask(prompt, for: flow, offering: isOffered)
        }
        guard let prompter = self.prompter else { throw .answersUsedUp(prompt) }
        return try await prompter.ask(prompt, for: flow, offering: isOffered)
      },
      report: { stage in
        flow.stage = stage
        self.announcer.announce(
          "auth.progress", ["flow": .string(flow.id), "stage": .string(stage.rawValue)])
      }, explain: { flow.explanation = $0 }, promisedAccess: { flow.grant != nil })
  }

  /// Whether an account may answer a prompt. With `more`, any account of the provider may.
  private func offers(_ id: Account.ID, by prompt: Prompt, at provider: String) -> Bool {
    switch prompt {
    case .confirmAccount(let account): return account.id == id
    case .selectAccount(let accounts, let more), .replaceAccount(let accounts, let more):
      if accounts.contains(where: { $0.id == id }) { return true }
      guard more else { return false }
      do throws(Problem) {
        return sameBytes(try store.account(id, .none).provider, provider)
      } catch {
        // If the store cannot be read now, the flow detects an invalid account later.
        return error.reason != .unknownAccount
      }
    default: return false
    }
  }
}

extension Problem {
  fileprivate static func answersUsedUp(_ prompt: Prompt) -> Problem {
    Problem(
      .interactionRequired,
      "The file of --answers has no answer left for this prompt: \(prompt.kind.rawValue).",
      neededPrompts: [prompt])
  }
}

extension TypedField where Value == FlowKind? {
  static let flowKind = optional(
    "flowKind", .oneOf(FlowKind.self, placeholder: .authorizationCode),
    "The only allowed kind of flow; without it the provider's first one whose prompts the front end can show."
  )
}

extension TypedField where Value == Bool {
  static let detached = optional(
    "detached", .boolean, default: false,
    "true: answers at once with the flow alone, and auth.completed reports the outcome.")
}

extension TypedField where Value == Int64 {
  static let deadlineSeconds = optional(
    "deadlineSeconds", .integer(10...3600), default: 300,
    "The time limit for the person in seconds.")
}

/// The reasons of the errors of every flow.
let flowReasons = [
  "authenticatorUnconfigured", "networkFailure", "providerFailure", "accountStoreFailure",
  "interactionRequired", "flowExpired", "flowNotSupported", "throttled",
  "unknownProvider",
  "overloaded", "cancelled",
]
