internal import Einlass
internal import EinlassJSON
internal import EinlassSystem

/// The open prompts. The server never sends requests: it announces a prompt, and the front end
/// answers with `prompt.answer`.
///
/// Requests share a prompt if their application, provider, question and selection are equal. A
/// prompt closes when its last waiter leaves.
final class Prompts: Sendable {
  /// The end of a prompt.
  enum Outcome: String, Sendable, CaseIterable {
    case accepted, declined, cancelled, expired, satisfied
  }

  /// The effect of an answer.
  enum AnswerResult: Sendable {
    case taken, repeated
    case unknown
    case late(Outcome)
    case different(Outcome)
    case notOffered(Problem)
  }

  fileprivate struct Waiter: Sendable {
    /// The number of the question. It does not identify a flow, because a flow may ask several
    /// questions at once.
    var number: Int
    var flow: PendingRequest
    var resume: @Sendable (Result<Answer, Problem>) -> Void
  }

  fileprivate struct Open: Sendable {
    var id: String
    @Indirect var prompt: Prompt
    /// Whether an account may be the answer. This can include accounts that the prompt does not
    /// show.
    var isOffered: @Sendable (Account.ID) -> Bool
    var waiters: [Waiter]
  }

  private struct Closed: Sendable {
    var id: String
    var outcome: Outcome
    /// A digest, so that no entered secret is kept.
    var answerDigest: [UInt8]?
    /// The only account that an answer could accept.
    var onlyAccount: Account.ID?
  }

  /// The subject of a question, the same each time that the question is asked.
  private struct Subject: Hashable {
    var application: String
    var provider: String
    /// The account; `nil` if the question is which account to use.
    var account: Account.ID?
  }

  private struct State: Sendable {
    var open: [Open] = []
    var closed: [Closed] = []
    /// The number of consecutive questions that expired without an answer.
    var unanswered: [Subject: Int] = [:]
    var lastNumber = 0
  }

  /// The number of unanswered questions after which no more are asked about the same subject, until
  /// the person acts.
  static let unansweredLimit = 3

  /// The number of closed prompts kept, to tell a late answer from an unknown id.
  static let rememberedPrompts = 1024

  private let state = Lock(State())
  private let newID: @Sendable () -> String
  private let language: PromptLanguage
  private let notify: @Sendable (String, JSONObject) -> Void

  init(
    in language: PromptLanguage = .english, newID: @escaping @Sendable () -> String,
    notify: @escaping @Sendable (String, JSONObject) -> Void
  ) {
    self.language = language
    self.newID = newID
    self.notify = notify
  }

