internal import ArgumentParser
internal import EinlassHelpers
internal import EinlassJSON

/// `einlassctl audit`.
struct AuditCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "audit", abstract: "The audit trail: the credentials that applications received.",
    subcommands: [AuditList.self, AuditPrune.self], defaultSubcommand: AuditList.self)
}

/// A UTC day on the command line: `2026-11-21`.
struct Day: ExpressibleByArgument {
  var startsAt: Int64

  init?(argument: String) {
    guard let seconds = startOfDay(argument) else { return nil }
    startsAt = seconds
  }
}

/// `einlassctl audit list`.
struct AuditList: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the entries, the newest first.",
    discussion: "EXAMPLE: einlassctl audit list --application neovim --since 2026-11-01")

  @Option(help: "Only entries of this application.", completion: .applications)
  var application: String?

  @Option(help: "Only entries about this provider.", completion: .providers)
  var provider: String?

  @Option(
    help: "Only entries about this account; a removed account by its id.",
    completion: .accounts)
  var account: String?

  @Option(help: ArgumentHelp("Not before this day (UTC).", valueName: "yyyy-mm-dd"))
  var since: Day?

  @Option(help: ArgumentHelp("Before this day (UTC).", valueName: "yyyy-mm-dd"))
  var before: Day?

  @Option(help: "The largest number of entries.")
  var limit = 100

  @OptionGroup var server: ServerOptions

  func validate() throws {
    guard limit < 1 else { return }
    throw ValidationError("--limit needs a number from 1.")
  }

  func run(with console: Console) throws(Failure) {
    let accounts = try console.accounts()
    let id = try account.map { name throws(Failure) in
      // A removed account is named by its id, or by `provider/id` as this list shows it.
      let last = name.split(separator: "/").last.map { String($0) } ?? name
      return !accounts.contains { $0.isNamed(name) } && last.hasPrefix("a_")
        ? last : try console.account(name).id
    }
    let params = JSONObject(present: [
      "application": application.map(JSONValue.string), "provider": provider.map(JSONValue.string),
      "account": id.map(JSONValue.string), "since": since.map { JSONValue($0.startsAt) },
      "before": before.map { JSONValue($0.startsAt) },
    ])
    let entries = try console.list("audit.list", "entries", params, limit: limit)
    if entries.isEmpty, let provider { try console.requireProvider(provider) }
    try console.report(
      ["entries": .array(entries)], Self.table(entries, accounts),
      empty: "The audit trail has no matching entry.")
  }

  private static func table(_ entries: [JSONValue], _ accounts: [Account]) -> Table {
    Table(
      headings: [
        Table.Heading("WHEN (UTC)", isWhole: true), "APPLICATION", "DID", "ACCOUNT", "STARTED BY",
      ],
      rows: entries.map { entry in
        [
          Table.Cell(entry["at"]?.int64.map(minute)), Table.Cell(entry["application"]?.plain),
          Table.Cell(did(entry)), Table.Cell(account(of: entry, among: accounts)),
          Table.Cell(entry["parent"]?.plain.split(separator: "/").last.map { String($0) }),
        ]
      })
  }

  private static func did(_ entry: JSONValue) -> String {
    ["method", "credential", "includes", "subject", "state", "count"]
      .compactMap { entry[$0]?.plain }.joined(separator: " ")
  }

  /// Returns the account's title, or the id if the account has been removed.
  private static func account(of entry: JSONValue, among accounts: [Account]) -> String? {
    let provider = entry["provider"]?.plain
    guard let id = entry["account"]?.string else { return provider }
    return accounts.first { sameBytes($0.id, id) }?.title
      ?? provider.map { "\($0)/\(id)" } ?? id
  }
}

/// `einlassctl audit prune`.
struct AuditPrune: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "prune", abstract: "Remove the entries before a day.",
    discussion: "EXAMPLE: einlassctl audit prune 2026-01-01 --yes")

  @Argument(help: ArgumentHelp("Remove everything before this day (UTC).", valueName: "yyyy-mm-dd"))
  var before: Day?

  @Flag(help: "Do not ask for confirmation.")
  var yes = false

  @OptionGroup var server: ServerOptions

  func run(with console: Console) throws(Failure) {
    let before = try firstDayKept(console).startsAt
    try console.confirm("Remove everything before \(day(before))?", isAgreed: yes)
    let result = try console.call("audit.prune", ["before": JSONValue(before)])
    try console.report(
      .object(result), ["Removed \(counted(result["removed"], "entry", "entries"))."])
  }

  /// Returns the named day, or asks the person for one.
  private func firstDayKept(_ console: Console) throws(Failure) -> Day {
    if let before { return before }
    while true {
      let text = try console.text(
        "Remove everything before which day (UTC, yyyy-mm-dd)?",
        orElse: "Name the day: YYYY-MM-DD is missing.")
      if let day = Day(argument: text) { return day }
      console.person?.show("That is not a day of the calendar. Example: 2026-01-31.")
    }
  }
}
