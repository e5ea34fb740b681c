internal import ArgumentParser
internal import EinlassHelpers
internal import EinlassJSON

/// `einlassctl accounts show`.
struct AccountsShow: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Show an account with the scopes of its token.",
    discussion: """
      For each use, git or mail, "lacks" has the scopes that the token is known to lack. \
      einlassctl sign-in --account ACCOUNT --scope NAME adds them.

      EXAMPLE: einlassctl accounts show github/ada
      """)

  /// The scope names of uses. Without the scopes of another name, such as `rotating`, a token works.
  private static let uses = ["git", "mail"]

  @Argument(help: "User name, provider/user name or id.", completion: .accounts)
  var account: String?

  @OptionGroup var server: ServerOptions

  func run(with console: Console) throws(Failure) {
    let account = try console.account(account)
    let provider = try console.list("providers.list", "providers").first {
      sameBytes($0["id"]?.string ?? "", account.provider)
    }
    let lacks = (provider?["scopeNames"]?.object?.members ?? []).compactMap { entry -> String? in
      guard Self.uses.contains(entry.name) else { return nil }
      let scopes = account.lacking(entry.value.strings ?? [], at: provider)
      return scopes.isEmpty ? nil : "for \(entry.name): \(scopes.joined(separator: ", "))"
    }
    let known: [(name: String, value: String?)] = [
      ("account", account.title),
      ("name", account.json["displayName"]?.string),
      ("e-mail", account.json["email"]?.string),
      ("state", account.state.text),
      ("scopes", account.scopes.isEmpty ? "not known" : account.scopes.joined(separator: ", ")),
      ("lacks", lacks.isEmpty ? nil : lacks.joined(separator: "; ")),
      ("resources", account.json["resources"]?.strings?.joined(separator: ", ")),
      ("sign-in ends", account.json["refreshExpiresAt"]?.int64.map(timestamp)),
      ("added", account.json["addedAt"]?.int64.map(timestamp)),
      ("id", account.id),
    ]
    try console.report(account.json, known)
  }
}
