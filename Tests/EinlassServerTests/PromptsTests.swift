import Einlass
import EinlassJSON
import EinlassSystem
import Testing

@testable import EinlassServer

/// Requests that share a prompt, and the ways in which a prompt ends.
@Suite struct PromptsTests {
  private static let account = Account(
    id: Account.ID(rawValue: "a_1"), provider: "example", username: "ada", isSignedIn: true,
    addedAt: 0)
  private static let question = Prompt.confirmAccount(account)

  private static func request(_ change: (inout PerformRequest) -> Void = { _ in }) -> PerformRequest
  {
    var request = PerformRequest(application: "editor", registration: nil, provider: "example")
    change(&request)
    return request
  }

  @Test(arguments: [
    ("nothing", true, request()),
    ("application", false, request { $0.application = "other" }),
    (
      "an application that only looks the same", false,
      request { $0.application = "e\u{0301}ditor" }
    ),
    ("provider", false, request { $0.provider = "other" }),
    ("selection", false, request { $0.selection = .whenMany }),
    ("permissions", false, request { $0.permissions = ["email"] }),
    ("audience", false, request { $0.audience = .everyone }),
    ("use of the answer", true, request { $0.fetchesCredential = false }),
  ])
  func `Two requests share a prompt unless their difference changes the question`(
    difference: String, isShared: Bool, other: PerformRequest
  ) async throws {
    let desk = Desk()
    let first = desk.ask(Self.question, Self.request { _ in }, "f_1")
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

  @Test(arguments: [
    (Prompt.openURL(page(28 << 10), returningTo: nil), "/customParameters"),
    (
      .grantAccess(
        permissions: Array(repeating: String(repeating: "\"", count: 250), count: 64),
        audience: nil, added: Array(repeating: String(repeating: "\"", count: 250), count: 64),
        includes: []), "/permissions"
    ),
  ])
  func `A prompt that is too long for a line fails instead of waiting for an answer`(
    prompt: Prompt, path: String
  ) async throws {
    let desk = Desk()
    let problem = await #expect(throws: Problem.self) {
      _ = try await desk.ask(prompt, Self.request(), "f_1").value.get()
    }
    #expect(problem?.reason == .invalidParameter && problem?.path == path)
    #expect(desk.prompts.all.isEmpty)
    let fits = desk.ask(.openURL(Self.page(27 << 10), returningTo: nil), Self.request(), "f_2")
    try await desk.wait { $0.waiting == 1 }
    #expect(desk.prompts.answer("p_2", .cancel).isTaken)
    #expect(try await fits.value.get() == .cancel)
  }

  /// An address with this many bytes of query.
  private static func page(_ count: Int) -> WebAddress {
    WebAddress(
      scheme: .https, host: "op.example", path: "/go",
      query: String(repeating: "x", count: count))
  }

  @Test func `The same passphrase can be given again, but not another one or none`() async throws {
    let desk = Desk()
    let asked = desk.ask(
      .enterPassphrase(.init(.export, path: "/a")), of: Desk.passphraseRequest("f_1"))
    try await desk.wait { $0.prompts.all.count == 1 }
    let other = desk.ask(
      .enterPassphrase(.init(.export, path: "/b")), of: Desk.passphraseRequest("f_2"))
    // Two files may have two passphrases, so that the requests do not share a prompt.
    try await desk.wait { $0.prompts.all.count == 2 }
    for refused in [Answer.accept(), .accept(account: Self.account.id), .accept(text: Secret(""))] {
      guard case .notOffered(let problem) = desk.prompts.answer("p_1", refused) else {
        Issue.record("taken: \(refused)")
        return
      }
      #expect(problem.path == "/passphrase")
    }
    #expect(desk.prompts.answer("p_1", .accept(text: Secret("words"))).isTaken)
    #expect(try await asked.value.get() == .accept(text: Secret("words")))
    #expect(desk.prompts.answer("p_2", .cancel).isTaken)
    #expect(try await other.value.get() == .cancel)
    guard case .repeated = desk.prompts.answer("p_1", .accept(text: Secret("words"))) else {
      Issue.record("not the same")
      return
    }
    for different in [Answer.accept(text: Secret("wordsy")), .accept(), .decline, .cancel] {
      guard case .different(.accepted) = desk.prompts.answer("p_1", different) else {
        Issue.record("not different: \(different)")
        return
      }
    }
  }

