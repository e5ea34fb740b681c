internal import ArgumentParser
internal import EinlassJSON

/// `einlassctl providers`.
struct ProvidersCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "providers", abstract: "Who can be signed in to.",
    subcommands: [ProvidersList.self, ProvidersAdd.self, ProvidersRemove.self],
    defaultSubcommand: ProvidersList.self)
}

/// `einlassctl providers list`.
struct ProvidersList: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the providers and what each of them can do.")

  @OptionGroup var server: ServerOptions

  func run(with console: Console) throws(Failure) {
    let providers = try console.list("providers.list", "providers")
    let table = Table(
      headings: ["PROVIDER", "NAME", "CLIENT ID", "SIGN-IN BY", "CAN", "SET UP AT"],
      rows: providers.map { provider in
        [
          Table.Cell(provider["id"]?.plain), Table.Cell(provider["name"]?.plain),
          provider["configured"]?.bool == true
            ? Table.Cell("there", .good) : Table.Cell("missing", .faint),
          Table.Cell(provider["flowKinds"]?.plain), Table.Cell(Self.abilities(provider["can"])),
          Table.Cell(provider["setup"]?["documentation"]?.plain),
        ]
      })
    try console.report(["providers": .array(providers)], table, empty: "No providers.")
  }

  private static func abilities(_ can: JSONValue?) -> String {
    (can?.object?.members ?? []).filter { $0.value.bool == true }.map(\.name)
      .joined(separator: ", ")
  }
}
