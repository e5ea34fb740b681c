internal import ArgumentParser
internal import EinlassHelpers
internal import EinlassJSON

// The words of the command line, before it is parsed.

extension ArraySlice<String> {
  /// The names of other programs for these commands.
  private static let synonyms = [
    "login": ["sign-in"], "signin": ["sign-in"], "logout": ["accounts", "sign-out"],
    "signout": ["accounts", "sign-out"], "sign-out": ["accounts", "sign-out"],
    "status": ["accounts", "list"], "whoami": ["accounts", "list"],
  ]

  /// The arguments with the names of these commands in place of those of other programs.
  var readingSynonyms: ArraySlice<String> {
    let names = first == "help" ? dropFirst() : self
    guard let first = names.first, let words = Self.synonyms[first] else { return self }
    return (prefix(names.startIndex - startIndex) + words + names.dropFirst())[...]
  }

  /// The arguments with `-h` replaced by `--help`. The parser's own `-h` would match every name
  /// that begins with a dash and contains an h.
  var readingHelp: [String] {
    let options = prefix { $0 != "--" }
    return options.map { $0 == "-h" ? "--help" : $0 } + dropFirst(options.count)
  }

  /// The message about a word that is not a subcommand; `nil` if there is no such word.
  var unknownCommand: String? {
    var command: any ParsableCommand.Type = EinlassControl.self
    var path = "einlassctl"
    for word in prefix(while: { !$0.hasPrefix("-") }) {
      let subcommands = command.configuration.subcommands
      guard !subcommands.isEmpty else { return nil }
      guard let next = subcommands.first(where: { $0.configuration.commandName == word }) else {
        let names = subcommands.compactMap { $0.configuration.commandName }
        var near = nearestNames(to: word, among: names)
        if near.isEmpty, command == EinlassControl.self {
          near = nearestNames(to: word, among: Self.synonyms.keys.sorted())
        }
        return "problem: There is no command \(path) \(clean(word)). "
          + (near.isEmpty
            ? "There are: \(names.joined(separator: ", "))."
            : "Did you mean \(near.joined(separator: " or "))?")
      }
      command = next
      path += " \(word)"
    }
    return nil
  }

  /// A hint for a value or name that begins with a dash and was read as an option.
  var dashedHint: String? {
    let options = prefix { $0 != "--" }
    guard
      let index = options.firstIndex(where: {
        $0.hasPrefix("-") && !$0.hasPrefix("--") && $0.count > 1
      })
    else { return nil }
    if index > startIndex, self[index - 1].hasPrefix("--") {
      return
        "Put a value that begins with a dash after =: \(clean(self[index - 1]))=\(clean(self[index]))"
    }
    return "Put a name that begins with a dash after --: einlassctl accounts remove -- -ada"
  }
}

extension String {
  /// The message of the parser without a guess at an option that has little in common with the
  /// typed one.
  var withoutFarGuess: String {
    let parts = split(separator: "'", omittingEmptySubsequences: false)
    guard parts.count == 5, parts[2] == ". Did you mean " else { return self }
    let (typed, guess) = (parts[1].drop { $0 == "-" }, parts[3].drop { $0 == "-" })
    let isNear = !nearestNames(to: String(typed), among: [String(guess)]).isEmpty
    return isNear ? self : "\(parts[0])'\(parts[1])'."
  }

  /// The help of a command without the options that all commands have.
  var withoutGeneralOptions: String {
    let (others, general) = options
    guard !general.isEmpty else { return self }
    return "\(others)\n\nOptions of every command: einlassctl help options"
  }

  /// The options that all commands have, of a help text.
  var generalOptions: String { "OPTIONS OF EVERY COMMAND:\n\(options.general)\n" }

  /// The lines of a help text apart from those about the options that all commands have, and these.
  private var options: (others: String, general: String) {
    var (others, general): ([Substring], [Substring]) = ([], [])
    var isGeneral = false
    for line in split(separator: "\n", omittingEmptySubsequences: false) {
      // Further lines about an option are indented more.
      if !line.hasPrefix("   ") {
        let name = line.split(separator: " ").first { $0.hasPrefix("-") }
        isGeneral = line.hasPrefix("  -") && ServerOptions.names.contains { $0 == name ?? "" }
      }
      if isGeneral { general.append(line) } else { others.append(line) }
    }
    while others.last?.isEmpty == true { others.removeLast() }
    return (others.joined(separator: "\n"), general.joined(separator: "\n"))
  }
}