  /// Opens the prompt or joins an equal one, and waits for the answer. Throws `cancelled` when the
  /// task is cancelled, and `interactionRequired` after three unanswered questions about the same
  /// subject.
  ///
  /// - Parameter isOffered: Whether an account may be the answer, including accounts that the
  ///   prompt does not show. It must not block.
  func ask(
    _ prompt: Prompt, for flow: PendingRequest,
    offering isOffered: @escaping @Sendable (Account.ID) -> Bool = { _ in false }
  ) async throws(Problem) -> Answer {
    let number = state.withLock { state in
      state.lastNumber += 1
      return state.lastNumber
    }
    let result: Result<Answer, Problem> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        join(
          prompt, isOffered,
          Waiter(number: number, flow: flow) { continuation.resume(returning: $0) })
      }
    } onCancel: {
      leave(number, of: flow)
    }
    return try result.get()
  }

  /// Answers an open prompt. `acknowledge` runs when the answer is valid, before it takes effect.
  func answer(
    _ id: String, _ answer: Answer, acknowledge: () -> Void = {}
  ) -> AnswerResult {
    let (result, waiters) = state.withLock { state -> (AnswerResult, [Waiter]) in
      guard let index = state.open.firstIndex(where: { sameBytes($0.id, id) }) else {
        return (Self.resultForClosed(state.closed.last { sameBytes($0.id, id) }, answer), [])
      }
      let open = state.open[index]
      let answer = answer.naming(open.prompt.onlyAccount)
      if let problem = open.refusal(of: answer) { return (.notOffered(problem), []) }
      let waiters = open.waiters
      acknowledge()
      state.unanswered = [:]
      close(&state, at: index, answer.outcome, answer)
      return (.taken, waiters)
    }
    for waiter in waiters { waiter.resume(.success(answer)) }
    return result
  }

  /// Closes the prompts that need no answer any more. Their waiters get `Problem.satisfied`.
  ///
  /// - Parameter isNeedless: gets a prompt and its first request.
  func satisfy(_ isNeedless: (Prompt, PendingRequest) -> Bool) {
    // The check may read the store, and prompts must not wait for that.
    let needless = state.withLock { $0.open }.filter {
      isNeedless($0.prompt, $0.waiters[0].flow)
    }.map(\.id)
    if needless.isEmpty { return }
    let waiters = state.withLock { state -> [Waiter] in
      var waiters: [Waiter] = []
      for index in state.open.indices.reversed() where needless.contains(state.open[index].id) {
        waiters += state.open[index].waiters
        close(&state, at: index, .satisfied, nil)
      }
      return waiters
    }
    for waiter in waiters { waiter.resume(.failure(.satisfied)) }
  }

  /// Closes a prompt that cannot be shown. Its waiters get the problem.
  func abandon(_ id: String, _ problem: (Prompt) -> Problem) {
    let (waiters, failure) = state.withLock { state -> ([Waiter], Problem?) in
      guard let index = state.open.firstIndex(where: { sameBytes($0.id, id) }) else {
        return ([], nil)
      }
      let open = state.open[index]
      close(&state, at: index, .cancelled, nil)
      return (open.waiters, problem(open.prompt))
    }
    guard let failure else { return }
    for waiter in waiters { waiter.resume(.failure(failure)) }
  }

  /// Allows questions again, because the person has acted.
  func personActed() { state.withLock { $0.unanswered = [:] } }

  /// The open prompts in the form of `prompt.opened`, oldest first.
  var all: [JSONObject] { state.withLock { $0.open.map(announcement) } }

  /// Returns the ids of the prompts of a flow.
  func waited(by flow: PendingRequest) -> [String] {
    state.withLock { state in
      state.open.filter { $0.waiters.contains { $0.flow === flow } }.map(\.id)
    }
  }

  private func join(
    _ prompt: Prompt, _ isOffered: @escaping @Sendable (Account.ID) -> Bool, _ waiter: Waiter
  ) {
    let subject = Self.subject(prompt, of: waiter.flow)
    let problem = state.withLock { state -> Problem? in
      // Checked under the lock, so that a cancellation is either seen here or finds the waiter in
      // place.
      if Task.isCancelled { return .left }
      if state.unanswered[subject, default: 0] >= Self.unansweredLimit {
        return .unanswered(prompt, waiter.flow)
      }
      let index = state.open.firstIndex {
        $0.prompt.asksTheSame(as: prompt) && $0.waiters[0].flow.shares(with: waiter.flow)
      }
      if let index {
        state.open[index].waiters.append(waiter)
      } else {
        let open = Open(
          id: newID(), prompt: prompt, isOffered: isOffered, waiters: [waiter])
        let announcement = self.announcement(open)
        // Refused if it fits neither a line nor a page of `prompt.list`.
        guard JSONValue.object(announcement).bytes().count < Pages.limitBytes else {
          return .tooLong(prompt)
        }
        state.open.append(open)
        notify("prompt.opened", announcement)
      }
      return nil
    }
    if let problem { waiter.resume(.failure(problem)) }
  }

  /// Removes a waiter. A prompt without waiters closes.
  private func leave(_ number: Int, of flow: PendingRequest) {
    let left = state.withLock { state -> Waiter? in
      guard
        let index = state.open.firstIndex(where: { $0.waiters.contains { $0.number == number } })
      else { return nil }
      let left = state.open[index].waiters.first { $0.number == number }
      state.open[index].waiters.removeAll { $0.number == number }
      guard state.open[index].waiters.isEmpty else { return left }
      if flow.end == .expired {
        state.unanswered[Self.subject(state.open[index].prompt, of: flow), default: 0] += 1
      }
      close(&state, at: index, flow.outcomeOfLeaving, nil)
      return left
    }
    left?.resume(.failure(.left))
  }

  private func close(
    _ state: inout State, at index: Int, _ outcome: Outcome, _ answer: Answer?
  ) {
    let open = state.open.remove(at: index)
    let id = open.id
    state.closed.append(
      Closed(
        id: id, outcome: outcome, answerDigest: answer?.digest(for: id),
        onlyAccount: open.prompt.onlyAccount))
    if state.closed.count > Self.rememberedPrompts { state.closed.removeFirst() }
    notify("prompt.closed", ["prompt": .string(id), "outcome": .string(outcome.rawValue)])
  }

  private static func subject(_ prompt: Prompt, of flow: PendingRequest) -> Subject {
    Subject(
      application: flow.application, provider: flow.provider,
      account: prompt.onlyAccount ?? flow.kind.account)
  }

  private static func resultForClosed(_ closed: Closed?, _ answer: Answer) -> AnswerResult {
    guard let closed else { return .unknown }
    guard let earlier = closed.answerDigest else { return .late(closed.outcome) }
    return earlier == answer.naming(closed.onlyAccount).digest(for: closed.id)
      ? .repeated : .different(closed.outcome)
  }

  private func announcement(_ open: Open) -> JSONObject {
    let flow = open.waiters[0].flow
    let isFlow = flow.flowKind != nil
    let requests = open.waiters.compactMap(\.flow.request)
    var object = JSONObject(present: [
      "prompt": .string(open.id),
      "flows": isFlow ? .array(open.waiters.map { .string($0.flow.id) }) : [],
      "requests": requests.isEmpty ? nil : .array(requests),
      "kind": .string(open.prompt.kind.rawValue),
      "application": .string(flow.application),
      "applicationTitle": flow.applicationTitle.map(JSONValue.string),
      "provider": isFlow ? .string(flow.provider) : nil,
      "providerName": isFlow ? .string(flow.providerName) : nil,
      "resource": flow.resource.map(JSONValue.string),
      "expiresAt": JSONValue(open.waiters.map(\.flow.expiresAt).max() ?? flow.expiresAt),
    ])
    if let grant = flow.grant, open.prompt.kind.isSignIn {
      object["grantsAccess"] = true
      if !grant.permissions.isEmpty { object["permissions"] = JSONValue(grant.permissions) }
      object["audience"] = grant.audience.map { .string($0.rawValue) }
    }
    let prompt = open.prompt.fitted(for: flow.application)
    for member in prompt.wireMembers(for: flow.application).members {
      object[member.name] = member.value
    }
    object["show"] = .object(PromptForm(prompt, of: flow).json(in: language))
    return object
  }
}

