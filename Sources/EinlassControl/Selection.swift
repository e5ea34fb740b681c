internal import EinlassHelpers
internal import EinlassJSON
internal import EinlassSystem

/// Finds the account, provider or text that the command line names, and asks for the missing ones.
extension Console {
  /// Returns the account of this name. Asks the person if the name is missing or ambiguous.
  func account(_ name: String?) throws(Failure) -> Account {
    let missing = "Name the account: ACCOUNT is missing."
    guard name != nil || person != nil else { throw .usage(missing) }
    let all = try accounts()
    guard !all.isEmpty else {
      throw .unusable("There are no accounts yet.", NextStep("Add one:", "accounts", "add"))
    }
    let named = name.map { name in all.filter { $0.isNamed(name) } } ?? all
    if let name {
      guard let first = named.first else {
        let titles = all.map(\.title)
        let near = titles.filter { $0.hasPrefix("\(name)/") }
        let guess =
          near.isEmpty
          ? Self.guess(name, among: titles + all.map(\.username))
          : " It has: \(near.prefix(20).joined(separator: ", "))."
        throw .unusable(
          "There is no account \(name).\(guess)",
          NextStep("List the accounts:", "accounts", "list"))
      }
      if named.count == 1 { return first }
    }
    // Accounts with equal titles are listed by id.
    let names = named.prefix(20).map { account in
      named.count { sameBytes($0.title, account.title) } == 1 ? account.title : account.id
    }
    let index = try choice(
      "Which account?", Account.rows(named),
      orElse: name.map {
        "\($0) may be \(names.joined(separator: " or ")). Use one of these names."
      }
        ?? missing)
    return named[index]
  }

  /// Returns the given provider id, or asks for one: those with a registration first, then by their
  /// names.
  func provider(_ id: String?) throws(Failure) -> String {
    if let id { return id }
    let missing = "Name the provider: PROVIDER is missing."
    guard person != nil else { throw .usage(missing) }
    let all = try offeredProviders().sorted { $0.isBefore($1) }
    let table = Table(
      headings: ["", "", ""],
      rows: all.map { provider in
        [
          Table.Cell(provider["id"]?.plain), Table.Cell(provider["name"]?.plain),
          provider.hasRegistration ? "ready" : "",
        ]
      })
    return all[try choice("Which provider?", table.choices(), orElse: missing)]["id"]?.string ?? ""
  }

  /// Throws if there is no provider of this id. A misspelt id would otherwise look like a provider
  /// without accounts.
  func requireProvider(_ id: String) throws(Failure) {
    let known = try providerIDs()
    guard !known.contains(where: { sameBytes($0, id) }) else { return }
    throw .unusable(
      "There is no provider \(id).\(Self.guess(id, among: known))",
      NextStep("List the providers:", "providers", "list"))
  }

  /// Returns a question about a misspelt name, with a blank before it; empty without a near one.
  private static func guess(_ name: String, among names: [String]) -> String {
    let near = nearestNames(to: name, among: names)
    return near.isEmpty ? "" : " Did you mean \(near.joined(separator: " or "))?"
  }

  /// Returns the ids of all providers, in the catalogue's order.
  func providerIDs() throws(Failure) -> [String] {
    try list("providers.list", "providers").compactMap { $0["id"]?.string }
  }

  /// Returns the ids for menus and completions: those of the providers in service.
  func offeredProviderIDs() throws(Failure) -> [String] {
    try offeredProviders().compactMap { $0["id"]?.string }
  }

  private func offeredProviders() throws(Failure) -> [JSONValue] {
    try list("providers.list", "providers").filter { $0["retired"]?.bool != true }
  }

  /// Returns the index of the row that the person chooses.
  ///
  /// - Parameter complaint: the usage error without a terminal.
  func choice(
    _ question: String, _ rows: [String], orElse complaint: String
  ) throws(Failure) -> Int {
    guard let person, !rows.isEmpty else { throw .usage(complaint) }
    guard let choice = try person.choice(question, rows) else { throw .cancelled }
    return choice
  }

  /// Returns the given text, or asks until the person types one that is not empty.
  func text(
    _ question: String, given: String? = nil, isHidden: Bool = false, orElse complaint: String
  ) throws(Failure) -> String {
    if let given { return given }
    guard let person else { throw .usage(complaint) }
    while let text = try person.line(question, isHidden: isHidden) {
      if !text.isEmpty { return text }
    }
    throw .cancelled
  }

  /// Returns the given path, or asks for one. Expands `~/` in a typed path, because no shell has
  /// done that.
  func path(_ question: String, given: String?, orElse complaint: String) throws(Failure) -> String
  {
    let path = try text(question, given: given, orElse: complaint)
    guard given == nil, path.hasPrefix("~/"), let home = Environment.value("HOME") else {
      return path
    }
    return home + path.dropFirst()
  }

  /// Returns the first line of a descriptor. The noun stands in the complaint about an empty line.
  func line(of descriptor: Int32, _ noun: String) throws(Failure) -> String {
    guard let bytes = try einlass.contents(of: descriptor, limitBytes: 1 << 16),
      let text = String(validating: bytes, as: UTF8.self)
    else { throw .unusable("Descriptor \(descriptor) can't be read as text.") }
    let line = text.prefix { !$0.isNewline }
    guard !line.isEmpty else {
      throw .unusable(
        "The first line of descriptor \(descriptor) is empty. Write the \(noun) there.")
    }
    return String(line)
  }

  /// Returns the path of a new file. Throws if the path names a folder.
  func newFile(_ given: String?) throws(Failure) -> String {
    let path = try path(
      "Path of the new file?", given: given, orElse: "Name the new file: PATH is missing.")
    guard path.hasSuffix("/") || FileStatus.at(path)?.kind == .directory else { return path }
    throw .unusable("\(path) is a folder.", NextStep("Name a new file in it."))
  }

  /// Throws unless the person agrees, by `--yes` or on the terminal.
  func confirm(_ question: String, isAgreed: Bool) throws(Failure) {
    guard !isAgreed else { return }
    guard let person else { throw .usage("\(question) Confirm with --yes.") }
    guard try person.agrees(question) else { throw .cancelled }
  }
}

extension JSONValue {
  /// Whether a provider of `providers.list` has a registration that sign-ins can use.
  var hasRegistration: Bool {
    self["configured"]?.bool == true && self["problem"] == nil
      && self["setup"]?["needs"]?.array?.isEmpty == false
  }

  /// Whether a provider stands before another one in a list for people.
  fileprivate func isBefore(_ other: JSONValue) -> Bool {
    let (own, others) = (self["name"]?.plain ?? "", other["name"]?.plain ?? "")
    guard hasRegistration == other.hasRegistration else { return hasRegistration }
    return own.lowercased() < others.lowercased()
  }
}
