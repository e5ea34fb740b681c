internal import EinlassJSON

/// Advice after a problem.
package struct NextStep: Equatable {
  /// A sentence, or its beginning if a command follows.
  package var text: String
  /// The arguments of the `einlassctl` command behind the text; empty if there is none.
  package var command: [String]

  package init(_ text: String, _ command: String...) { self.init(text, command) }

  package init(_ text: String, _ command: [String]) {
    self.text = text
    self.command = command
  }

  /// The step for a store key that does not open.
  package static let openingTheStore = NextStep(
    "Provide the key or passphrase of this store. Its key slots:", "store", "slots")

  /// The step for a key that a program prints, if the configuration file does not name the program.
  package static let namingTheProgram = NextStep(
    #"Add the program to that file, such as "keyCommand": ["/usr/bin/pass", "show", "einlass"]. Its place:"#,
    "doctor")

  /// The step for a store on a file system that other machines may have.
  package static let localDisk = NextStep(
    "Move it to a disk of this machine, and name it with --store. Programs in containers mount its folder from there, or get the pipe to einlass forwarded."
  )

  /// Returns the step for a store key that does not open. Some messages already contain the remedy.
  package static func opening(_ message: String) -> NextStep {
    if message.hasSuffix("start afresh.") {
      return NextStep("If the key file is elsewhere, name it with --key-file.")
    }
    if message.hasSuffix("correct keyCommand in the configuration file.") {
      return NextStep("Run it in a terminal, then correct keyCommand in the configuration file.")
    }
    if isAboutUnnamedProgram(message) { return namingTheProgram }
    guard message.hasSuffix("'"), let start = message.places(of: ": chmod ").last else {
      return openingTheStore
    }
    let command = String(decoding: Array(message.utf8)[(start + 2)...], as: UTF8.self)
    return NextStep("If nobody else had access, run this and start the command again: \(command)")
  }

  /// Whether a message misses the program that prints the key.
  package static func isAboutUnnamedProgram(_ message: String) -> Bool {
    message.hasSuffix("ame it as keyCommand in the configuration file.")
  }

  /// Returns the step as one line, with the command ready to be copied.
  package func line(repeating options: [String]) -> String {
    command.isEmpty
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
      let sentence = "\(worded(refusal.message)) (\(refusal.reason), \(refusal.code))"
      return [problem(sentence, style)] + words + steps
    case .unusable(let sentence, let next):
      return [problem(sentence, style)] + (next.map { [step($0, options, style)] } ?? [])
    case .usage(let sentence), .noServer(let sentence, _): return [problem(sentence, style)]
    case .cancelled: return ["Cancelled."]
    case .outputLost, .badNews: return []
    }
  }

  /// Returns the failure as one line for the log of another program: the problem, then the command
  /// that mends it.
  package func line(repeating options: [String]) -> String {
    let (sentence, step): (String, NextStep?) =
      switch self {
      case .refused(let refusal): (worded(refusal.message), refusal.nextSteps.last)
      case .unusable(let sentence, let next): (sentence, next)
      case .usage(let sentence), .noServer(let sentence, _): (sentence, nil)
      case .cancelled: ("Cancelled.", nil)
      case .outputLost, .badNews: ("", nil)
      }
    // The last sentence of a message is its remedy, which the command replaces.
    let isReplaced = step?.command.isEmpty == false
    let problem = isReplaced ? sentence.withoutLastSentence : sentence
    return clean("einlassctl: \(problem)\(step.map { " \($0.line(repeating: options))" } ?? "")")
  }

  private func problem(_ sentence: String, _ style: Style) -> String {
    "\(style.tinted("problem:", .bad)) \(clean(sentence))"
  }

  private func step(_ step: NextStep, _ options: [String], _ style: Style) -> String {
    "\(style.tinted("   next:", .heading)) \(step.line(repeating: options))"
  }
}

extension Refusal {
  /// The members of the provider's error response, if any.
  fileprivate var serverErrorText: String? {
    guard let words = data["serverError"]?.object, !words.members.isEmpty else { return nil }
    return words.members.map { "\($0.name) \($0.value.plain)" }.joined(separator: ", ")
  }
}

extension String {
  /// The text without its last sentence; the whole text if it has only one.
  fileprivate var withoutLastSentence: String {
    let bytes = Array(utf8)
    let ends = bytes.indices.filter { index in
      bytes[index] == UInt8(ascii: ".") && bytes[index...].dropFirst().first == UInt8(ascii: " ")
    }
    return ends.last.map { String(decoding: bytes[...$0], as: UTF8.self) } ?? self
  }
}
