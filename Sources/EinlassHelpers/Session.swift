package import EinlassJSON
internal import EinlassSystem
internal import Glibc

/// The version shown by `--version` and sent in `initialize`.
package let version = "0.2.0"

/// A command's connection to einlass, and the rules of its run.
package final class Session: Client {
  /// The connection to einlass.
  package private(set) var einlass: Conversation
  /// Whether a missing or old token leads to a sign-in.
  package let signsIn: Bool
  /// The name sent in `initialize`.
  package let application: String
  /// The result of `initialize`.
  package private(set) var greeting = JSONObject()
  /// The options that a suggested command repeats.
  package let repeated: [String]
  private let isJSON: Bool
  private let servesProgram: Bool
  /// The server in this process, while it answers.
  private var inside: ServerInside?
  private var deadline: Deadline?
  private let slowAnswer: SlowAnswer
  private let output: TextOutput

  package var session: Session { self }

  /// - Parameter servesProgram: Whether another program runs the command and waits for its exit.
  package init(
    _ einlass: Conversation, _ choice: ServerChoice, output: consuming TextOutput,
    actingAs application: String?, signsIn: Bool, servesProgram: Bool, inside: ServerInside? = nil
  ) {
    self.einlass = einlass
    self.signsIn = signsIn
    self.application = application ?? "einlassctl"
    repeated = choice.repeated
    isJSON = choice.isJSON
    self.servesProgram = servesProgram
    self.inside = inside
    slowAnswer = SlowAnswer(isNeeded: servesProgram && !signsIn)
    self.output = output
  }

  /// Introduces the command to einlass.
  package func greet(prompts: [String]) throws(Failure) {
    do throws(Failure) { try initialize(prompts) } catch {
      guard inside?.hasLeftWork() == true else { throw error }
      try leaveInside()
    }
    if servesProgram { startTimer() }
  }

  private func initialize(_ prompts: [String]) throws(Failure) {
    greeting = try einlass.request(
      "initialize",
      [
        "protocolVersion": 1,
        "client": ["name": .string(application), "version": .string(version)],
        "processId": JSONValue(Int64(getpid())),
        "capabilities": ["prompts": JSONValue(prompts), "changes": false],
      ], patience: patience ?? 15_000)
    einlass.onNotification = { method, params throws(Failure) in
      if let sentence = sentence(about: method, params) { complain(sentence) }
    }
  }

  /// Goes on with an einlass in a process of its own.
  private func leaveInside() throws(Failure) {
    inside = nil
    // The server inside ends at the end of its input.
    einlass.leave()
    einlass = try Conversation(ServerChoice(), isQuiet: true)
    try initialize([])
  }

  /// Ends einlass.
  package func end() {
    // Another program waits for the exit.
    if servesProgram { einlass.leave() } else { einlass.end() }
  }

  /// Limits the time of all further calls together, because the programs with a helper wait only
  /// ten seconds. A sign-in takes the time that the person needs.
  package func startTimer() {
    deadline = signsIn ? nil : Deadline(milliseconds: slowAnswer.limit)
  }

  /// Remembers a failure that came late. Returns it, or the former one if this run had only a short
  /// time.
  func remembering(_ failure: Failure) -> Failure {
    guard let deadline else { return failure }
    if let former = slowAnswer.line {
      return deadline.millisecondsLeft > 0 ? failure : .unusable(former)
    }
    let line = failure.line(repeating: repeated)
    SlowAnswer.note(
      String(line.dropFirst("einlassctl: ".count)),
      after: SlowAnswer.usualLimit - Int(deadline.millisecondsLeft))
    return failure
  }

  /// Calls a method.
  package func call(_ method: String, _ params: JSONObject) throws(Failure) -> JSONObject {
    do throws(Failure) { return try einlass.request(method, params, patience: patience) } catch {
      guard case .refused = error, inside?.hasLeftWork() == true else { throw error }
      try leaveInside()
      return try einlass.request(method, params, patience: patience)
    }
  }

  func show(_ json: JSONValue, _ lines: @autoclosure () -> [String]) throws(Failure) {
    let lines = isJSON ? [printable(json)] : lines()
    try einlass.show(lines.map { $0 + "\n" }.joined(), on: output)
  }

  private var patience: Int? { deadline.map { Int($0.millisecondsLeft) } }
}

/// Returns the sentence about a wait for another program; `nil` for another notification.
package func sentence(about method: String, _ params: JSONObject) -> String? {
  guard method == "auth.progress" else { return nil }
  switch params["stage"]?.string {
  case "awaitingPort":
    return
      "A sign-in of another program uses the port of the redirect address. Waiting for its end."
  case "awaitingSignIn":
    return "Another program asks for the same sign-in. Waiting for its end."
  default: return nil
  }
}
