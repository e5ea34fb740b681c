internal import ArgumentParser
internal import EinlassHelpers
internal import EinlassJSON
internal import EinlassSystem

/// `einlassctl services`.
struct ServicesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "services", abstract: "The accounts for addresses, in the configuration file.",
    discussion: """
      A service says which account's token an address takes. The hosts of a provider need no \
      service, unless another account is to be used there: einlassctl providers show NAME lists \
      them. The service with the longest path decides.
      """,
    subcommands: [ServicesList.self, ServicesAdd.self, ServicesRemove.self],
    defaultSubcommand: ServicesList.self)
}

/// `einlassctl services list`.
struct ServicesList: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List the services and the preferred accounts of folders.")

  @OptionGroup var server: ServerOptions

  func run() throws {
    try ConfigurationFile.reporting(server) { () throws(Failure) in
      let file = try ConfigurationFile(server)
      let (services, folders) = (file.services, file.folders)
      let lines =
        server.json
        ? [printable(["services": .array(services), "folders": .array(folders)])]
        : services.isEmpty && folders.isEmpty
          ? ["No services: \(file.path) has none."]
          : lines(services, ["address", "provider", "account", "username", "scopes"])
            + lines(folders, ["folder", "provider", "account"])
      try TextOutput(1).write(lines.map { $0 + "\n" }.joined())
    }
  }

  /// Returns the table of these members; nothing without rows.
  private func lines(_ elements: [JSONValue], _ names: [String]) -> [String] {
    guard !elements.isEmpty else { return [] }
    let headings = names.map {
      Table.Heading(stringLiteral: $0 == "username" ? "USER NAME" : $0.uppercased())
    }
    let rows = elements.map { element in names.map { Table.Cell(element[$0]?.plain) } }
    return Table(headings: headings, rows: rows).lines(width: nil, style: Style(for: 1))
  }
}

/// `einlassctl services add`. It edits the configuration file, which einlass never does, because a
/// front end that could change it could send tokens to its own host.
struct ServicesAdd: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: "Choose the account for an address.",
    discussion: """
      Replaces the service of the same address. A host that the provider does not name gets its \
      tokens only after a confirmation.

      EXAMPLES:
        einlassctl services add https://github.com/corp github/work
        einlassctl services add https://git.example.com gitlab --username oauth2
        einlassctl services add imap.example.com google/ada@example.com
        einlassctl services add https://dev.azure.com microsoft --username '*'
      """)

  @Argument(help: "An https address, or a host alone: imap.example.com.")
  var address: String

  @Argument(help: "A provider, or provider/user name.", completion: .accounts)
  var account: String

  @Option(help: "The user name to send with the token; '*' for a service that takes any.")
  var username: String?

  @Option(
    help: "bearer, or basic: the token is the password of the user name.",
    completion: .list(["bearer", "basic"]))
  var scheme: String?

  @Option(name: .customLong("scope"), help: "The token must have this scope; may be repeated.")
  var scopes: [String] = []

  @Flag(help: "Do not ask for confirmation.")
  var yes = false

  @OptionGroup var server: ServerOptions

  func validate() throws { try require(scheme, "--scheme", ["bearer", "basic"]) }

  func run(with console: Console) throws(Failure) {
    let parts = account.split(separator: "/", maxSplits: 1).map { String($0) }
    guard let provider = parts.first else { throw .usage("Name the provider.") }
    try console.requireProvider(provider)
    if try !isKnown(provider, console) {
      try console.confirm(
        "\(provider) does not name the host of \(address). Send tokens of \(provider) there?",
        isAgreed: yes)
    }
    let service = JSONObject(present: [
      "address": .string(address), "provider": .string(provider),
      "account": parts.count > 1 ? .string(parts[1]) : nil,
      "username": username.map { .string($0) }, "scheme": scheme.map { .string($0) },
      "scopes": scopes.isEmpty ? nil : JSONValue(scopes),
    ])
    let path = try ConfigurationFile.edit(server) { file throws(Failure) in
      file.services.removeAll { sameBytes($0["address"]?.string ?? "", address) }
      file.services.append(.object(service))
    }
    try console.report(
      .object(service), ["\(clean(address)) takes tokens of \(clean(account)) (\(path))."])
  }

  /// Whether the provider itself names the address, by a host or by an origin of its requests, or a
  /// service above it has the same provider, which was confirmed then.
  private func isKnown(_ provider: String, _ console: Console) throws(Failure) -> Bool {
    do throws(Failure) {
      let found = try console.call("services.resolve", ["address": .string(address)])
      return sameBytes(found["provider"]?.string ?? "", provider)
    } catch .refused(let refusal) where refusal.data["detail"]?.string == "notServed" {
      return false
    }
  }
}

/// `einlassctl services remove`.
struct ServicesRemove: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "Remove the service of an address.",
    discussion: "EXAMPLE: einlassctl services remove https://github.com/corp")

  @Argument(help: "The address, as einlassctl services list shows it.")
  var address: String

  @OptionGroup var server: ServerOptions

  func run() throws {
    try ConfigurationFile.reporting(server) { () throws(Failure) in
      _ = try ConfigurationFile.edit(server) { file throws(Failure) in
        let count = file.services.count
        file.services.removeAll { sameBytes($0["address"]?.string ?? "", address) }
        guard file.services.count < count else {
          throw .unusable(
            "There is no service \(address).", NextStep("List the services:", "services", "list"))
        }
      }
      try TextOutput(1).write(
        server.json ? "{}\n" : "\(clean(address)) is no longer a service.\n")
    }
  }
}
