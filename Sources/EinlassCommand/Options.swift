internal import Einlass
import EinlassRPC

/// The parsed command line of `einlass`.
struct Options: Equatable {
  /// The command and its arguments.
  enum Action: Equatable {
    case serve
    /// `einlass call [--application NAME] METHOD [JSON]`; `-` reads the JSON from standard input.
    case call(method: String, params: String, application: String?)
    case help, dumpProtocol, dumpSchema
    case version(isJSON: Bool)
  }

  var action = Action.serve
  /// The store's path or address; `nil` for the person's own store, `memory` for one that writes no file.
  var store: String?
  var keyFile: String?
  var keyDescriptor: Int32?
  var passphraseDescriptor: Int32?
  var filePassphraseDescriptor: Int32?
  var configuration: String?
  var providers: String?
  /// The path of the program for prompts that the front end cannot show.
  var prompter: String?
  var finishes = false
  /// Whether the front end runs on another machine or in another container.
  var isForwarded = false
  /// `nil` lets the first bytes of the input decide.
  var framing: Framing?
  var logLevel = "warning"
  var trace: String?
  var answers: String?
  var isTest = false
  /// Whether prompts are in the pseudo-language.
  var isPseudo = false
  /// The limits of a front end that is not trusted.
  @Indirect var door = DoorOptions()

  /// The reason for a refused command line, as a sentence for the person.
  struct UsageError: Error, Equatable {
    var message: String
    init(_ message: String) { self.message = message }
  }

  /// Parses the arguments after the program's name.
  init(_ arguments: [String]) throws(UsageError) {
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      let (name, inline) = Self.split(argument)
      func value() throws(UsageError) -> String {
        guard let value = inline ?? rest.popFirst(), !value.isEmpty else {
          throw UsageError("\(name) needs a value")
        }
        return value
      }
      switch name {
      case "--store": store = try value()
      case "--key-file": keyFile = try value()
      case "--key-fd": keyDescriptor = try Self.descriptor(try value(), name)
      case "--passphrase-fd":
        passphraseDescriptor = try Self.descriptor(try value(), name)
      case "--file-passphrase-fd":
        filePassphraseDescriptor = try Self.descriptor(try value(), name)
      case "--config": configuration = try value()
      case "--providers": providers = try value()
      case "--prompter":
        prompter = try value()
        guard prompter?.hasPrefix("/") == true else {
          throw UsageError("--prompter needs the absolute path of a program")
        }
      case "--log-level": logLevel = try Self.logLevel(try value())
      case "--trace": trace = try value()
      case "--answers": answers = try value()
      case "--finish" where inline == nil: finishes = true
      case "--forwarded" where inline == nil: isForwarded = true
      case "--framing":
        framing = Framing(rawValue: try value())
        guard framing != nil else { throw UsageError("--framing needs lines or headers") }
      case "--test" where inline == nil: isTest = true
      case "--pseudo-language" where inline == nil: isPseudo = true
      case "--as", "--only", "--account", "--until": try door.take(name, try value())
      case "--help" where inline == nil, "-h" where inline == nil: action = .help
      case "--version" where inline == nil:
        action = .version(isJSON: rest.first == "--json")
        if rest.first == "--json" { rest.removeFirst() }
      case "--dump-protocol" where inline == nil: action = .dumpProtocol
      case "--dump-schema" where inline == nil: action = .dumpSchema
      case "call":
        action = try Self.call(&rest)
      default: throw UsageError("unknown argument \(name)")
      }
    }
    if keyFile != nil, keyDescriptor != nil {
      throw UsageError("--key-file and --key-fd exclude each other")
    }
    try requireSoundDoor()
    let numbers = descriptors.map(\.number)
    guard Set(numbers).count == numbers.count else {
      throw UsageError(
        "\(descriptors.map(\.name).joined(separator: " and ")) each need a descriptor of their own")
    }
  }

  private static func split(_ argument: String) -> (name: String, value: String?) {
    guard argument.hasPrefix("--"), let equals = argument.firstIndex(of: "=") else {
      return (argument, nil)
    }
    return (String(argument[..<equals]), String(argument[argument.index(after: equals)...]))
  }

  private static func call(_ rest: inout ArraySlice<String>) throws(UsageError) -> Action {
    var application: String?
    if let (name, inline) = rest.first.map(split), name == "--application" {
      rest = rest.dropFirst()
      application = inline ?? rest.popFirst()
      guard application?.isEmpty == false else {
        throw UsageError("--application needs a name, for example: --application backup")
      }
    }
    guard let method = rest.popFirst(), !method.hasPrefix("-") else {
      throw UsageError("call needs a method, for example: einlass call accounts.list")
    }
    let params = rest.popFirst() ?? "{}"
    guard rest.isEmpty else { throw UsageError("call takes one method and one JSON object") }
    return .call(method: method, params: params, application: application)
  }

  private static func descriptor(_ text: String, _ name: String) throws(UsageError) -> Int32 {
    guard let number = Int32(text), number > 2 else {
      throw UsageError("\(name) needs the number of an open descriptor above 2")
    }
    return number
  }

  private static func logLevel(_ text: String) throws(UsageError) -> String {
    guard levels.contains(text) else {
      throw UsageError("--log-level is one of \(levels.joined(separator: ", "))")
    }
    return text
  }

  private static let levels = ["error", "warning", "info", "debug"]
}

