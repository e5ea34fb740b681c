internal import ArgumentParser
internal import EinlassHelpers
internal import EinlassJSON

/// `einlassctl providers`.
struct ProvidersCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "providers", abstract: "The providers of accounts.",
    subcommands: [
      ProvidersList.self, ProvidersShow.self, ProvidersAdd.self, ProvidersRemove.self,
      ProvidersConfigure.self, ProvidersMetadata.self,
    ],
    defaultSubcommand: ProvidersList.self)
}

/// `einlassctl providers list`.
struct ProvidersList: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the providers and their abilities.")

  @OptionGroup var server: ServerOptions

  func run(with console: Console) throws(Failure) {
    let providers = try console.list("providers.list", "providers")
    let table = Table(
      headings: ["PROVIDER", "NAME", "CLIENT ID", "SIGN-IN BY", "CAN"],
      rows: providers.map { provider in
        [
          Table.Cell(provider["id"]?.plain), Table.Cell(provider["name"]?.plain),
          provider["problem"] != nil
            ? Table.Cell("unusable", .bad)
            : provider["retired"]?.bool == true
              ? Table.Cell("retired", .faint)
              : provider["configured"]?.bool == true
                ? Table.Cell("there", .good) : Table.Cell("missing", .faint),
          Table.Cell(provider["flowKinds"]?.plain), Table.Cell(Self.abilities(provider["can"])),
        ]
      })
    try console.report(["providers": .array(providers)], table, empty: "No providers.")
  }

  /// Returns the names of the provider's abilities.
  static func abilities(_ can: JSONValue?) -> String {
    (can?.object?.members ?? []).filter { $0.value.bool == true }.map(\.name)
      .joined(separator: ", ")
  }
}

/// `einlassctl providers show`.
struct ProvidersShow: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Show where and how to register an application at a provider.",
    discussion: "EXAMPLE: einlassctl providers show github")

  @Argument(help: "The provider.", completion: .providers)
  var provider: String?

  @OptionGroup var server: ServerOptions

  func run(with console: Console) throws(Failure) {
    let id = try console.provider(provider)
    let all = try console.list("providers.list", "providers")
    guard let provider = all.first(where: { sameBytes($0["id"]?.string ?? "", id) }) else {
      return try console.requireProvider(id)
    }
    let known: [(name: String, value: String?)] = [
      ("name", provider["name"]?.plain),
      ("service", provider["retired"]?.bool == true ? "has ended; see the notes" : nil),
      ("client id", provider["configured"]?.bool == true ? "there" : "missing"),
      ("own client", (provider["registeredFlows"]?.plain).map { "of \($0)" }),
      ("problem", provider["problem"]?.explanation(repeating: server.repeated)),
      ("sign-in by", provider["flowKinds"]?.plain),
      ("can", ProvidersList.abilities(provider["can"])),
      ("server", (provider["server"]?.plain).map { "\($0), or another one by --server" }),
      ("hosts", Self.hosts(provider["hosts"])),
      ("scope names", Self.scopeNames(provider["scopeNames"])),
    ]
    try console.report(provider, known + RegistrationSteps.members(of: provider["setup"]))
  }

  /// Returns the hosts. A provider at another address can have the same host for several services.
  private static func hosts(_ hosts: JSONValue?) -> String? {
    var names: [String] = []
    for name in hosts?.array?.compactMap({ $0["host"]?.string }) ?? []
    where !names.contains(where: { sameBytes($0, name) }) {
      names.append(name)
    }
    return names.isEmpty ? nil : names.joined(separator: ", ")
  }

  /// Returns the names with their scopes: `mail (https://mail.example.com/)`.
  private static func scopeNames(_ names: JSONValue?) -> String? {
    names?.object?.members.map { entry in
      let scopes = entry.value.strings?.isEmpty == true ? "the usual scopes" : entry.value.plain
      return "\(entry.name) (\(scopes))"
    }.joined(separator: ", ")
  }
}
