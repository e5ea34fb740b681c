internal import ArgumentParser
internal import EinlassHelpers

/// `einlassctl credential git`, the program `git-credential-einlass` (gitcredentials(7)).
struct GitCredential: CredentialProtocol {
  static let configuration = CommandConfiguration(
    commandName: "git", abstract: "git: git config --global credential.helper einlass",
    discussion: """
      Answers get with a token. erase, which git sends after a refused password, lets the next get \
      fetch a new token; nothing is removed. store does nothing, because einlass keeps the token.

      A user name in the remote's address selects the account: https://ada@github.com/ada/app.git
      """)

  @Argument(help: "The operation: get, store, erase or capability.")
  var operation: String

  @OptionGroup var helper: CredentialOptions
  @OptionGroup var server: ServerOptions

  var question: GitProtocol { GitProtocol(operation: operation) }
}