extension Options {
  /// The values that the caller passes, each with the name of its option.
  var descriptors: [(name: String, number: Int32)] {
    [
      ("--key-fd", keyDescriptor), ("--passphrase-fd", passphraseDescriptor),
      ("--file-passphrase-fd", filePassphraseDescriptor),
    ].compactMap { name, number in number.map { (name, $0) } }
  }

  /// The text of `--help`.
  static let help = """
    einlass: sign-in for editors, scripts and test drivers, over JSON-RPC on standard input and output.
    People sign in and look after their accounts with einlassctl.

    Usage: einlass [options]                    serve until standard input ends
           einlass [options] call [--application NAME] METHOD [JSON]
                                                send one request, print its answer, exit 0 or 1
           einlass helper WORD...               do in one process what einlassctl token and einlassctl
                                                credential do
           einlass --help | --version [--json] | --dump-protocol
           einlass --store ADDRESS --dump-schema
                                                print the SQL that makes the tables of this store

    Options:
      --store PATH|memory|ADDRESS
                           the account store (default: `store` of the configuration file, or
                           $XDG_DATA_HOME/einlass/store.db); memory: nothing is written;
                           postgresql://HOST/DATABASE?einlass_store=NAME: several machines share it
      --key-file PATH      the file with the store's key (default: below $XDG_STATE_HOME/einlass/keys)
      --key-fd N           read the store's key from this descriptor instead
      --passphrase-fd N    read the passphrase of the store's key from this descriptor: one line
      --file-passphrase-fd N
                           the same for an accounts file (default: the passphrase of --passphrase-fd)
      --config PATH        applications, services, origins, caFile, proxy: a JSON file, private if
                           it has secrets (default without --store: $XDG_CONFIG_HOME/einlass/config.json)
      --providers PATH     more providers, or others in place of the built-in ones: a JSON file
      --prompter PATH      a program for prompts that the front end cannot show (also `prompter` of
                           the configuration file)
      --finish             at the end of input, finish the open requests before the exit
      --forwarded          the front end runs on another machine or in a container: its processId is
                           ignored
      --framing FRAMING    lines, or headers as in the Language Server Protocol (default: as the first
                           bytes of the input)
      --log-level LEVEL    error, warning (default), info or debug; to standard error
      --trace FILE         write the messages without secrets to this file; it keeps the newest 16 MiB
      --answers FILE       answer prompts from JSON Lines: {"kind":"selectAccount","action":"accept","username":"ada"}
                           (only with --store memory or loopback origins)
      --as NAME --only METHOD,… --account ID,… [--until TIME]
                           a door for a program that is not trusted. With credentials.get or
                           credentials.sign it hands out the tokens of its accounts: it limits accounts
                           and time, and keeps no token from the program. The program is the
                           application NAME, and has these methods and accounts alone, until
                           2026-11-29T18:00:00Z. METHOD: services.resolve, credentials.get,
                           credentials.sign, credentials.reject, accounts.list
      --test               test.advanceClock moves the clock (same condition)
      --pseudo-language    put an accent on each letter of the words in prompts, and brackets around them,
                           for tests of a front end

    call speaks as the application NAME, or "anonymous" without one, which needs access:
    einlassctl access set NAME PROVIDER granted
    An error is printed as the answer, and as one sentence on standard error.
    Secrets never go on the command line: with call, give - for JSON to read it from standard input.
    Try it:   einlass call accounts.list
    Exit:     0 done, 1 an error was answered or standard output was lost, 64 usage, 70 internal,
              75 the front end stopped reading, 78 configuration

    """
}