  @Test func `A passphrase is no answer to another question`() async throws {
    let desk = Desk()
    let asked = desk.ask(Self.question, Self.request(), "f_1")
    try await desk.wait { $0.waiting == 1 }
    guard case .notOffered = desk.prompts.answer("p_1", .accept(text: Secret("words"))) else {
      Issue.record("taken")
      return
    }
    #expect(desk.prompts.answer("p_1", .accept()).isTaken)
    _ = await asked.value
  }

  @Test func `Two sign-ins ask separately for the account to replace, out of those offered`()
    async throws
  {
    let desk = Desk()
    let question = Prompt.replaceAccount([Self.account], more: false)
    let asked = ["f_1", "f_2"].map { desk.ask(question, Self.request(), $0) }
    try await desk.wait { $0.prompts.all.count == 2 }
    let other = Account.ID(rawValue: "a_2")
    guard case .notOffered = desk.prompts.answer("p_1", .accept(account: other)) else {
      Issue.record("taken")
      return
    }
    #expect(desk.prompts.answer("p_1", .accept(account: Self.account.id)).isTaken)
    #expect(desk.prompts.answer("p_2", .accept()).isTaken)
    for task in asked { _ = try await task.value.get() }
  }

  @Test func `The same answer is accepted again, with or without the name of the only account`()
    async throws
  {
    let desk = Desk()
    let asked = desk.ask(Self.question, Self.request(), "f_1")
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

  @Test func `A prompt stays when one waiter leaves, closes with the last one, and is remembered`()
    async throws
  {
    let desk = Desk()
    let first = desk.ask(Self.question, Self.request(), "f_1")
    let second = desk.ask(Self.question, Self.request(), "f_2")
    try await desk.wait { $0.waiting == 2 }
    first.cancel()
    #expect(await first.value.problem?.reason == .cancelled)
    #expect(desk.prompts.all.count == 1)
    #expect(desk.prompts.all.first?["flows"] == ["f_2"])
    second.cancel()
    #expect(await second.value.problem?.reason == .cancelled)
    #expect(desk.prompts.all.isEmpty)
    #expect(desk.closed == ["satisfied"])
    guard case .late(.satisfied) = desk.prompts.answer("p_1", .accept()) else {
      Issue.record("not late")
      return
    }
  }

  @Test(arguments: [
    (PendingRequest.End.cancelledByCall, "cancelled"), (.expired, "expired"),
  ])
  func `A prompt announces the outcome of the flow that ended it`(
    end: PendingRequest.End, outcome: String
  ) async throws {
    let desk = Desk()
    let flow = Desk.flow(Self.request(), "f_1")
    let asked = desk.ask(Self.question, of: flow)
    try await desk.wait { $0.waiting == 1 }
    flow.end(end)
    asked.cancel()
    #expect(await asked.value.problem?.reason == .cancelled)
    #expect(desk.closed == [outcome])
  }

  @Test func `A flow can withdraw one of its prompts, and no prompt for pasted text is shared`()
    async throws
  {
    let desk = Desk()
    let flow = Desk.flow(Self.request(), "f_1")
    let page = desk.ask(
      .openURL(WebAddress(scheme: .https, host: "op.example"), returningTo: nil), of: flow)
    try await desk.wait { $0.waiting == 1 }
    let pasted = desk.ask(.enterVerifier(.redirectURL), of: flow)
    let other = desk.ask(.enterVerifier(.redirectURL), Self.request(), "f_2")
    try await desk.wait { $0.prompts.all.count == 3 }
    page.cancel()
    #expect(await page.value.problem?.reason == .cancelled)
    #expect(desk.prompts.all.count == 2 && desk.closed == ["satisfied"])
    let ids = desk.prompts.all.map { ($0["flows"], $0["prompt"]?.string ?? "") }
    let mine = try #require(ids.first { $0.0 == ["f_1"] }).1
    guard case .notOffered = desk.prompts.answer(mine, .accept()) else {
      Issue.record("an answer without the pasted text was not refused")
      return
    }
    #expect(desk.prompts.answer(mine, .accept(text: Secret("x"))).isTaken)
    #expect(try await pasted.value.get() == .accept(text: Secret("x")))
    other.cancel()
    _ = await other.value
  }

  @Test func `Only the last 1024 ended prompts are remembered`() async throws {
    let desk = Desk()
    for number in 1...(Prompts.rememberedPrompts + 1) {
      let asked = desk.ask(Self.question, Self.request(), "f")
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

  /// Returns the announcement of a choice among a hundred accounts with names of this length.
  private static func announcement(nameLength: Int) async throws -> JSONObject {
    let accounts = (0..<100).map { number in
      var account = Self.account
      account.id = Account.ID(rawValue: "a_\(1000 + number)567890123456789012")
      account.displayName = String(repeating: "x", count: nameLength)
      return account
    }
    let desk = Desk()
    let asked = desk.ask(.selectAccount(accounts, more: false), request(), "f_1")
    try await desk.wait { $0.waiting == 1 }
    let announcement = desk.prompts.all[0]
    #expect(desk.prompts.answer("p_1", .cancel).isTaken)
    _ = await asked.value
    return announcement
  }

  @Test(arguments: [(20, true), (130, true), (131, false), (1000, false)])
  func `A choice among a hundred accounts fits into a line, if need be with fewer of them`(
    nameLength: Int, isWhole: Bool
  ) async throws {
    let announcement = try await Self.announcement(nameLength: nameLength)
    let accounts = try #require(announcement["accounts"]?.array)
    #expect(JSONValue.object(announcement).bytes().count < 60 * 1024)
    #expect((accounts.count == 100) == isWhole)
    #expect(announcement["more"]?.bool == (isWhole ? nil : true))
    #expect(announcement["show"]?["choices"]?.array?.count == accounts.count)
    #expect((announcement["show"]?["fields"] == nil) == isWhole)
  }
}

/// A table of prompts and its notifications.
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

  var waiting: Int { prompts.all.reduce(0) { $0 + ($1["flows"]?.array?.count ?? 0) } }

  func ask(
    _ prompt: Prompt, _ request: PerformRequest, _ id: String
  ) -> Task<Result<Answer, Problem>, Never> {
    ask(prompt, of: Self.flow(request, id))
  }

  static func flow(_ request: PerformRequest, _ id: String) -> PendingRequest {
    PendingRequest(
      id: id, kind: .perform(request), of: .init(application: request.application),
      providerName: "Example", flowKind: .systemToken, startedAt: 0, expiresAt: 300, request: nil)
  }

  static func passphraseRequest(_ id: String) -> PendingRequest {
    PendingRequest(
      id: id, kind: .passphrase, of: .init(application: "editor"), startedAt: 0, expiresAt: 300,
      request: nil)
  }

  func ask(
    _ prompt: Prompt, of flow: PendingRequest
  ) -> Task<Result<Answer, Problem>, Never> {
    Task {
      do throws(Problem) {
        return .success(
          try await prompts.ask(prompt, for: flow) { $0 == Account.ID(rawValue: "a_1") })
      } catch { return .failure(error) }
    }
  }

  /// Lets the tasks run until the condition is true.
  func wait(until isSo: (Desk) -> Bool) async throws {
    for _ in 0..<100_000 {
      if isSo(self) { return }
      await Task.yield()
    }
    Issue.record("The condition never became true.")
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
