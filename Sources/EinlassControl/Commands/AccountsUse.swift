internal import ArgumentParser
internal import EinlassHelpers
internal import EinlassJSON
internal import EinlassSystem

/// `einlassctl accounts explain`.
struct AccountsExplain: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "explain", abstract: "Explain the choice of an account for an application.",
    discussion: "EXAMPLE: einlassctl accounts explain neovim twitter")

  @Argument(help: "The name that the application gives itself.", completion: .applications)
  var application: String?

  @Argument(help: "The provider of the accounts.", completion: .providers)
  var provider: String?

  @Flag(help: "Assume that the application asks for the account only if there are several.")
  var whenMany = false

  @OptionGroup var server: ServerOptions

  var actsAs: String? { application }

  func run(with console: Console) throws(Failure) {
    let asked = try console.text(
      "Which application (the name it gives itself)?", given: application,
      orElse: "Name the application: APPLICATION is missing.")
    let provider = try console.provider(provider)
    guard application == nil else { return try explain(asked, provider, console) }
    // `accounts.explain` answers for the application named in `initialize`.
    let speaker = try Console(server, actingAs: asked)
    defer { speaker.end() }
    try explain(asked, provider, speaker)
  }

  private func explain(
    _ application: String, _ provider: String, _ console: Console
  ) throws(Failure) {
    let result = try console.call(
      "accounts.explain",
      ["provider": .string(provider), "selection": whenMany ? "whenMany" : "always"])
    let id = result["account"]?.string ?? ""
    let accounts = try console.accounts(of: provider)
    let account = accounts.first { sameBytes($0.id, id) }
    let preferred = accounts.first { $0.json["preferred"]?.bool == true }
    let sentence = Self.sentence(
      result["rule"]?.plain ?? "", account?.title, preferred: preferred?.title)
    var lines = ["\(clean(application)): \(sentence)"]
    if let prompts = result["prompts"]?.array, !prompts.isEmpty {
      lines.append("  prompts before: \(clean(JSONValue.array(prompts).plain))")
    }
    if let error = result["error"] {
      let refusal = try console.refusal(error, at: provider, account)
      lines += Failure.refused(refusal).asked(by: application)
        .lines(repeating: server.repeated, console.style)
    }
    try console.report(.object(result), lines)
  }

  private static func sentence(
    _ rule: String, _ account: String?, preferred: String?
  ) -> String {
    let account = account ?? "an account"
    return switch rule {
    case "onlyAccount": "\(account), because it is the only account."
    case "preferred": "\(account), because it is preferred."
    case "account", "confirm": "\(account), because the request names it."
    case "person":
      "the person chooses the account"
        + (preferred.map { "; \($0), which is preferred, is shown first." } ?? ".")
    case "nothing": "none."
    default: "\(account) (\(clean(rule)))."
    }
  }
}

/// `einlassctl accounts prefer`.
struct AccountsPrefer: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "prefer",
    abstract:
      "Choose the preferred account of an application: its default, or the first one in a choice.",
    discussion: """
      With --in, the choice is for git and all programs that take a token in that folder or below \
      it. It stands in the configuration file.

      EXAMPLES:
        einlassctl accounts prefer ada --for neovim
        einlassctl accounts prefer github/work --in ~/work
      """)

  @Argument(help: "User name, provider/user name or id.", completion: .accounts)
  var account: String?

  @Option(
    name: .customLong("for"), help: "The name that the application gives itself.",
    completion: .applications)
  var application: String?

  @Option(
    name: .customLong("in"), help: ArgumentHelp("A folder.", valueName: "folder"),
    completion: .directory)
  var folder: String?

  @Flag(help: "Remove the preference for this account's provider.")
  var none = false

  @OptionGroup var server: ServerOptions

  func validate() throws {
    if folder != nil, application != nil {
      throw ValidationError("--in excludes --for: the choice for a folder serves all programs.")
    }
  }

  func run(with console: Console) throws(Failure) {
    let account = try console.account(account)
    if let folder { return try prefer(account, in: folder, console) }
    let application = try console.text(
      "For which application (the name it gives itself)?", given: application,
      orElse: "Name the application: --for is missing.")
    var params: JSONObject = [
      "provider": .string(account.provider), "application": .string(application),
    ]
    if !none { params["account"] = .string(account.id) }
    let result = try console.call("accounts.setPreferred", params)
    try console.report(.object(result), ["\(clean(application)) prefers \(choice(account))."])
  }

  private func prefer(_ account: Account, in name: String, _ console: Console) throws(Failure) {
    guard let folder = Program.resolved(name) else {
      throw .unusable("There is no folder \(name).")
    }
    let entry: JSONValue = [
      "folder": .string(folder), "provider": .string(account.provider),
      "account": .string(account.username),
    ]
    let path = try ConfigurationFile.edit(server) { file throws(Failure) in
      file.folders.removeAll {
        sameBytes($0["folder"]?.string ?? "", folder)
          && sameBytes($0["provider"]?.string ?? "", account.provider)
      }
      if !none { file.folders.append(entry) }
    }
    try console.report(
      none ? [:] : entry, ["\(clean(folder)) prefers \(choice(account)) (\(path))."])
  }

  private func choice(_ account: Account) -> String {
    none ? "none of the \(clean(account.provider)) accounts" : account.title
  }
}

/// `einlassctl accounts renew`.
struct AccountsRenew: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "renew", abstract: "Renew an application's credential of an account.",
    discussion: "EXAMPLE: einlassctl accounts renew ada --for neovim")

  @Argument(help: "User name, provider/user name or id.", completion: .accounts)
  var account: String?

  @Option(
    name: .customLong("for"), help: "The name that the application gives itself.",
    completion: .applications)
  var application: String?

  @OptionGroup var server: ServerOptions

  var actsAs: String? { application }

  func run(with console: Console) throws(Failure) {
    let account = try console.account(account)
    let result = try console.call("accounts.renew", ["account": .string(account.id)])
    let isRenewed = result["result"]?.string == "renewed"
    var lines = ["\(isRenewed ? "Renewed" : "Not renewed"): \(account.title)."]
    if let error = result["error"] {
      let refusal = try console.refusal(error, at: account.provider, account)
      lines += Failure.refused(refusal).asked(by: actsAs)
        .lines(repeating: server.repeated, console.style)
    }
    try console.report(.object(result), lines)
    if !isRenewed { throw .badNews }
  }
}

/// `einlassctl accounts sign-out`.
struct AccountsSignOut: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "sign-out", abstract: "Remove an account's credentials; the account stays.",
    discussion: "EXAMPLE: einlassctl accounts sign-out ada --yes")

  @Argument(help: "User name, provider/user name or id.", completion: .accounts)
  var account: String?

  @Flag(inversion: .prefixedNo, help: "Revoke the credentials at the provider too.")
  var revoke = true

  @Flag(help: "Do not ask for confirmation.")
  var yes = false

  @OptionGroup var server: ServerOptions

  func run(with console: Console) throws(Failure) {
    let account = try console.account(account)
    try console.confirm("Remove the credentials of \(account.title)?", isAgreed: yes)
    let result =
      revoke
      ? try console.leave(account, by: "accounts.signOut", asking: !yes)
      : try console.call(
        "accounts.signOut", ["account": .string(account.id), "revoke": false])
    try console.report(
      .object(result), ["Signed out \(account.title)."] + console.revocation(result))
  }
}
