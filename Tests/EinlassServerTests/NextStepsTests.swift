import Einlass
import EinlassJSON
import EinlassRPC
import Testing

@testable import EinlassServer

/// The next steps of errors.
@Suite struct NextStepsTests {
  private func steps(_ problem: Problem) -> [JSONValue] {
    RPCError(problem, for: "editor").data["next"]?.array ?? []
  }

  private func labels(_ problem: Problem) -> [String] {
    steps(problem).compactMap { $0["label"]?.string }
  }

  @Test(arguments: Problem.Reason.allCases)
  func `Each reason has a step, or is final because it has ended`(reason: Problem.Reason) {
    let ended: [Problem.Reason] = [.unknownFlow, .unknownPrompt, .promptAlreadyAnswered]
    let error = RPCError(Problem(reason, "No."))
    #expect((error.data["next"]?.array ?? []).isEmpty == ended.contains(reason))
    #expect(error.data["final"] == (ended.contains(reason) ? true : nil))
  }

  @Test(arguments: RPCError.Standard.allCases)
  func `Each error of the protocol itself has a step`(standard: RPCError.Standard) {
    #expect(RPCError(standard).data["next"]?.array?.first?["label"]?.string?.isEmpty == false)
  }

  @Test(arguments: Problem.StoreDetail.allCases)
  func `Each fault of the store has a step`(detail: Problem.StoreDetail) {
    #expect(!labels(.store(detail, "No.")).isEmpty)
  }

  @Test(arguments: Problem.Advice.allCases)
  func `A step is a short phrase for people, without a method or a full stop`(
    advice: Problem.Advice
  ) {
    let label = advice.label
    #expect(label.count < 100 && label.first?.isUppercase == true && label.last != ".")
    #expect(!label.contains(/\b(accounts|access|auth|providers|store|users)\.[a-z]/), "\(label)")
  }

  @Test func `The advice comes first, then the request with its parameters`() {
    var problem = Problem(
      .reloginNeeded, "No.", advice: .unlockOnWeb,
      hint: .init("accounts.add", ["provider": "x"], replaces: true))
    problem.page = "https://x.example/settings"
    let found = steps(problem)
    #expect(found.count == 2)
    #expect(found.first?["page"] == "https://x.example/settings" && found.first?["method"] == nil)
    #expect(found.last?["method"] == "accounts.add")
    #expect(found.last?["params"] == ["provider": "x", "replace": true])
    // A page by plain http is left out.
    problem.page = "http://x.example/settings"
    #expect(steps(problem).first?["page"] == nil)
  }

  @Test func `A command of a shell stands in the first step`() {
    let problem = Problem.store(
      .permissions, "No.", advice: .closeToOthers, command: "chmod go-rwx '/a'")
    #expect(steps(problem).map { $0["command"]?.string } == ["chmod go-rwx '/a'"])
  }

  @Test func `A denial can be forgotten, or replaced by a grant for the application`() {
    let problem = Problem(
      .accessNotGranted, "No.", provider: "x", hint: .init("access.reset", ["provider": "x"]))
    #expect(steps(problem).map { $0["method"]?.string } == ["access.reset", "access.set"])
    #expect(
      steps(problem).last?["params"]
        == ["application": "editor", "provider": "x", "state": "granted"])
  }

  @Test func `A step that signs in names the provider and the account`() {
    let all = Problem.Reason.allCases.flatMap {
      steps(Problem($0, "No.", provider: "x", account: .init(rawValue: "a_1")))
    }.filter { $0["method"] == "accounts.signIn" }
    #expect(all.count == 4 && all.allSatisfy { $0["params"]?["provider"] == "x" })
    #expect(all.count { $0["params"]?["account"] == "a_1" } == 3)
  }

  @Test func `After another public key no request signs in before the person has checked it`() {
    let problem = Problem(
      .networkFailure, "No.", detail: "otherPublicKey", provider: "x",
      account: .init(rawValue: "a_1"))
    #expect(steps(problem).map { $0["method"]?.string } == [nil])
    #expect(steps(problem).first?["command"] == "einlassctl sign-in --account a_1")
  }

  @Test func `What cannot be revoked names the missing part of the registration, if one is`() {
    var left = Revocation.Remainder(
      what: "application a", reason: "No.", hint: .init("providers.configure", ["provider": "x"]),
      missing: "clientSecret")
    #expect(left.nextSteps?.map(\.method) == ["providers.configure"])
    #expect(left.nextSteps?.first?.label.hasSuffix("enter its client secret") == true)
    left.hint = nil
    #expect(left.nextSteps == nil)
  }

  @Test func `The missing parts of a registration and a time to wait are in the label`() {
    let missing = Problem(
      .authenticatorUnconfigured, "No.", detail: "clientId, clientSecret",
      hint: .init("providers.configure", ["provider": "x"]))
    #expect(labels(missing).first?.hasSuffix("enter its client id and client secret") == true)
    for (seconds, words) in [(1, "1 second"), (60, "60 seconds")] {
      #expect(
        labels(Problem(.throttled, "No.", retryAfterSeconds: seconds)) == ["Try again in \(words)"])
    }
  }

  @Test func `An account that needs a sign-in or does not work has a step`() {
    var account = Account(
      id: .init(rawValue: "a_1"), provider: "x", username: "ada", isSignedIn: true, addedAt: 0)
    #expect(account.nextSteps(at: nil).isEmpty)
    account.isSignedIn = false
    #expect(account.nextSteps(at: nil).map(\.method) == ["accounts.add"])
    for health in Account.Health.allCases where health != .ok {
      account.health = health
      #expect(account.nextSteps(at: nil).count == 1, "\(health)")
    }
  }
}
