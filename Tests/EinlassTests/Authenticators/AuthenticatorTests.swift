import Einlass
import EinlassAuthenticators
import EinlassSystem
import TestSupport
import Testing

/// The authenticator of any provider: its two forms, and prompts that close.
@Suite struct AuthenticatorTests {
  /// A main-actor delegate, as a program with a window has it.
  @MainActor final class Window: AuthenticatorDelegate {
    let promptKinds: Set<Prompt.Kind>
    let answer: Answer
    var calls: [String] = []

    init(_ kinds: Set<Prompt.Kind>, _ answer: Answer = .accept()) {
      promptKinds = kinds
      self.answer = answer
    }

    func authenticator(answerTo prompt: Prompt) async -> Answer {
      MainActor.assertIsolated()
      calls.append("\(prompt.kind)")
      return answer
    }
    func authenticator(didSignIn result: PerformResult) async {
      calls.append("signed in \(result.identity?.avatar ?? "")")
    }
    func authenticator(didFail problem: Problem) async {
      calls.append("failed \(problem.reason)")
    }
  }

  @Test @MainActor func `A main-actor delegate answers on the main actor`() async throws {
    let script = Script(
      [.json(Sample.minted), .json(Sample.graphIdentity)], store: Sample.graphStore(grant: nil))
    let window = Window([.grantAccess, .confirmAccount])
    await Authenticator(
      try SystemAuthenticatorTests.application(script), provider: "facebook", delegate: window
    ).perform().value
    #expect(
      window.calls == [
        "grantAccess", "confirmAccount",
        "signed in https://graph.facebook.com/42/picture?type=large",
      ])
  }

  @Test @MainActor func `A prompt that the delegate cannot show fails the sign-in`() async throws {
    let script = Script(store: Sample.graphStore(grant: nil))
    let window = Window([.confirmAccount])
    await Authenticator(
      try SystemAuthenticatorTests.application(script), provider: "facebook", delegate: window
    ).perform().value
    #expect(window.calls == ["failed interactionRequired"])
  }

  @Test(arguments: [true, false])
  func `A sign-in follows where no account works, unless it is switched off`(signsIn: Bool)
    async throws
  {
    let script = Script()
    var authenticator = Authenticator(
      try SystemAuthenticatorTests.application(script, ["sequencing"]), provider: "sequencing")
    authenticator.signsInIfNeeded = signsIn
    let kinds = Lock([Prompt.Kind]())
    let asker = Asker(kinds: [.openURL]) { prompt in
      kinds.withLock { $0.append(prompt.kind) }
      return .success(.cancel)
    }
    let problem = await #expect(throws: Problem.self) {
      try await authenticator.perform(asking: asker)
    }
    #expect(problem?.reason == (signsIn ? .userCanceled : .noSystemAccount))
    #expect(kinds.withLock { $0 } == (signsIn ? [.openURL] : []))
  }

  @Test func `A cancelled sign-in does not wait for an answer`() async throws {
    let script = Script(store: Sample.chirpStore(grant: nil))
    let (asked, isAsked) = AsyncStream<Void>.makeStream()
    let (closed, isClosed) = AsyncStream<Void>.makeStream()
    let (never, end) = AsyncStream<Void>.makeStream()
    let asker = Asker(kinds: [.grantAccess]) { _ in
      await withTaskCancellationHandler {
        isAsked.yield()
        // An answer that comes too late, because it does not end with its task.
        await Task { for await _ in never {} }.value
        return .success(.accept())
      } onCancel: {
        isClosed.yield()
      }
    }
    let authenticator = Authenticator(
      try SystemAuthenticatorTests.application(script), provider: "twitter")
    let running = Task { try await authenticator.perform(asking: asker) }
    for await _ in asked { break }
    running.cancel()
    let problem = await #expect(throws: Problem.self) { try await running.value }
    #expect(problem?.reason == .cancelled)
    for await _ in closed { break }
    end.finish()
    #expect(script.store.grants.isEmpty)
  }
}