extension Answer {
  fileprivate var outcome: Prompts.Outcome {
    switch self {
    case .accept: .accepted
    case .decline: .declined
    case .cancel: .cancelled
    }
  }
}

extension Prompt {
  /// Whether one answer serves both prompts. The offered accounts may differ.
  fileprivate func asksTheSame(as other: Prompt) -> Bool {
    switch (self, other) {
    case (.selectAccount, .selectAccount): true
    case (.confirmAccount(let mine), .confirmAccount(let theirs)): mine.id == theirs.id
    // A verifier, a password, a trust and the account of a new credential belong to a single sign-in.
    case (.enterVerifier, .enterVerifier), (.enterPassword, .enterPassword),
      (.trustCertificate, .trustCertificate), (.replaceAccount, .replaceAccount):
      false
    default: self == other
    }
  }

  /// The account that an answer accepts without naming it.
  fileprivate var onlyAccount: Account.ID? {
    if case .confirmAccount(let account) = self { account.id } else { nil }
  }
}

extension Answer {
  /// Returns the same answer with the only acceptable account named.
  fileprivate func naming(_ only: Account.ID?) -> Answer {
    if let only, self == .accept() { .accept(account: only) } else { self }
  }
}

extension Prompts.Open {
  /// Returns the reason to refuse an answer, or `nil` for an acceptable one.
  fileprivate func refusal(of answer: Answer) -> Problem? {
    guard case .accept(let account, let text, let username, _) = answer else { return nil }
    switch prompt {
    case .grantAccess, .deviceCode, .trustCertificate, .openURL(_, returningTo: nil): return nil
    case .openURL: return text == nil ? .textMissing("/redirectURL") : nil
    case .enterVerifier: return text == nil ? .textMissing("/text") : nil
    case .enterPassphrase: return text?.isEmpty ?? true ? .textMissing("/passphrase") : nil
    case .enterPassword(let login):
      if login.username == nil, username == nil { return .textMissing("/username") }
      return text?.isEmpty ?? true ? .textMissing("/password") : nil
    case .replaceAccount where account == nil: return nil
    case .selectAccount, .confirmAccount, .replaceAccount:
      guard let account else { return .accountMissing }
      return isOffered(account) ? nil : .notOffered
    }
  }
}

