internal import Einlass
internal import EinlassJSON
internal import EinlassRPC
internal import EinlassSystem

/// Asks for the passphrases of requests that are no flows.
extension Server {
  /// The time for an answer to the prompt of a method without `deadlineSeconds`.
  private static let deadlineSeconds: Int64 = 300

  /// Returns the passphrase of `--passphrase-fd`, or of `--file-passphrase-fd` for a file, or else
  /// asks the person. Throws `interactionRequired` if the front end does not show that prompt,
  /// `userCanceled` and `flowExpired`.
  func passphrase(
    _ wanted: Prompt.Passphrase, for call: Call
  ) async throws(Problem) -> Secret {
    if let given = try store.maintenance.passphrase(wanted.purpose != .keySlot) { return given }
    let prompt = Prompt.enterPassphrase(wanted)
    guard asksPassphrases else { throw .passphraseRequired(wanted) }
    return try await ask(prompt, for: call).typed
  }

  /// Runs a passphrase derivation after all earlier ones. Only one runs at a time, because it takes
  /// 128 MiB and keeps a thread busy. Throws `cancelled` if the task is cancelled while it waits,
  /// and the problems of the body.
  func inTurn<Result>(
    _ body: () async throws(Problem) -> Result
  ) async throws(Problem) -> Result {
    guard await turns.take("passphrase") else { throw .nothingDone }
    defer { turns.give("passphrase") }
    return try await body()
  }

  private func ask(_ prompt: Prompt, for call: Call) async throws(Problem) -> Answer {
    if let answer = script.answer(prompt, at: "") { return answer }
    let now = effects.now()
    let waiting = PendingRequest(
      id: newID("f"), kind: .passphrase, of: session.frontEnd, startedAt: now,
      expiresAt: now + Self.deadlineSeconds,
      request: call.id == nil ? nil : call.wireID)
    return try await runToDeadline(waiting, on: call.peer.executor) {
      () async throws(Problem) in
      // The front end behind a door is not the person.
      guard self.door != nil, let prompter = self.prompter else {
        return try await self.prompts.ask(prompt, for: waiting)
      }
      defer { prompter.leave(waiting) }
      return try await prompter.ask(prompt, for: waiting, offering: { _ in false })
    }
  }

  /// Opens the store's key. If that needs a passphrase from the person, the person is asked up to
  /// three times. All other problems are left to the request that needs the key.
  func openKey(
    asking ask: (Prompt) async throws(Problem) -> Answer
  ) async throws(Problem) {
    guard asksPassphrases else { return }
    var typed: Secret?
    for attempt in 0...3 {
      do throws(Problem) {
        try store.maintenance.openKey(typed)
        // Close prompts that other requests opened while this passphrase was entered.
        if typed != nil { prompts.satisfy { prompt, _ in prompt.opensTheKey } }
        return
      } catch {
        guard case .enterPassphrase(var wanted)? = error.neededPrompts.first else { return }
        // Only this code knows that the entered passphrases were wrong.
        guard attempt < 3 else {
          if typed == nil { return }
          throw .wrongPassphrase
        }
        wanted.isAgain = typed != nil
        do throws(Problem) { typed = try await ask(.enterPassphrase(wanted)).typed } catch {
          guard error == .satisfied else { throw error }
          typed = nil
        }
      }
    }
  }

  /// Whether the front end, the script, or behind a door the prompter can answer a passphrase prompt.
  private var asksPassphrases: Bool {
    door != nil
      ? prompter != nil
      : session.frontEnd.prompts.union(script.kinds).contains(.enterPassphrase)
  }
}

extension Method {
  /// The reasons of further errors for a method that needs the store's key.
  static let unlockingReasons = ["interactionRequired", "userCanceled", "flowExpired", "cancelled"]

