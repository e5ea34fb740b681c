internal import ArgumentParser
internal import EinlassHelpers

/// `einlassctl credential`: answers other programs in their own credential protocols.
struct CredentialCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "credential", abstract: "Answer another program in its credential protocol.",
    discussion: """
      Each command is also a program of its own, by a symbolic link KIND-credential-einlass to \
      einlass. git, for example, runs git-credential-einlass after einlassctl setup git, or by \
      hand:

        git config --global credential.helper einlass
        einlassctl access set git github granted

      Nothing is printed but the answer. A failure is exit code 1 and one line on standard error.
      """,
    subcommands: [
      GitCredential.self, HeadersCredential.self, KubernetesCredential.self, CargoCredential.self,
      DockerCredential.self, BazelCredential.self,
    ])
}

/// A helper of another program. It acts under the name of that program.
protocol CredentialProtocol: ParsableCommand {
  associatedtype Question: ProgramProtocol
  /// The question on the command line.
  var question: Question { get }
  /// The options that all helpers share.
  var helper: CredentialOptions { get }
  /// The options common to all subcommands.
  var server: ServerOptions { get }
}

extension CredentialProtocol {
  func run() throws { try answer() }

  func answer() throws(Failure) {
    try question.answer(as: helper.application, by: server.choice, signsIn: helper.signIn)
  }
}

/// The options that all helpers share.
struct CredentialOptions: ParsableArguments {
  @Option(
    name: .customLong("for"), help: "Act under this name instead of the program's.",
    completion: .applications)
  var application: String?

  @Flag(help: "Sign in first if needed, by the prompter of the configuration file.")
  var signIn = false
}
