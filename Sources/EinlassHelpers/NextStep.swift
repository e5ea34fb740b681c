internal import EinlassJSON

/// A next step after a problem.
package struct NextStep: Equatable {
  /// A sentence, or its beginning if a command follows.
  package var text: String
  /// The arguments of the `einlassctl` command behind the text; empty if there is none.
  package var command: [String]
  /// Another command behind the text, as einlass sent it.
  package var foreign: String?

  package init(_ text: String, _ command: String...) { self.init(text, command) }

  package init(_ text: String, _ command: [String]) {
    self.text = text
    self.command = command
  }

  /// The step for a store on a file system that other machines may have.
  package static let localDisk = NextStep(
    "Move it to a disk of this machine, and name it with --store. Programs in containers mount its folder from there, or get the pipe to einlass forwarded."
  )

  /// Returns the step as one line, with the command ready to be copied.
  package func line(repeating options: [String]) -> String {
    if let foreign {
      let repeated = foreign.hasPrefix("einlassctl ") ? options : []
      return ([text, clean(foreign)] + repeated.map(quoted)).joined(separator: " ")
    }
    return command.isEmpty
      ? text : "\(text) \((["einlassctl"] + command + options).map(quoted).joined(separator: " "))"
  }
}

/// Returns a word quoted for a shell and cleaned for a terminal.
package func quoted(_ word: String) -> String {
  let isPlain = word.utf8.allSatisfy { byte in
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "-_./:@%+,=".utf8.contains(byte)
    }
  }
  guard !isPlain || word.isEmpty else { return clean(word) }
  return shellWord(clean(word))
}

/// Returns a text as one word for a POSIX shell, which expands nothing in it.
package func shellWord(_ text: String) -> String {
  let parts = text.split(separator: "'", omittingEmptySubsequences: false)
  return "'\(parts.joined(separator: #"'\''"#))'"
}

extension Failure {
  /// Returns the lines for standard error; none if everything is already printed.
  ///
  /// - Parameter options: the options that a suggested command repeats.
  package func lines(repeating options: [String], _ style: Style) -> [String] {
    switch self {
    case .refused(let refusal):
      let words = refusal.serverErrorText.map { ["   they: \(clean($0))"] } ?? []
      let steps = refusal.nextSteps.map { step($0, options, style) }
      let sentence = "\(refusal.sentence) (\(refusal.reason), \(refusal.code))"
      return [problem(sentence, style)] + words + steps
    case .unusable(let sentence, let next):
      return [problem(sentence, style)] + (next.map { [step($0, options, style)] } ?? [])
    case .usage(let sentence), .noServer(let sentence, _): return [problem(sentence, style)]
    case .cancelled: return ["Cancelled."]
    case .outputLost, .badNews, .notValid: return []
    }
  }

  /// Returns the failure as one line for the log of another program: the problem, then the command
  /// that mends it.
  package func line(repeating options: [String]) -> String {
    let (sentence, step): (String, NextStep?) =
      switch self {
      case .refused(let refusal):
        (refusal.sentence, refusal.stepForProgram)
      case .unusable(let sentence, let next): (sentence, next)
      case .usage(let sentence), .noServer(let sentence, _): (sentence, nil)
      case .cancelled: ("Cancelled.", nil)
      case .outputLost, .badNews, .notValid: ("", nil)
      }
    return clean("einlassctl: \(sentence)\(step.map { " \($0.line(repeating: options))" } ?? "")")
  }

  private func problem(_ sentence: String, _ style: Style) -> String {
    "\(style.tinted("problem:", .bad)) \(clean(sentence))"
  }

  private func step(_ step: NextStep, _ options: [String], _ style: Style) -> String {
    "\(style.tinted("   next:", .heading)) \(step.line(repeating: options))"
  }
}

extension Refusal {
  /// The next step for a program that asks nobody: the first one with a command, else the first one.
  fileprivate var stepForProgram: NextStep? {
    let steps = nextSteps
    // Such a program would not be asked again after `access reset`.
    let isGrantable = steps.contains { $0.command.starts(with: ["access", "set"]) }
    return steps.first {
      !$0.command.isEmpty && !(isGrantable && $0.command.starts(with: ["access", "reset"]))
    } ?? steps.first
  }

  /// The members of the provider's error response, if any.
  fileprivate var serverErrorText: String? {
    guard let words = data["serverError"]?.object, !words.members.isEmpty else { return nil }
    return words.members.map { "\($0.name) \($0.value.plain)" }.joined(separator: ", ")
  }
}
