internal import ArgumentParser
internal import EinlassHelpers
internal import EinlassSystem
internal import Glibc

/// The program `einlassctl`: manages accounts and access for people. It is a client of the protocol
/// like any other.
@main
struct EinlassControl: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "einlassctl",
    abstract: "Signs you in, and gives other programs the access tokens that they need.",
    discussion: """
      An account is named by its user name (ada), by provider and user name (twitter/ada), or by \
      its id. The commands ask for missing arguments on the terminal, if there is one.

      EXAMPLES:
        einlassctl sign-in                      register, sign in, set git up
        einlassctl providers configure github   store a client id
        einlassctl token github                 print a fresh access token
        einlassctl accounts add                 add a credential
        einlassctl accounts list
        einlassctl access reset                 let an application ask again
        einlassctl accounts list --json | jq .accounts

      einlassctl is itself an application, called einlassctl. Its client ids come from providers \
      configure, or from the configuration file (~/.config/einlass/config.json, or --config), which \
      only you may be able to read: \
      {"applications": {"einlassctl": {"github": {"clientId": "…"}}}}. Accounts are in \
      ~/.local/share/einlass (XDG_DATA_HOME), the key of their secrets in \
      ~/.local/state/einlass/keys (XDG_STATE_HOME).

      Results go to standard output, everything else to standard error. Exit code 0: done; 1: the \
      command failed, and the next step is shown; 2: verify says that the token is not valid; 64: \
      the command line is wrong; 70: einlass did not start or ended too early.
      NO_COLOR turns colours off. EINLASS names the einlass to use.
      source <(einlassctl --generate-completion-script bash) completes commands and names; there \
      is zsh and fish too.
      """,
    version: version,
    subcommands: [
      SignIn.self, TokenCommand.self, RejectCommand.self, VerifyCommand.self,
      CredentialCommand.self, ServicesCommand.self, Setup.self, AccountsCommand.self,
      AccessCommand.self, UsersCommand.self, ProvidersCommand.self, StoreCommand.self,
      AuditCommand.self, PrompterCommand.self, Doctor.self,
    ], helpNames: .long)

  static func main() {
    do throws(Hardening.Refusal) { try Hardening.begin(opensBrowsers: true) } catch {
      complain("einlassctl does not run set-uid, set-gid or dumpable.")
      Glibc.exit(Failure.internalCode)
    }
    guard let arguments = Program.arguments else {
      complain("problem: The system did not hand over the command line, or it is not UTF-8.")
      Glibc.exit(Failure.configurationCode)
    }
    var words = (UsualForm.words(ofHelper: arguments) ?? arguments.dropFirst()).readingSynonyms
    if words.isEmpty, FirstSignIn.isDue { words = ["sign-in"] }
    // A person may have to choose between two accounts.
    if UsualForm.question(words) != nil, words.first != "token" || !Console.isForPerson {
      if let einlass = ServerLocation.beside {
        Program.become(einlass, ["einlass", "helper"] + words)
      }
      // git calls store after each use of a token, and it does nothing.
      if words.last != "store" { Conversation.startEarly() }
    }
    if words == ["help", "options"] {
      try? TextOutput(STDOUT_FILENO).write(Doctor.helpMessage().generalOptions)
      Glibc.exit(0)
    }
    // Checked before parsing, because a default subcommand would take an unknown word as its
    // argument.
    if let unknown = (words.first == "help" ? words.dropFirst() : words).unknownCommand {
      complain(unknown)
      Glibc.exit(Failure.usageCode)
    }
    do {
      var command = try parseAsRoot(Array(words.readingHelp))
      try command.run()
    } catch let failure as Failure {
      Glibc.exit(failure.exitCode)
    } catch {
      if exitCode(for: error) == .validationFailure {
        if let hint = words.dashedHint { complain(hint) }
      }
      let code = exitCode(for: error)
      let message = fullMessage(for: error)
      guard !code.isSuccess else {
        let isScript = words.contains("--generate-completion-script")
        do throws(Failure) {
          try TextOutput(STDOUT_FILENO).write(
            (isScript ? message.offeringWholeNames : message.withoutGeneralOptions) + "\n")
          Glibc.exit(0)
        } catch { Glibc.exit(error.exitCode) }
      }
      // The message may quote an argument.
      for line in message.split(separator: "\n", omittingEmptySubsequences: false) {
        let isFirst = line.hasPrefix("Error: ")
        complain(
          clean(isFirst ? "problem: \(line.dropFirst(7))".withoutFarGuess : String(line)))
      }
      Glibc.exit(code.rawValue)
    }
  }
}
