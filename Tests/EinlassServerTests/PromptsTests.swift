import Einlass
import EinlassJSON
import EinlassSystem
import Testing

@testable import EinlassServer

/// Who shares a prompt, and how it ends: protocol section 4.
@Suite struct PromptsTests {
  private static let account = Account(
    id: Account.ID(rawValue: "a_1"), provider: "example", username: "ada", isSignedIn: true,
    addedAt: 0)
  private static let question = Prompt.confirmAccount(account)

  private static func wish(_ change: (inout PerformRequest) -> Void = { _ in }) -> PerformRequest {
    var wish = PerformRequest(application: "editor", registration: nil, provider: "example")
    change(&wish)
    return wish
  }

  @Test(arguments: [
    ("nothing", true, wish()),
    ("application", false, wish { $0.application = "other" }),
    ("an application that only looks the same", false, wish { $0.application = "e\u{0301}ditor" }),
    ("provider", false, wish { $0.provider = "other" }),
    ("selection", false, wish { $0.selection = .whenMany }),
    ("permissions", false, wish { $0.permissions = ["email"] }),
    ("audience", false, wish { $0.audience = .everyone }),
    ("what becomes of the answer", true, wish { $0.fetchesCredential = false }),
  ])
  func `Two requests share a prompt unless what they differ in changes the question`(
    difference: String, isShared: Bool, other: PerformRequest
  ) async throws {
    let desk = Desk()
    let first = desk.ask(Self.question, Self.wish { _ in }, "f_1")
    try await desk.wait { $0.waiting == 1 }
    let second = desk.ask(Self.question, other, "f_2")
    try await desk.wait { $0.waiting == 2 }
    #expect(desk.prompts.all.count == (isShared ? 1 : 2), "\(difference)")
    for prompt in desk.prompts.all {
      _ = desk.prompts.answer(prompt["prompt"]?.string ?? "", .accept())
    }
    #expect(try await first.value.get() == .accept())
    #expect(try await second.value.get() == .accept())
  }

  @Test func `The same answer again is fine, with the only account named or not`() async throws {
    let desk = Desk()
    let asked = desk.ask(Self.question, Self.wish(), "f_1")
    try await desk.wait { $0.waiting == 1 }
    #expect(desk.prompts.answer("p_1", .accept()).isTaken)
    _ = await asked.value
    guard case .repeated = desk.prompts.answer("p_1", .accept(account: Self.account.id)) else {
      Issue.record("not the same")
      return
    }
    guard case .different(.accepted) = desk.prompts.answer("p_1", .decline) else {
      Issue.record("not different")
      return
    }
  }

  @Test func `A prompt stays when one waiter leaves, closes when the last does, and is remembered`()
    async throws
  {
    let desk = Desk()
    let first = desk.ask(Self.question, Self.wish(), "f_1")
    let second = desk.ask(Self.question, Self.wish(), "f_2")
    try await desk.wait { $0.waiting == 2 }
    first.cancel()
    #expect(await first.value.problem?.reason == .cancelled)
    #expect(desk.prompts.all.count == 1)
    #expect(desk.prompts.all.first?["flows"] == ["f_2"])
    second.cancel()
    #expect(await second.value.problem?.reason == .cancelled)
    #expect(desk.prompts.all.isEmpty)
    #expect(desk.closed == ["cancelled"])
    guard case .late(.cancelled) = desk.prompts.answer("p_1", .accept()) else {
      Issue.record("not late")
      return
    }
  }

  @Test func `Only the last 1024 ended prompts are remembered`() async throws {
    let desk = Desk()
    for number in 1...(Prompts.rememberedPrompts + 1) {
      let asked = desk.ask(Self.question, Self.wish(), "f")
      try await desk.wait { $0.waiting == 1 }
      #expect(desk.prompts.answer("p_\(number)", .decline).isTaken)
      _ = await asked.value
    }
    guard case .unknown = desk.prompts.answer("p_1", .decline),
      case .repeated = desk.prompts.answer("p_2", .decline)
    else {
      Issue.record("the wrong number is remembered")
      return
    }
  }

  @Test func `Accounts that do not fit a line are left out and announced as more`() throws {
    let accounts = (0..<100).map { number in
      var account = Self.account
      account.displayName = String(repeating: "x", count: 1000)
      account.position = Int64(number)
      return account
    }
    let members = Prompt.selectAccount(accounts, more: false).wireMembers(for: "editor")
    #expect(members["more"]?.bool == true)
    #expect(JSONValue.object(members).bytes().count < 40 * 1024)
    let few = Prompt.selectAccount(Array(accounts.prefix(3)), more: false).wireMembers(
      for: "editor")
    #expect(few["more"] == nil)
    #expect(few["accounts"]?.array?.count == 3)
  }
}

/// A table of prompts and what it announced.
private final class Desk: Sendable {
  private let log = Lock([(String, JSONObject)]())
  let prompts: Prompts

  init() {
    let number = Lock(0)
    let log = log
    prompts = Prompts(
      newID: {
        number.withLock {
          $0 += 1
          return "p_\($0)"
        }
      },
      notify: { method, params in log.withLock { $0.append((method, params)) } })
  }

  var closed: [String] {
    log.withLock { $0 }.filter { $0.0 == "prompt.closed" }.compactMap { $0.1["outcome"]?.string }
  }

  /// How many flows wait.
  var waiting: Int { prompts.all.reduce(0) { $0 + ($1["flows"]?.array?.count ?? 0) } }

  func ask(
    _ prompt: Prompt, _ wish: PerformRequest, _ id: String
  ) -> Task<Result<Answer, Problem>, Never> {
    let flow = RunningFlow(
      id: id, wish: wish, applicationTitle: nil, providerName: "Example", flowKind: .systemToken,
      startedAt: 0, expiresAt: 300, isDetached: false, request: nil)
    return Task {
      do throws(Problem) {
        return .success(
          try await prompts.ask(
            prompt, offering: [Account.ID(rawValue: "a_1")], for: flow))
      } catch { return .failure(error) }
    }
  }

  /// Lets the tasks run until it is so.
  func wait(until isSo: (Desk) -> Bool) async throws {
    for _ in 0..<100_000 {
      if isSo(self) { return }
      await Task.yield()
    }
    Issue.record("It never became so.")
    throw CancellationError()
  }
}

extension Prompts.AnswerResult {
  fileprivate var isTaken: Bool { if case .taken = self { true } else { false } }
}

extension Result where Failure == Problem {
  fileprivate var problem: Problem? {
    if case .failure(let problem) = self { problem } else { nil }
  }
}
