internal import ArgumentParser
internal import EinlassHelpers
internal import EinlassJSON
internal import EinlassSystem
internal import Glibc

/// The parts of a sign-in on a terminal besides the sign-in itself: the registration before it, and
/// the setup of git after it. Each part is left out where it is done.
struct SignInGuide {
  private let console: Console
  private let person: Person
  private let server: ServerOptions

  /// `nil` without a terminal on both ends: a program may read the output.
  init?(_ console: Console, _ server: ServerOptions) {
    guard let person = console.person, !server.json, Terminal.isTerminal(STDIN_FILENO),
      Terminal.isTerminal(STDOUT_FILENO)
    else { return nil }
    (self.console, self.person, self.server) = (console, person, server)
  }

  /// Names the purpose of einlass before the first sign-in.
  func welcome() throws(Failure) {
    guard try console.accounts().isEmpty else { return }
    person.show(
      "einlass signs you in once, and gives git, curl, kubectl and other programs their tokens.")
  }

  /// Gets the registration that a sign-in at the provider needs, for a kind of flow or for all.
  func register(at id: String, for flowKind: String? = nil) throws(Failure) {
    let known = try console.list("providers.list", "providers")
    guard let provider = known.first(where: { sameBytes($0["id"]?.string ?? "", id) }) else {
      return
    }
    let name = clean(provider["name"]?.plain ?? id)
    let setup = provider["setup"]
    let count = (setup?["steps"]?.array?.count ?? 2) + 1
    let minutes = max(2, count / 2)
    person.show("\(name) signs you in only for a registered program. This is needed once.")
    let way = try console.choice(
      "How do you want to go on?",
      [
        "Register an application at \(name) (\(count) steps, about \(minutes) minutes)",
        "Enter a client id that an administrator gave you (1 minute)",
      ], orElse: "")
    if way == 0 {
      RegistrationSteps.show(setup, to: person)
      try offer(setup?["form"] ?? setup?["documentation"])
    }
    let flow = flowKind.map { ["--flow", $0] } ?? []
    guard let command = try? ProvidersConfigure.parse([id] + flow + server.repeated) else { return }
    _ = try command.store(at: id, console, showingSteps: false)
    person.show("Stored your registration at \(clean(id)).")
  }

  /// Opens a page if the person wants that.
  private func offer(_ page: JSONValue?) throws(Failure) {
    guard Browser.isNear, let page = page?.string,
      try person.agrees("Open that page in your browser?")
    else { return }
    if !Browser.open(page) { person.show("No browser opens it here.") }
  }

  /// Whether git uses the accounts of a provider.
  enum Git { case unused, wanted, used }

  /// Asks whether git shall use the account, unless it does so already.
  func git(at id: String) throws(Failure) -> Git {
    // git would start einlass without that option.
    guard server.store == nil, OtherProgram.path(of: "git") != nil,
      let provider = try console.list("providers.list", "providers").first(where: {
        sameBytes($0["id"]?.string ?? "", id)
      })
    else { return .unused }
    for address in GitSetup.addresses(of: provider) {
      let helpers = try GitSetup.values(of: "credential.\(address).helper")
      guard helpers.contains(where: { $0.contains("einlass") }) else {
        return try person.agrees("Use it for git (clone, fetch and push)?")
          ? .wanted : .unused
      }
    }
    return .used
  }

  /// Sets git up for the provider's hosts.
  func setUpGit(at id: String) throws(Failure) {
    guard let command = try? GitSetup.parse([id, "--yes"] + server.repeated) else { return }
    try command.run(with: console)
    person.show("To take that back: einlassctl setup git --undo")
  }

  /// Shows a line to try.
  func suggest(_ account: Account, forGit isForGit: Bool) throws(Failure) {
    if isForGit, try console.accounts(of: account.provider).count > 1 {
      let step = NextStep(
        "git has several accounts there now. Choose one:", "accounts", "prefer", account.title,
        "--for", "git")
      person.show(step.line(repeating: server.repeated))
    }
    let provider = try console.list("providers.list", "providers").first {
      sameBytes($0["id"]?.string ?? "", account.provider)
    }
    if isForGit, let address = provider.flatMap({ GitSetup.addresses(of: $0).first }) {
      person.show(
        "Try it: git clone \(quoted("\(address)/\(account.username)/REPOSITORY.git"))")
    } else if provider?["can"]?["verify"]?.bool == true {
      let step = NextStep("Try it:", "verify", account.title)
      person.show(step.line(repeating: server.repeated))
    }
  }
}

/// `einlassctl` without arguments.
enum FirstSignIn {
  /// Whether it is the first sign-in: on a terminal, with a store without accounts.
  static var isDue: Bool {
    guard Terminal.isTerminal(STDIN_FILENO), Terminal.isTerminal(STDOUT_FILENO),
      let options = try? ServerOptions.parse([]),
      let console = try? Console(options, asksPerson: false)
    else { return false }
    defer { console.end() }
    return (try? console.accounts().isEmpty) == true
  }
}
