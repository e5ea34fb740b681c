internal import Einlass
internal import EinlassCrypto
internal import EinlassJSON
internal import EinlassRPC
internal import EinlassSystem

/// The person's own program for prompts that the front end cannot show: `prompter` of the
/// configuration file.
///
/// It starts with the first prompt of a flow and is a peer of its own: it reads `prompt.opened` and
/// `prompt.closed` and calls `prompt.answer`. SIGTERM ends it after the flow. It has prompts of its
/// own, so that a front end cannot see or answer them.
final class Prompter: Sendable {
  /// The time for which a cancelled prompt does not open again, in seconds.
  static let quietSeconds: Int64 = 60
  /// The number of programs up the process tree that a prompt names.
  private static let shownPrograms = 4

  /// The prompts that the program is to show, and the program.
  private struct State: Sendable {
    /// The ids of the flows with a prompt so far.
    var flows: Set<String> = []
    /// The open prompts in the form of `prompt.opened`.
    var open: [JSONObject] = []
    /// `nil` until the program runs.
    var peer: Peer?
    /// Ends the program. Set from its start to its end.
    var end: (@Sendable () -> Void)?
    var isStarting = false
  }

  private let command: [String]
  private let effects: Effects
  private let refusals: FailedSignIns
  private let log: Lock<Log>
  private let prompts: Prompts
  private let state = Lock(State())

  /// - Parameters:
  ///   - command: the absolute path of the program, and its arguments.
  ///   - refusals: keeps the time of a cancelled prompt for all processes.
  init(
    _ command: [String], effects: Effects, refusals: FailedSignIns, log: Lock<Log>,
    language: PromptLanguage, newID: @escaping @Sendable () -> String
  ) {
    self.command = command
    self.effects = effects
    self.refusals = refusals
    self.log = log
    let opened = Lock<(@Sendable (String, JSONObject) -> Void)?>(nil)
    prompts = Prompts(in: language, newID: newID, notify: { opened.withLock { $0 }?($0, $1) })
    opened.withLock { $0 = { [weak self] in self?.notify($0, $1) } }
  }

  /// Asks as `Prompts.ask` does. Throws `userCanceled` within a minute after the person cancelled a
  /// prompt of the same application and provider, in any process.
  func ask(
    _ prompt: Prompt, for flow: PendingRequest,
    offering isOffered: @escaping @Sendable (Account.ID) -> Bool
  ) async throws(Problem) -> Answer {
    let name = Self.name(flow)
    if let refusal = refusals.last(name),
      (0..<Self.quietSeconds).contains(effects.now() - refusal.at)
    {
      throw Problem(
        .userCanceled, "A prompt of this program was cancelled less than a minute ago.",
        isRetryable: true, provider: flow.provider, retryAfterSeconds: Int(Self.quietSeconds))
    }
    state.withLock { _ = $0.flows.insert(flow.id) }
    let answer = try await prompts.ask(prompt, for: flow, offering: isOffered)
    if case .accept = answer { return answer }
    let id = Base64URL.encode(effects.randomBytes(12))
    refusals.record(
      name, .init(id: id, at: effects.now(), reason: .userCanceled, message: "Cancelled."))
    return answer
  }

  /// The file name of the refusals of an application and a provider.
  private static func name(_ flow: PendingRequest) -> String {
    let digest = Digest.sha256(Array("\(flow.application)\n\(flow.provider)".utf8))
    return "prompt-" + Base64URL.encode(Array(digest.prefix(16)))
  }

  /// Closes the prompts that need no answer any more.
  func satisfy(_ isNeedless: (Prompt, PendingRequest) -> Bool) { prompts.satisfy(isNeedless) }

  /// Ends the program after the last flow that has asked.
  func leave(_ flow: PendingRequest) {
    let end = state.withLock { state -> (@Sendable () -> Void)? in
      guard state.flows.remove(flow.id) != nil, state.flows.isEmpty else { return nil }
      return state.end
    }
    end?()
  }

  private func notify(_ method: String, _ params: JSONObject) {
    var params = params
    if method == "prompt.opened" {
      params["startedBy"] = JSONValue(ThisProcess.ancestors(limit: Self.shownPrograms))
    }
    let (peer, starts) = state.withLock { state -> (Peer?, Bool) in
      if method == "prompt.opened" {
        state.open.append(params)
      } else {
        state.open.removeAll { $0["prompt"] == params["prompt"] }
      }
      let starts = state.peer == nil && !state.isStarting && !state.open.isEmpty
      if starts { state.isStarting = true }
      return (state.peer, starts)
    }
    peer?.notify(method, params)
    guard starts else { return }
    do throws(SystemError) {
      try WorkThread.start("einlass-prompt") { self.run() }
    } catch {
      state.withLock { $0.isStarting = false }
      // The prompts are locked here, so the prompt stays open until its deadline.
      log.withLock { $0 }.error("prompter", "The prompter cannot start: \(error.explanation)")
    }
  }

  /// Runs the program to its end on the calling thread.
  private func run() {
    let reason: String
    do throws(SystemError) {
      let child = Lock(try ChildProcess(command[0], Array(command.dropFirst())))
      let input = try child.withLock { child throws(SystemError) in
        try Descriptor.duplicate(child.output.number)
      }
      // Without a log, because the end of the program becomes the problem of its prompts.
      let peer = try Peer(
        methods: [promptAnswer(prompts)],
        streams: StandardStreams(input: input, output: child.withLock { $0.takeInput() }),
        signals: nil, options: .init())
      state.withLock { state in
        for prompt in state.open { peer.notify("prompt.opened", prompt) }
        state.peer = peer
        state.end = { child.withLock { $0.terminate() } }
        if state.flows.isEmpty { state.end?() }
      }
      _ = peer.run()
      state.withLock {
        $0.peer = nil
        $0.end = nil
      }
      let code = child.withLock { $0.exitCode(within: Deadline(milliseconds: 1000)) }
      reason = "it ended without an answer" + (code.map { ", with exit code \($0)" } ?? "")
    } catch { reason = error.explanation }
    let left = state.withLock { state in
      state.isStarting = false
      return state.open.compactMap { $0["prompt"]?.string }
    }
    for prompt in left { abandon(prompt, reason) }
  }

  private func abandon(_ id: String, _ why: String) {
    prompts.abandon(id) { prompt in
      Problem(
        .interactionRequired,
        "The prompter \(self.command[0]) has shown no prompt: \(why).", advice: .correctPrompter,
        detail: "prompter", neededPrompts: [prompt])
    }
  }
}