extension PendingRequest {
  /// The outcome of a prompt that this flow leaves as its last waiter.
  fileprivate var outcomeOfLeaving: Prompts.Outcome {
    if end == .expired { .expired } else { isOver ? .cancelled : .satisfied }
  }

  /// Whether an answer to a prompt of one request serves the other.
  fileprivate func shares(with other: PendingRequest) -> Bool {
    sameBytes(application, other.application) && sameBytes(provider, other.provider)
      && choice.selection == other.choice.selection
      && JSONValue(choice.permissions) == JSONValue(other.choice.permissions)
      && choice.audience == other.choice.audience
  }

  /// The parameters of `auth.perform` that change a question.
  private var choice:
    (selection: PerformRequest.Selection, permissions: [String], audience: AccessGrant.Audience?)
  {
    guard case .perform(let request) = kind else { return (.always, [], nil) }
    return (request.selection, request.permissions ?? [], request.audience)
  }
}

extension Problem {
  fileprivate static func unanswered(_ prompt: Prompt, _ flow: PendingRequest) -> Problem {
    let subject = flow.flowKind == nil ? "a passphrase" : flow.providerName
    return Problem(
      .interactionRequired,
      "The last prompts about \(subject) were not answered in time.",
      detail: "unanswered",
      provider: flow.flowKind == nil ? nil : flow.provider, neededPrompts: [prompt])
  }

  /// The front end's own parameters make the question too long.
  fileprivate static func tooLong(_ prompt: Prompt) -> Problem {
    Problem(
      .invalidParameter,
      "The prompt would be longer than a line of the protocol.", advice: .requestLess,
      path: prompt.kind == .grantAccess ? "/permissions" : "/customParameters")
  }

  fileprivate static let left = Problem(.cancelled, "The flow was cancelled.")
  fileprivate static let notOffered = Problem(
    .invalidChoice,
    "That account was not offered, so the prompt stays open.")
  fileprivate static func textMissing(_ path: String) -> Problem {
    Problem(
      .invalidParameter,
      "Accepting this prompt needs the parameter \(path.dropFirst()).",
      path: path)
  }
  fileprivate static let accountMissing = Problem(
    .invalidParameter,
    "Accepting this prompt needs the parameter account.",
    path: "/account")
}
