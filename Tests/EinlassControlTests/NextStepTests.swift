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

  private static func refusal(_ next: JSONValue) -> Refusal {
    Refusal(["code": 1005, "message": "No.", "data": ["reason": "x", "next": next]])
  }

  private static func lines(_ step: JSONValue) -> [String] {
    refusal([step]).nextSteps.map { $0.line(repeating: []) }
  }

  @Test("The next steps of every error are sentences or commands of einlassctl, without a method")
  func everyReason() throws {
    try #require(Self.errors.count > 40)
    var count = 0
    for error in Self.errors {
      let steps = Self.refusal(error["next"] ?? []).nextSteps
      #expect(steps.isEmpty == (error["final"]?.bool == true), "\(error.text)")
      for step in steps {
        let text = step.line(repeating: [])
        let method = /(accounts|access|auth|providers|prompt|store|credentials|audit)\.\w+[A-Z]?\w*/
        #expect(!text.contains(method) && !text.contains("`"), "\(text)")
        #expect(step.text.hasSuffix(step.command.isEmpty && step.foreign == nil ? "." : ":"))
        guard !step.command.isEmpty else { continue }
        count += 1
        #expect(throws: Never.self, "\(text)") { _ = try EinlassControl.parseAsRoot(step.command) }
      }
    }
    #expect(count > 5)
    #expect(throws: (any Error).self) { _ = try EinlassControl.parseAsRoot(["store", "nope"]) }
  }

  @Test(
    "A next step with a method names the command of einlassctl with its parameters",
    arguments: [
      (#"{"method":"accounts.signIn","params":{"provider":"github"}}"#, "sign-in github"),
      (
        #"{"method":"accounts.signIn","params":{"provider":"x","account":"a_1","scopes":["a","b"]}}"#,
        "sign-in --account a_1 --scope a --scope b"
      ),
      (
        #"{"method":"accounts.signIn","params":{"resource":"https://a.example"}}"#,
        "sign-in https://a.example"
      ),
      (#"{"method":"accounts.add","params":{"replace":true}}"#, "accounts add --replace"),
      (
        #"{"method":"access.set","params":{"application":"git","provider":"x","permissions":["p"],"accounts":["a_1"],"audience":"onlyMe","includes":["refreshToken"]}}"#,
        "access set git x granted --account a_1 --permission p --audience onlyMe --refresh-token"
      ),
      (#"{"method":"access.reset","params":{"provider":"x"}}"#, "access reset einlassctl x"),
      (#"{"method":"credentials.get","params":{"resource":"https://a"}}"#, "token https://a"),
      (#"{"method":"providers.configure","params":{"provider":"x"}}"#, "providers configure x"),
      (#"{"method":"users.unlink","params":{"provider":"x"}}"#, "users unlink USER x"),
    ])
  func commands(step: String, command: String) throws {
    var step = try #require(JSONReader.read(Array(step.utf8)).object)
    step["label"] = "Do it"
    #expect(Self.lines(.object(step)) == ["Do it: einlassctl \(command)"])
  }

  @Test("A step without a command of einlassctl is a sentence, with its page or foreign command")
  func foreignSteps() {
    let later: JSONValue = ["label": "Do it", "method": "later.method", "params": [:]]
    #expect(Self.lines(later) == ["Do it."])
    #expect(
      Self.lines(["label": "Do it", "page": "https://a.example/\u{1B}"])
        == ["Do it (https://a.example/\u{FFFD})."])
    #expect(
      Self.lines(["label": "Do it", "command": "chmod go-rwx '/a b'"])
        == ["Do it: chmod go-rwx '/a b'"])
  }

  @Test("The line for a program that asks nobody names the grant, not the way to be asked again")
  func lineForPrograms() {
    let forget: JSONValue = ["label": "Forget", "method": "access.reset", "params": [:]]
    let allow: JSONValue = [
      "label": "Allow", "method": "access.set", "params": ["application": "git", "provider": "x"],
    ]
    for (steps, line) in [
      ([["label": "Wait"], forget, allow], "Allow: einlassctl access set git x granted"),
      ([["label": "Wait"], forget], "Forget: einlassctl access reset einlassctl PROVIDER"),
      ([["label": "Wait"]], "Wait."),
    ] as [([JSONValue], String)] {
      let failure = Failure.refused(Self.refusal(.array(steps)))
      #expect(failure.line(repeating: []) == "einlassctl: No. \(line)")
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
        "reason": "throttled", "next": [["label": "Wait\u{1B}"], ["label": "Report it"]],
        "serverError": ["status": 429, "text": "slow\u{202E}"],
      ],
    ])
    let lines = Failure.refused(refusal).lines(repeating: [], Style(isColoured: false))
    #expect(
      lines == [
        "problem: Wait\u{FFFD}[2J. (throttled, 1017)", "   they: status 429, text slow\u{FFFD}",
        "   next: Wait\u{FFFD}.", "   next: Report it.",
      ])
  }

  @Test("A problem inside a result is explained by its message and its first next step")
  func explanationOfProblem() {
    let problem: JSONValue = [
      "message": "No\u{1B}.",
      "next": [["label": "Look", "command": "chmod 600 a"], ["label": "Wait"]],
    ]
    #expect(problem.explanation(repeating: []) == "No\u{FFFD}. Look: chmod 600 a")
    let error: JSONValue = [
      "message": "No.",
      "data": ["next": [["label": "Look", "method": "accounts.list", "params": [:]]]],
    ]
    #expect(
      error.explanation(repeating: ["--store", "s"])
        == "No. Look: einlassctl accounts list --store s")
    let last: JSONValue = ["message": "No.", "next": [], "final": true]
    #expect(last.explanation(repeating: []) == "No.")
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
