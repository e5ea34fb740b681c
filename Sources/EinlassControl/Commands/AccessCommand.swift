internal import ArgumentParser
internal import EinlassHelpers
internal import EinlassJSON

/// `einlassctl access`.
struct AccessCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "access", abstract: "The access of applications to accounts.",
    subcommands: [AccessList.self, AccessSet.self, AccessReset.self],
    defaultSubcommand: AccessList.self)
}

/// `einlassctl access list`.
struct AccessList: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the access decisions.")

  @OptionGroup var server: ServerOptions

  func run(with console: Console) throws(Failure) {
    let grants = try console.list("access.list", "grants")
    try console.report(
      ["grants": .array(grants)], try Self.table(grants, console),
      empty: "No decisions yet: each application asks at its first sign-in.")
  }

  /// Returns the grants as a table, with the titles of their accounts.
  static func table(_ grants: [JSONValue], _ console: Console) throws(Failure) -> Table {
    let isLimited = grants.contains { $0["accounts"] != nil }
    let accounts = isLimited ? try console.accounts() : []
    return Table(
      headings: [
        "APPLICATION", "PROVIDER", "ACCESS", "ACCOUNTS", "PERMISSIONS", "AUDIENCE", "INCLUDES",
        "CHANGED",
      ],
      rows: grants.map { grant in
        let isGranted = grant["state"]?.string == "granted"
        let names = grant["accounts"]?.array?.map { id in
          accounts.first { sameBytes($0.id, id.string ?? "") }?.title ?? id.string ?? ""
        }
        return [
          Table.Cell(grant["application"]?.plain), Table.Cell(grant["provider"]?.plain),
          Table.Cell(grant["state"]?.plain, isGranted ? .good : .bad),
          Table.Cell(names?.joined(separator: ", ") ?? (isLimited ? "all" : nil)),
          Table.Cell(grant["permissions"]?.plain), Table.Cell(grant["audience"]?.plain),
          Table.Cell(grant["includes"]?.plain),
          Table.Cell(grant["changedAt"]?.int64.map(day)),
        ]
      })
  }
}

/// `einlassctl access set`.
struct AccessSet: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "set", abstract: "Decide for an application before it asks.",
    discussion: """
      EXAMPLES: einlassctl access set neovim twitter granted
                einlassctl access set neovim github granted --account ada
      """)

  /// A decision about an application.
  enum State: String, ExpressibleByArgument, CaseIterable {
    case granted, denied
  }

  /// The audience of an application's posts.
  enum Audience: String, ExpressibleByArgument, CaseIterable {
    case onlyMe, friends, everyone
  }

  @Argument(help: "The name that the application gives itself.", completion: .applications)
  var application: String?

  @Argument(help: "The provider of the accounts.", completion: .providers)
  var provider: String?

  @Argument(help: "The decision: granted or denied.")
  var state: State?

  @Option(
    name: .customLong("account"),
    help:
      "Decide about this account alone; may be repeated. All accounts of the provider without it.",
    completion: .accounts)
  var accounts: [String] = []

  @Option(name: .customLong("permission"), help: "Grant this permission; may be repeated.")
  var permissions: [String] = []

  @Option(help: "The audience of its posts: onlyMe, friends or everyone.")
  var audience: Audience?

  @Flag(help: "Hand out refresh tokens too.")
  var refreshToken = false

  @OptionGroup var server: ServerOptions

  func run(with console: Console) throws(Failure) {
    let application = try console.text(
      "Which application (the name it gives itself)?", given: application,
      orElse: "Name the application: APPLICATION is missing.")
    let provider = try console.provider(provider)
    let state = try decided(application, provider, console)
    var chosen: [Account] = []
    for name in accounts { chosen.append(try console.account(name)) }
    let params = JSONObject(present: [
      "provider": .string(provider), "application": .string(application),
      "state": .string(state.rawValue),
      "accounts": chosen.isEmpty ? nil : JSONValue(chosen.map(\.id)),
      "permissions": permissions.isEmpty ? nil : JSONValue(permissions),
      "audience": audience.map { .string($0.rawValue) },
      "includes": refreshToken ? ["refreshToken"] : nil,
    ])
    let result = try console.call("access.set", params)
    let verb = state == .granted ? "may use" : "may not use"
    let objects =
      chosen.isEmpty
      ? "\(clean(provider)) accounts" : chosen.map { clean($0.title) }.joined(separator: ", ")
    try console.report(.object(result), ["\(clean(application)) \(verb) \(objects)."])
  }

  private func decided(
    _ application: String, _ provider: String, _ console: Console
  ) throws(Failure) -> State {
    if let state { return state }
    return State.allCases[
      try console.choice(
        "May \(clean(application)) use \(clean(provider)) accounts?",
        ["Yes: granted", "No: denied"],
        orElse: "Name the decision, granted or denied: STATE is missing.")]
  }
}

/// `einlassctl access reset`.
struct AccessReset: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "reset", abstract: "Remove a decision, so that the application asks again.",
    discussion: "EXAMPLE: einlassctl access reset neovim twitter")

  @Argument(help: "The name that the application gives itself.", completion: .applications)
  var application: String?

  @Argument(help: "The provider of the accounts.", completion: .providers)
  var provider: String?

  @OptionGroup var server: ServerOptions

  func run(with console: Console) throws(Failure) {
    let (application, provider) = try decision(console)
    let wasDecided = try console.list("access.list", "grants").contains {
      sameBytes($0["application"]?.string ?? "", application)
        && sameBytes($0["provider"]?.string ?? "", provider)
    }
    let result = try console.call(
      "access.reset", ["provider": .string(provider), "application": .string(application)])
    try console.report(
      .object(result),
      [
        wasDecided
          ? "\(clean(application)) asks again before it uses \(clean(provider)) accounts."
          : "There was no decision about \(clean(application)) and \(clean(provider)) accounts: the application asks at its first sign-in."
      ])
  }

  /// Returns the named application and provider, or lets the person choose among the matching
  /// decisions.
  private func decision(_ console: Console) throws(Failure) -> (String, String) {
    if let application, let provider { return (application, provider) }
    let grants = try console.list("access.list", "grants").filter { grant in
      application.map { sameBytes($0, grant["application"]?.string ?? "") } ?? true
    }
    guard !grants.isEmpty else {
      throw .unusable(
        "There is no access decision to remove.",
        NextStep("List the access decisions:", "access", "list"))
    }
    let chosen = grants[
      try console.choice(
        "Which decision?", try AccessList.table(grants, console).choices(),
        orElse: "Name both: APPLICATION and PROVIDER are needed.")]
    return (chosen["application"]?.string ?? "", chosen["provider"]?.string ?? "")
  }
}
