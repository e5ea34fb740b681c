internal import EinlassJSON
internal import EinlassSystem

/// Finding what a person means, and asking when it was left out.
extension Console {
  /// All accounts, or those of a provider.
  func accounts(of provider: String? = nil) throws(Failure) -> [Account] {
    let params: JSONObject = provider.map { ["provider": .string($0)] } ?? JSONObject()
    return try list("accounts.list", "accounts", params).compactMap(Account.init)
  }

  /// The account of this name; without a name, or where it is the name of several, the one that is chosen.
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
        throw .unusable(
          "There is no account \(name).", NextStep("See which there are:", "accounts", "list"))
      }
      if named.count == 1 { return first }
    }
    // Names that look the same are told apart by their ids.
    let names = named.prefix(20).map { account in
      named.count { sameBytes($0.title, account.title) } == 1 ? account.title : account.id
    }
    let index = try choice(
      "Which account?", Account.rows(named),
      orElse: name.map { "\($0) may be \(names.joined(separator: " or ")). Name one of them so." }
        ?? missing)
    return named[index]
  }

  /// The provider of this id; without one, the one that is chosen.
  func provider(_ id: String?) throws(Failure) -> String {
    if let id { return id }
    let all = try providerIDs()
    return all[
      try choice(
        "Which provider?", all.map(clean), orElse: "Name the provider: PROVIDER is missing.")]
  }

  /// Throws when there is no provider of this id: a name that is not known is not one without accounts.
  func requireProvider(_ id: String) throws(Failure) {
    guard try !providerIDs().contains(where: { sameBytes($0, id) }) else { return }
    throw .unusable(
      "There is no provider \(id).", NextStep("See which there are:", "providers", "list"))
  }

  /// Of all providers, in the catalogue's order.
  func providerIDs() throws(Failure) -> [String] {
    try list("providers.list", "providers").compactMap { $0["id"]?.string }
  }

  /// The index of the row that the person chooses.
  ///
  /// - Parameter complaint: what is said when nobody can be asked.
  func choice(
    _ question: String, _ rows: [String], orElse complaint: String
  ) throws(Failure) -> Int {
    guard let person, !rows.isEmpty else { throw .usage(complaint) }
    guard let choice = try person.choice(question, rows) else { throw .cancelled }
    return choice
  }

  /// What was given on the command line, else what the person types, which is never empty.
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

  /// The path that was given, or that the person types: there, no shell has put the home in the place of `~`.
  func path(_ question: String, given: String?, orElse complaint: String) throws(Failure) -> String
  {
    let path = try text(question, given: given, orElse: complaint)
    guard given == nil, path.hasPrefix("~/"), let home = Environment.value("HOME") else {
      return path
    }
    return home + path.dropFirst()
  }

  /// The path of a file that is to be made.
  func newFile(_ given: String?) throws(Failure) -> String {
    let path = try path("Where to?", given: given, orElse: "Name the new file: PATH is missing.")
    guard path.hasSuffix("/") || FileStatus.at(path)?.kind == .directory else { return path }
    throw .unusable("\(path) is a folder.", NextStep("Name a new file in it."))
  }

  /// Goes on only when the person agrees, on the terminal or by `--yes`.
  func confirm(_ question: String, isAgreed: Bool) throws(Failure) {
    guard !isAgreed else { return }
    guard let person else { throw .usage("\(question) Say so with --yes.") }
    guard try person.agrees(question) else { throw .cancelled }
  }
}
