import ArgumentParser
import EinlassJSON
import Foundation
import Testing

@testable import EinlassControl
@testable import EinlassHelpers

/// The next steps that einlassctl shows after an error.
struct NextStepTests {
  private static let errors: [JSONValue] = {
    let file = URL(filePath: #filePath).appending(path: "../../../protocol/errors.json")
      .standardized
    let bytes = (try? Data(contentsOf: file)).map { Array($0) } ?? []
    return (try? JSONReader.read(bytes))?["errors"]?.array ?? []
  }()

  /// Every reason without a detail, and every reason with each of its details.
  private static var refusals: [Refusal] {
    errors.flatMap { error in
      ([nil] + (error["details"]?.array ?? [])).map { detail in
        let data = JSONObject(present: ["reason": error["reason"], "detail": detail])
        return Refusal(["code": error["code"] ?? 0, "message": "No.", "data": .object(data)])
      }
    }
  }

  /// The messages of these errors name the next step themselves.
  private static let sayingItThemselves: Set<String> = [
    "invalidParams", "providerFailure", "accountStoreFailure", "accountStoreFailure tooNew",
    "accountStoreFailure permissions", "accountStoreFailure refused",
  ]

  @Test("Every error of the protocol has a next step, and none of them names a method")
  func everyReason() throws {
    try #require(Self.errors.count > 40)
    let catchAll = Refusal(["code": 1999, "data": ["reason": "new"]]).nextSteps
    for refusal in Self.refusals {
      let text = refusal.nextSteps.map { $0.line(repeating: []) }.joined(separator: " ")
      let name = [refusal.reason, refusal.data["detail"]?.string].compactMap(\.self)
        .joined(separator: " ")
      #expect(text.isEmpty == Self.sayingItThemselves.contains(name), "\(name)")
      #expect(refusal.nextSteps != catchAll, "\(name)")
      let method = /(accounts|access|auth|providers|prompt|store|credentials|audit)\.\w+[A-Z]?\w*/
      #expect(!text.contains(method) && !text.contains("`"), "\(refusal.reason): \(text)")
    }
  }

  @Test("The commands in next steps are commands of einlassctl")
  func commands() throws {
    let advice = Refusal([
      "code": 1007, "data": ["reason": "networkFailure", "advice": "checkClock"],
    ])
    for refusal in Self.refusals + [advice] {
      for command in refusal.nextSteps.map(\.command) where !command.isEmpty {
        #expect(throws: Never.self, "\(command)") { _ = try EinlassControl.parseAsRoot(command) }
      }
    }
    #expect(throws: (any Error).self) { _ = try EinlassControl.parseAsRoot(["store", "nope"]) }
    #expect(advice.nextSteps.count == 2)
  }

  @Test("The commands in errors.json are commands of einlassctl")
  func commandsOfErrors() throws {
    let steps = Self.errors.compactMap { $0["nextStep"]?.string }
    let commands = steps.flatMap { $0.matches(of: /\(einlassctl ([^)]*)\)/) }
      .map { $0.1.split(separator: " ").map { String($0) } }
    try #require(commands.count > 10)
    for command in commands {
      #expect(throws: Never.self, "\(command)") {
        _ = try EinlassControl.parseAsRoot(command)
      }
    }
  }

  @Test("A next step names the missing parts of a registration, and one second is singular")
  func wording() {
    func line(_ code: JSONValue, _ reason: JSONValue, _ member: String, _ value: JSONValue)
      -> String
    {
      let data = JSONObject([("reason", reason), ("provider", "vimeo"), (member, value)])
      return Refusal(["code": code, "message": "No.", "data": .object(data)]).nextSteps
        .map { $0.line(repeating: []) }.joined()
    }
    let configure = "einlassctl providers configure vimeo"
    for (detail, parts) in [
      ("clientSecret", "client secret"), ("clientId, clientSecret", "client id and client secret"),
    ] {
      #expect(
        line(1006, "authenticatorUnconfigured", "detail", .string(detail))
          == "Register an application there and enter its \(parts): \(configure)")
    }
    for (seconds, text) in [(JSONValue(1), "1 second"), (2, "2 seconds")] {
      #expect(
        line(1017, "throttled", "retryAfterSeconds", seconds)
          == "Start the command again in \(text).")
    }
  }

  @Test("A registration for another server is configured again, and an account is added again")
  func bindingMismatch() {
    let data = JSONObject(present: ["reason": "bindingMismatch", "provider": "other"])
    var registrations = data
    registrations["hint"] = ["method": "providers.configure", "params": ["provider": "other"]]
    for (data, command) in [
      (registrations, ["providers", "configure", "other"]),
      (data, ["accounts", "add", "--replace"]),
    ] {
      let refusal = Refusal(["code": 1027, "message": "No.", "data": .object(data)])
      #expect(refusal.nextSteps.map(\.command) == [command])
    }
  }

  @Test("A next step repeats the store option, with the path quoted")
  func options() throws {
    let options = try ServerOptions.parse(["--store", "/my store/s.db", "--log-level", "debug"])
    let step = NextStep("Look:", "accounts", "list")
    #expect(
      step.line(repeating: options.repeated)
        == "Look: einlassctl accounts list --store '/my store/s.db'")
  }

  @Test("A problem shows its sentence, the provider's error text and the next step, all cleaned")
  func explanation() {
    let refusal = Refusal([
      "code": 1017, "message": "Wait\u{1B}[2J.",
      "data": [
        "reason": "throttled", "retryAfterSeconds": 60,
        "serverError": ["status": 429, "text": "slow\u{202E}"],
      ],
    ])
    let lines = Failure.refused(refusal).lines(repeating: [], Style(isColoured: false))
    #expect(
      lines == [
        "problem: Wait\u{FFFD}[2J. (throttled, 1017)", "   they: status 429, text slow\u{FFFD}",
        "   next: Start the command again in 60 seconds.",
      ])
  }

  @Test("A failure ends in the exit code that the help names")
  func exitCodes() {
    #expect(Failure.refused(Refusal([:])).exitCode == 1)
    #expect(Failure.cancelled.exitCode == 1)
    #expect(Failure.usage("").exitCode == 64)
    #expect(Failure.noServer("", code: 64).exitCode == 64)
    #expect(Failure.noServer("", code: 139).exitCode == 70)
    #expect(Failure.noServer("").exitCode == 70)
  }
}