  /// Returns the same method, extended to ask for the passphrase if the store's key is closed. An
  /// immediate method then continues as a task, so that no other request waits for the person.
  ///
  /// - Parameters:
  ///   - needsKey: Whether a request with these parameters needs the key. Not used for immediate
  ///     methods.
  ///   - before: Throws the problems that the request would have anyway, so that nobody enters a
  ///     passphrase in vain. Used for `.task` methods only.
  func unlocking(
    _ server: Server, if needsKey: @escaping @Sendable (JSONObject) -> Bool = { _ in true },
    after before: @escaping @Sendable (JSONObject) throws(Problem) -> Void = { _ in }
  ) -> Method {
    let descriptor = descriptor.adding(Self.unlockingReasons)
    switch handler {
    case .task(let handle):
      return Method(descriptor, .task(server.unlocking(handle, if: needsKey, after: before)))
    case .taskUnlessReady(let attempt, let handle):
      return Method(
        descriptor,
        .taskUnlessReady(
          { params, call throws(RPCError) in
            try server.unlessKeyIsMissing { () throws(RPCError) in try attempt(params, call) }
          }, server.unlocking(handle, if: needsKey)))
    case .immediate(let handle):
      return Method(
        descriptor,
        .immediateOrTask(
          { params, call, deadline throws(RPCError) in
            try server.unlessKeyIsMissing { () throws(RPCError) in
              try handle(params, call, deadline)
            }
          },
          server.unlocking { params, call async throws(RPCError) in
            let deadline = Deadline(milliseconds: Limits.immediateWaitMilliseconds)
            guard let result = try handle(params, call, deadline) else {
              throw RPCError(.internal)
            }
            return result
          }))
    case .urgent, .immediateOrTask: return self
    }
  }
}

extension Server {
  /// Returns a check that throws `authenticatorUnconfigured` if the request's provider has no
  /// registration with the parts that the method needs.
  func registrationCheck(
    _ needs: @escaping @Sendable (Provider) -> [Provider.RegistrationPart] = {
      $0.registrationNeeds
    }
  ) -> @Sendable (JSONObject) throws(Problem) -> Void {
    { [self] params throws(Problem) in
      // By name, because these members are required in some methods and optional in others.
      var provider = params["provider"]?.string
      if provider == nil, let id = params["account"]?.string {
        provider = try store.read { reader throws(Problem) in
          try reader.account(Account.ID(rawValue: id))?.provider
        }
      }
      // The method itself reports an unknown account.
      guard let provider else { return }
      try einlass.requireRegistration(
        registration(for: session.frontEnd, at: provider), at: provider, needs: needs)
    }
  }

  fileprivate typealias TaskHandler =
    @Sendable (JSONObject, Call) async throws(RPCError) -> JSONValue

  fileprivate func unlocking(
    _ handle: @escaping TaskHandler,
    if needsKey: @escaping @Sendable (JSONObject) -> Bool = { _ in true },
    after before: @escaping @Sendable (JSONObject) throws(Problem) -> Void = { _ in }
  ) -> TaskHandler {
    { params, call async throws(RPCError) in
      if needsKey(params) {
        do throws(Problem) {
          try before(params)
          try await self.openKey { prompt async throws(Problem) in
            try await self.ask(prompt, for: call)
          }
        } catch { throw RPCError(error) }
      }
      return try await handle(params, call)
    }
  }

  /// Returns `nil` if the key is closed and the person can be asked for the passphrase.
  fileprivate func unlessKeyIsMissing(
    _ body: () throws(RPCError) -> JSONValue?
  ) throws(RPCError) -> JSONValue? {
    do throws(RPCError) { return try body() } catch {
      // The key of a file or of a program needs no person.
      let detail = Problem.StoreDetail.keyUnavailable.rawValue
      if asksPassphrases, error.needsPerson, error.data["detail"]?.string == detail { return nil }
      throw error
    }
  }
}

extension Prompt {
  fileprivate var opensTheKey: Bool {
    if case .enterPassphrase(let wanted) = self {
      wanted.purpose == .keySlot && !wanted.isNew
    } else {
      false
    }
  }
}

extension Prompt.Passphrase {
  /// The command-line option for this passphrase.
  var option: String { purpose == .keySlot ? "--passphrase-fd" : "--file-passphrase-fd" }
}

extension Answer {
  /// The entered passphrase. Throws `userCanceled` if there is none.
  fileprivate var typed: Secret {
    get throws(Problem) {
      guard case .accept(_, let secret?, _, _) = self else { throw .passphraseRefused }
      return secret
    }
  }
}

extension Problem {
  fileprivate static func passphraseRequired(_ wanted: Prompt.Passphrase) -> Problem {
    Problem(
      .interactionRequired,
      "A passphrase is needed, but this front end cannot ask for it.",
      neededPrompts: [.enterPassphrase(wanted)])
  }

  static let wrongPassphrase = Problem.store(
    .keyUnavailable,
    "None of these passphrases opens the account store.")

  /// The problem of a request that was cancelled before it changed anything.
  static let nothingDone = Problem(.cancelled, "The request was cancelled. Nothing was changed.")

  fileprivate static let passphraseRefused = Problem(
    .userCanceled, "No passphrase was entered, so nothing was done.")
}
