internal import ArgumentParser
internal import EinlassHelpers
internal import EinlassJSON
internal import EinlassSystem
internal import Glibc

/// `einlassctl token`.
struct TokenCommand: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "token", abstract: "Print a fresh access token of an account.",
    discussion: """
      Prints the id of a session at a server of your own, or its cookies, in place of a token.

      A good token comes from the store, an old one is refreshed first. The application of --for \
      needs access to the provider's accounts: einlassctl access set NAME PROVIDER granted.

      Never opens a page and never asks without --sign-in. With it, einlassctl asks at the terminal, \
      if standard input and standard error are one, or else by the prompter of the configuration \
      file.

      EXAMPLES:
        einlassctl token github
        einlassctl token github/ada --scope repo --min-validity 5m
        einlassctl token https://gitlab.example.com/group/app.git
        einlassctl token https://api.github.com/user --curl | curl -sSf -K -
      """)

  @Argument(
    help:
      "provider/user name, an account's id, a provider with one usable account, or an address (https://…, imap.gmail.com).",
    completion: .accounts)
  var what: String

  @Option(
    name: .customLong("for"),
    help: "The application that uses the token (default: einlassctl).", completion: .applications)
  var application: String?

  @Option(name: .customLong("scope"), help: "The token must have this scope; may be repeated.")
  var scopes: [String] = []

  @Option(help: "The token must stay valid for this time: 90s, 5m or 1h (default: 60s).")
  var minValidity: Seconds?

  @Flag(help: "Refresh the token even if it is valid.")
  var refresh = false

  @Option(help: ArgumentHelp("The protected resource of the token.", valueName: "address"))
  var resource: String?

  @Flag(help: "Sign in first if needed, and ask for access.")
  var signIn = false

  @Flag(exclusivity: .exclusive)
  var form: Form?

  @Option(
    help: ArgumentHelp(
      "Print a lease of fnox instead: {\"credentials\": {NAME: token}, \"expires_at\": …}.",
      valueName: "name"))
  var lease: String?

  @OptionGroup var server: ServerOptions

  /// The forms of the output.
  enum Form: EnumerableFlag {
    case header, curl, idToken

    var inside: TokenQuestion.Form {
      switch self {
      case .header: .header
      case .curl: .curl
      case .idToken: .idToken
      }
    }

    static func help(for value: Form) -> ArgumentHelp? {
      switch value {
      case .header: "Print an HTTP header: Authorization: Bearer …"
      case .curl:
        "Print a configuration for curl -K -, so that no token stands in a command line: the token, and the url if an address is named."
      case .idToken: "Print the id_token (OpenID Connect) instead, refreshed before it ends."
      }
    }
  }

  func validate() throws {
    if server.json, form != nil || lease != nil {
      throw ValidationError("--json excludes --header, --curl, --id-token and --lease.")
    }
    if form != nil, lease != nil {
      throw ValidationError("--lease excludes --header, --curl and --id-token.")
    }
  }

  var actsAs: String? { application }
  var servesProgram: Bool { !Console.isForPerson }
  var asksPerson: Bool {
    signsIn && Terminal.isTerminal(STDIN_FILENO) && Terminal.isTerminal(STDERR_FILENO)
  }
  var signsIn: Bool { signIn && !server.noInput }

  func run(with console: Console) throws(Failure) {
    var needs = TokenNeeds()
    needs.scopes = scopes
    needs.resource = resource
    needs.minValidity = minValidity?.count
    needs.refreshes = refresh
    let inside = lease.map { TokenQuestion.Form.lease($0) } ?? form?.inside
    // The simulated providers are in the place of the real ones.
    let isMoved = form == .curl && what.hasPrefix("https://") && server.configurationInUse != nil
    let place = isMoved ? try ConfigurationFile(server).moved(what) : what
    do throws(Failure) {
      try TokenQuestion(place, needs, as: inside).run(with: console)
    } catch {
      let accounts = try console.accounts(offeredAfter: error, of: what)
      if accounts.count > 1, !server.noInput, Console.isForPerson,
        Terminal.isTerminal(STDIN_FILENO), let person = Person(console.einlass)
      {
        guard let index = try person.choice("Which account?", Account.rows(accounts)) else {
          throw error
        }
        return try TokenQuestion(accounts[index].id, needs, as: inside).run(with: console)
      }
      throw console.explained(error, about: what, accounts)
    }
  }
}

extension Console {
  /// Whether the output is shown to a person, and read by no program.
  static var isForPerson: Bool {
    Terminal.isTerminal(STDOUT_FILENO) && Terminal.isTerminal(STDERR_FILENO)
  }

  /// Returns the accounts of a provider if the person has to choose one of them; else none.
  fileprivate func accounts(
    offeredAfter failure: Failure, of provider: String
  ) throws(Failure) -> [Account] {
    guard case .refused(let refusal) = failure, refusal.reason == "interactionRequired",
      refusal.ownStep?.command.starts(with: ["accounts", "prefer"]) == true
    else { return [] }
    return try accounts(of: provider)
  }

  /// Returns the failure of a request for a token, with the names that the person may have meant.
  fileprivate func explained(
    _ failure: Failure, about name: String, _ accounts: [Account]
  ) -> Failure {
    guard case .refused(var refusal) = failure else { return failure }
    if refusal.reason == "unknownProvider" {
      refusal.message = "There is no provider \(name)."
    } else if accounts.count > 1 {
      let names = accounts.map { clean($0.name) }.prefix(20).joined(separator: ", ")
      refusal.message = "\(clean(name)) has \(accounts.count) accounts: \(names)."
      refusal.ownStep = NextStep("Name one of them:", "token", accounts[0].title)
    }
    return .refused(refusal)
  }
}

/// `einlassctl reject`.
struct RejectCommand: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "reject", abstract: "Report that a service refused a token (401).",
    discussion: """
      The next einlassctl token gets a new one. A token that cannot be renewed stays, unless its \
      provider refuses it too; programs do not get it for that address for five minutes. A new \
      sign-in ends that at once. Nothing is removed.

      EXAMPLE: einlassctl reject https://gitlab.example.com/group/app.git
      """)

  @Argument(
    help: "The same name or address as for einlassctl token.", completion: .accounts)
  var what: String

  @Option(
    name: .customLong("for"),
    help: "The application that used the token (default: einlassctl).", completion: .applications)
  var application: String?

  @OptionGroup var server: ServerOptions

  var actsAs: String? { application }
  var servesProgram: Bool { !Console.isForPerson }
  var asksPerson: Bool { false }

  func run(with console: Console) throws(Failure) {
    let result = try console.reject(console.target(what))
    try console.report(.object(result), [String]())
  }
}

/// A time on the command line: `90`, `90s`, `5m`, `1h`.
struct Seconds: ExpressibleByArgument {
  var count: Int64

  init?(argument: String) {
    let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600]
    let unit = argument.last.flatMap { units[$0] }
    let digits = unit == nil ? Substring(argument) : argument.dropLast()
    guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int64(digits),
      case (let count, let isTooLarge) = number.multipliedReportingOverflow(by: unit ?? 1),
      !isTooLarge, count <= 31_536_000
    else { return nil }
    self.count = count
  }
}
