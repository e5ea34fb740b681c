internal import EinlassJSON
internal import EinlassSystem
internal import Glibc

/// The question of another program, in a protocol of that program.
package protocol ProgramProtocol {
  /// The name under which the program gets its tokens; `nil` for einlassctl itself.
  static var program: String? { get }
  /// Reads the question before einlass starts. Returns `false` if nothing is left to do.
  mutating func begins() throws(Failure) -> Bool
  /// Answers the question.
  func run(with client: any Client) throws(Failure)
}

extension ProgramProtocol {
  package func begins() throws(Failure) -> Bool { true }

  /// Answers the program. Prints nothing but the answer, and a failure in one line.
  package func answer(
    as name: String? = nil, by choice: ServerChoice, signsIn: Bool = false,
    inside: ServerInside? = nil
  ) throws(Failure) {
    let application = name ?? Self.program
    var question = self
    do throws(Failure) {
      guard try question.begins() else { return }
      let output = try TextOutput(STDOUT_FILENO)
      // The prompter writes to the same standard error as einlass.
      let einlass =
        if let inside {
          try Conversation(inside: inside)
        } else {
          try Conversation(choice, isQuiet: !signsIn)
        }
      let client = Session(
        einlass, choice, output: output, actingAs: application, signsIn: signsIn,
        servesProgram: true, inside: inside)
      try client.greet(prompts: [])
      try client.run { () throws(Failure) in try question.run(with: client) }
    } catch {
      let failure = error.asked(by: application)
      failure.report(choice, servesProgram: true)
      throw failure
    }
  }
}

/// The request of a program on standard input.
enum ProgramInput {
  /// More than any of these programs sends.
  static let limitBytes = 1 << 16

  /// Reads standard input to its end.
  static func read() throws(Failure) -> [UInt8] {
    guard let input = try? Descriptor.duplicate(STDIN_FILENO),
      let bytes = input.readAll(limitBytes: limitBytes)
    else {
      throw .unusable("The input is longer than \(limitBytes) bytes, or cannot be read.")
    }
    return bytes
  }

  /// Reads one JSON object from standard input.
  static func object() throws(Failure) -> JSONObject {
    guard let object = try? JSONReader.read(try read()).object else {
      throw .badInput(line: 1, "is not a JSON object")
    }
    return object
  }
}

extension Failure {
  /// Input that the helper's protocol does not allow.
  static func badInput(line: Int, _ sentence: String) -> Failure {
    .unusable("Line \(line) of the input \(sentence).")
  }

  /// Prints the failure to standard error, and with `--json` also to standard output.
  ///
  /// - Parameters:
  ///   - servesProgram: Whether to print one line, for the log of another program.
  ///   - say: Writes a line to standard error.
  package func report(
    _ choice: ServerChoice, servesProgram: Bool = false, by say: (String) -> Void = complain
  ) {
    if choice.isJSON, let json {
      try? TextOutput(STDOUT_FILENO).write(printable(["error": json]) + "\n")
    }
    let lines = lines(repeating: choice.repeated, Style(for: STDERR_FILENO))
    if !servesProgram {
      for line in lines { say(line) }
    } else if !lines.isEmpty {
      say(line(repeating: choice.repeated))
    }
  }
}
