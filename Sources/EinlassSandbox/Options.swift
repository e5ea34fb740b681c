/// The command line.
struct Options: Equatable, Sendable {
  /// The port that the providers share; 0 for any free one.
  var port: UInt16 = 0
  /// The port of the control address; 0 for any free one.
  var controlPort: UInt16 = 0
  /// The path of a file with the initial state; `nil` for the demo's state.
  var stateFile: String?
  /// The path of a new file for the configuration; `nil` for none.
  var configurationFile: String?
  /// The path of a folder for the configurations of einlass and git; `nil` for none.
  var homeFolder: String?
  /// Whether the configuration has the registrations of an application.
  var hasRegistrations = true
  /// The command of `--try`; empty for a shell.
  var command: [String] = []
  var action = Action.run

  enum Action: Sendable {
    case run
    case trial
    case help
    case version
  }

  /// An error in the command line, as a sentence.
  struct Flaw: Error, Equatable {
    var message: String
  }

  static let version = "0.2.0"

  /// Parses the arguments without the program's name. Accepts `--name VALUE` and `--name=VALUE`.
  init(_ arguments: [String]) throws(Flaw) {
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = String(parts[0])
      let value = { () throws(Flaw) -> String in
        if parts.count == 2 { return String(parts[1]) }
        guard let next = rest.popFirst() else { throw Flaw(message: "\(name) needs a value.") }
        return next
      }
      switch name {
      case "--port": port = try Self.port(value(), of: name)
      case "--control-port": controlPort = try Self.port(value(), of: name)
      case "--state": stateFile = try value()
      case "--config-file": configurationFile = try value()
      case "--home": homeFolder = try value()
      case "--without-registrations": hasRegistrations = false
      case "--try":
        let isAlone = port == 0 && controlPort == 0 && stateFile == nil && configurationFile == nil
        guard isAlone, homeFolder == nil else {
          throw Flaw(message: "Only --without-registrations stands before --try.")
        }
        guard rest.first?.hasPrefix("-") != true else {
          throw Flaw(message: "Options stand before --try: --without-registrations --try")
        }
        action = .trial
        command = (parts.count == 2 ? [String(parts[1])] : []) + rest
        return
      case "--help", "-h": action = .help
      case "--version": action = .version
      default: throw Flaw(message: "There is no option \(argument). See --help.")
      }
    }
  }

  private static func port(_ text: String, of name: String) throws(Flaw) -> UInt16 {
    guard let port = UInt16(text) else {
      throw Flaw(message: "\(name) must be a number from 0 to 65535.")
    }
    return port
  }

  /// The text of `--help`.
  static var help: String {
    """
    Usage: einlass-sandbox [--without-registrations] --try [COMMAND ...]
           einlass-sandbox [--port N] [--control-port N] [--state FILE] [--config-file FILE]
                           [--home FOLDER] [--without-registrations]

    Simulates the providers of einlass on 127.0.0.1, for trials and tests.

    --try starts a shell, or a command, with a home folder of its own. There every provider is a
    simulated one, and git reaches it by its real name. Nothing of yours is read or written.

      einlass-sandbox --try
      einlassctl sign-in github
      git clone https://github.com/ada/hello.git

    Without --try it prints one line of JSON when it is ready: {"address", "addresses", "control",
    "config", "accounts"}. addresses lists the providers with an address of their own, config is a
    configuration for `einlass --config`, accounts are parameters for accounts.add. It runs until SIGTERM
    or SIGINT.

      --try [COMMAND ...]  the last option
      --without-registrations  leave the client ids out of the configuration; the simulated GitHub has a
                        form for them, as the real one has
      --port N          the port of the shared address (any free one)
      --control-port N  the port of the control address (any free one)
      --state FILE      start in the state of this file, in the form of GET /state, not in the demo state
      --config-file FILE  write the configuration to this new file, for its owner alone; an existing file is
                        not replaced
      --home FOLDER     the same for .config/einlass/config.json and .gitconfig in this folder
      --help, --version

    Control address:
      GET, PUT /state   the whole state; PATCH /state changes it by a JSON merge patch (RFC 7396)
      GET, DELETE /log  the requests to the providers, with the checks made: {"requests": [...]}
      POST /reset       return to the initial state, with an empty log and without the pushes

    People: each OAuth 2.0 provider has ada and grace with a verified address, and alan and emmy with
    one that is not verified. The provider's behaviour.user names the one at the browser. Another
    address, at Google for example: {"google": {"users": {"3001": {"email": "a@example.org",
    "emailVerified": false}}}} to PATCH /state.

    The state. Every member may be missing, others are refused; times are seconds since 1970. A fault
    applies to requests of its path and method (all by default): it skips the first `skip` requests
    and applies `remaining` times.

    \(StateShape.whole.outline())
    """
  }
}
