internal import ArgumentParser
internal import EinlassHelpers
internal import EinlassJSON
internal import EinlassSystem
internal import Glibc

/// The options common to all subcommands: the einlass, the store and the output.
struct ServerOptions: ParsableArguments {
  /// The names of these options in a help text.
  static let names = [
    "--store", "--key-file", "--key-fd", "--passphrase-fd", "--file-passphrase-fd", "--config",
    "--providers", "--einlass", "--log-level", "--json", "--no-input",
  ]
  private static let logLevels = ["error", "warning", "info", "debug"]

  @Option(help: ArgumentHelp("The account store (default: your own).", valueName: "path"))
  var store: String?

  @Option(help: ArgumentHelp("The file with the store's key.", valueName: "path"))
  var keyFile: String?

  @Option(
    help: ArgumentHelp("Read the store's key from this open descriptor.", valueName: "number"))
  var keyFd: Int32?

  @Option(
    help: ArgumentHelp(
      "Read the passphrase of the store or of an accounts file, one line, from this open descriptor; 0 is standard input: --passphrase-fd 0 <FILE.",
      valueName: "number"))
  var passphraseFd: Int32?

  @Option(
    help: ArgumentHelp(
      "The same only for an accounts file, if the store has another passphrase.",
      valueName: "number"))
  var filePassphraseFd: Int32?

  @Option(help: ArgumentHelp("The configuration file of einlass.", valueName: "path"))
  var config: String?

  @Option(help: ArgumentHelp("More providers: a JSON file.", valueName: "path"))
  var providers: String?

  @Option(
    help: ArgumentHelp(
      "The einlass program (default: the one beside einlassctl).", valueName: "path"))
  var einlass: String?

  @Option(
    help: ArgumentHelp(
      "The log level of einlass: error, warning, info or debug.", valueName: "level"),
    completion: .list(logLevels))
  var logLevel: String?

  @Flag(help: "Print the result as JSON.")
  var json = false

  @Flag(help: "Never ask questions.")
  var noInput = false

  mutating func validate() throws {
    for (name, value) in named + [("einlass", einlass ?? "einlass")] where value.isEmpty {
      throw ValidationError("--\(name) needs a value that is not empty.")
    }
    try require(logLevel, "--log-level", Self.logLevels)
    // Checked before any pipe is opened, because a pipe could get the same number and pass as open.
    for (name, number) in [
      ("--key-fd", keyFd), ("--passphrase-fd", passphraseFd),
      ("--file-passphrase-fd", filePassphraseFd),
    ] {
      try requireReadable(number, name)
    }
    // Descriptor 0 gets another number, because einlass's standard input carries the protocol.
    let options: [WritableKeyPath<Self, Int32?>] = [\.keyFd, \.passphraseFd, \.filePassphraseFd]
    for option in options where self[keyPath: option] == STDIN_FILENO {
      self[keyPath: option] = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
    }
  }

  /// The path of the configuration file that einlass reads without `--config`; `nil` with another
  /// store.
  var usualConfiguration: String? { store == nil ? PersonalFile.configurationPath : nil }

  /// The path of the configuration file that einlass reads; `nil` if there is none.
  var configurationInUse: String? {
    config ?? usualConfiguration.flatMap { FileStatus.at($0) == nil ? nil : $0 }
  }

  /// The einlass of these options.
  var choice: ServerChoice {
    var choice = ServerChoice()
    choice.path = einlass
    choice.arguments = named.flatMap { ["--\($0)", $1] }
    choice.descriptors = [keyFd, passphraseFd, filePassphraseFd].compactMap(\.self)
    choice.showsLog = logLevel != nil
    choice.isJSON = json
    choice.repeated = repeated
    return choice
  }

  /// The options that a suggested command repeats in order to use the same einlass, store and
  /// files.
  var repeated: [String] {
    (named + (einlass.map { [("einlass", $0)] } ?? []))
      .filter { !["key-fd", "passphrase-fd", "file-passphrase-fd", "log-level"].contains($0.0) }
      .flatMap { ["--\($0)", $1] }
  }

  private var named: [(String, String)] {
    [
      ("store", store), ("key-file", keyFile), ("key-fd", keyFd.map { String($0) }),
      ("passphrase-fd", passphraseFd.map { String($0) }),
      ("file-passphrase-fd", filePassphraseFd.map { String($0) }),
      ("config", config), ("providers", providers), ("log-level", logLevel),
    ].compactMap { name, value in value.map { (name, $0) } }
  }
}

/// Throws a usage error if a word is given and is not one of `words`.
func require(_ word: String?, _ name: String, _ words: [String]) throws {
  guard let word, !words.contains(where: { sameBytes($0, word) }) else { return }
  throw ValidationError("\(name) must be one of \(words.joined(separator: ", ")).")
}

/// Throws a usage error if a number is given and is not that of a descriptor to read from.
func requireReadable(_ number: Int32?, _ name: String) throws {
  guard let number, [1, 2].contains(number) || fcntl(number, F_GETFD) < 0 else { return }
  throw ValidationError("\(name) needs the number of a descriptor that is open for reading.")
}
