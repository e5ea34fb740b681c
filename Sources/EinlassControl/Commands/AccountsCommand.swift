internal import ArgumentParser
internal import EinlassHelpers
internal import EinlassJSON

/// `einlassctl accounts`.
struct AccountsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "accounts", abstract: "The accounts in the store.",
    subcommands: [
      AccountsList.self, AccountsShow.self, AccountsAdd.self, AccountsRename.self,
      AccountsPrefer.self,
      AccountsExplain.self, AccountsRenew.self, AccountsSignOut.self, AccountsRemove.self,
      AccountsExport.self, AccountsImport.self,
    ], defaultSubcommand: AccountsList.self)
}

/// `einlassctl accounts list`.
struct AccountsList: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the accounts.",
    discussion: "EXAMPLE: einlassctl accounts list twitter")

  @Argument(help: "Only accounts of this provider.", completion: .providers)
  var provider: String?

  @Option(name: .customLong("provider"), help: .hidden)
  var sameProvider: String?

  @OptionGroup var server: ServerOptions

  func run(with console: Console) throws(Failure) {
    let provider = provider ?? sameProvider
    let accounts = try console.accounts(of: provider)
    if accounts.isEmpty, let provider { try console.requireProvider(provider) }
    try console.report(
      ["accounts": .array(accounts.map(\.json))],
      Account.table(accounts.sorted { $0.title < $1.title }),
      empty: "No accounts.\n   next: Sign in: einlassctl sign-in")
  }
}

/// `einlassctl accounts rename`.
struct AccountsRename: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "rename", abstract: "Change the display name of an account.",
    discussion: "EXAMPLE: einlassctl accounts rename ada 'Ada at work'")

  @Argument(help: "User name, provider/user name or id.", completion: .accounts)
  var account: String?

  @Argument(help: "The new name; an empty one removes it.")
  var name: String?

  @OptionGroup var server: ServerOptions

  func run(with console: Console) throws(Failure) {
    let account = try console.account(account)
    var params: JSONObject = ["account": .string(account.id)]
    let name = try console.text(
      "New name:", given: name, orElse: "Give the new name: NAME is missing.")
    params["displayName"] = .string(name)
    let result = try console.call("accounts.update", params)
    let shown = name.isEmpty ? clean(account.username) : clean(name)
    try console.report(
      .object(result),
      ["\(account.title) is now shown as \(shown)\(shown.hasSuffix(".") ? "" : ".")"])
  }
}

/// `einlassctl accounts remove`.
struct AccountsRemove: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "Remove an account and its credentials.",
    discussion: "EXAMPLE: einlassctl accounts remove twitter/ada --yes")

  @Argument(help: "User name, provider/user name or id.", completion: .accounts)
  var account: String?

  @Flag(help: "Do not ask for confirmation.")
  var yes = false

  @OptionGroup var server: ServerOptions

  func run(with console: Console) throws(Failure) {
    let account = try console.account(account)
    try console.confirm(
      "Remove \(account.title) and its credentials?", isAgreed: yes)
    let result = try console.leave(account, by: "accounts.remove", asking: !yes)
    try console.report(
      .object(result), ["Removed \(account.title)."] + console.revocation(result))
  }
}

extension Console {
  /// Signs out of the account or removes it. If no matching registration is configured for the
  /// revocation, nothing is forgotten unless the person agrees.
  func leave(
    _ account: Account, by method: String, asking mayAsk: Bool
  ) throws(Failure) -> JSONObject {
    let params: JSONObject = ["account": .string(account.id)]
    do throws(Failure) {
      var params = params
      params["requireRevocation"] = true
      return try call(method, params)
    } catch {
      guard case .refused(var refusal) = error, refusal.data["account"] != nil,
        ["authenticatorUnconfigured", "bindingMismatch"].contains(refusal.reason)
      else { throw error }
      guard mayAsk, let person else {
        refusal.ownStep = NextStep(
          method == "accounts.remove"
            ? "To remove it without revoking the credential, sign out first:"
            : "To sign out without revoking the credential:",
          "accounts", "sign-out", account.title, "--no-revoke")
        throw .refused(refusal)
      }
      person.show(clean(refusal.message))
      guard try person.agrees("Remove it here without revoking it at the provider?") else {
        throw .cancelled
      }
      return try call(method, params)
    }
  }

  /// Returns a line for each credential that was revoked or remains valid at the provider.
  func revocation(_ result: JSONObject) -> [String] {
    let revoked = (result["revoked"]?.array ?? []).map { "  revoked: \(clean($0.plain))" }
    let notRevoked = (result["notRevoked"]?.array ?? []).map { entry in
      "  \(tinted("not revoked", .warning)): \(clean(entry["what"]?.plain ?? "")). "
        + clean(entry["reason"]?.plain ?? "")
        + (entry["next"]?.array?.first.map {
          " \(NextStep($0).line(repeating: session.repeated))"
        } ?? "")
    }
    let next = (result["endSessionURL"]?.string).map { url in
      "  \(tinted("next:", .heading)) Your browser may still be signed in there. Open this page to sign it out: \(clean(url))"
    }
    return revoked + notRevoked + (next.map { [$0] } ?? [])
  }
}
