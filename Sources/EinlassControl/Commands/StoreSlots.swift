internal import ArgumentParser
internal import EinlassHelpers
internal import EinlassJSON

/// `einlassctl store slots`.
struct StoreSlots: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "slots", abstract: "The store's key slots.",
    subcommands: [StoreSlotsList.self, StoreSlotsAdd.self, StoreSlotsRemove.self],
    defaultSubcommand: StoreSlotsList.self)
}

/// `einlassctl store slots list`.
struct StoreSlotsList: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the store's key slots.")

  @OptionGroup var server: ServerOptions

  func run(with console: Console) throws(Failure) {
    let slots = try console.call("store.status")["slots"]?.array ?? []
    try console.report(["slots": .array(slots)], slots.map { clean($0.plain) })
  }
}

/// `einlassctl store slots add`.
struct StoreSlotsAdd: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: "Add a key slot.",
    discussion: """
      keyfile: a file that einlass creates; secretservice: the desktop's keyring; passphrase: one \
      that you type or pass with --passphrase-fd; command: a program named as keyCommand in the \
      configuration file, which prints the key. A slot of the same kind is replaced.

      EXAMPLE: einlassctl store slots add passphrase
      """)

  private static let kinds = ["keyfile", "passphrase", "secretservice", "command"]

  @Argument(
    help: "The kind of slot: keyfile, passphrase, secretservice or command.",
    completion: .list(kinds))
  var kind: String?

  @OptionGroup var server: ServerOptions

  func validate() throws { try require(kind, "KIND", Self.kinds) }

  func run(with console: Console) throws(Failure) {
    let kind = try console.slot(kind, of: Self.kinds)
    let result: JSONObject
    do throws(Failure) {
      result = try console.call("store.addKeySlot", ["kind": .string(kind)])
    } catch {
      // The keyring is unavailable, not the key of the store.
      guard kind == "secretservice", case .refused(var refusal) = error,
        refusal.data["detail"]?.string == "keyUnavailable"
      else { throw error }
      refusal.ownStep = NextStep(
        "Or add a passphrase slot:", "store", "slots", "add", "passphrase")
      throw .refused(refusal)
    }
    try console.report(
      .object(result), ["The store's key slots: \(clean(result["slots"]?.plain ?? ""))."])
  }
}

/// `einlassctl store slots remove`.
struct StoreSlotsRemove: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "Remove a key slot.",
    discussion: """
      The last slot can't be removed. A key file is kept; the keyring's secret is removed from the keyring.

      EXAMPLE: einlassctl store slots remove keyfile --yes
      """)

  private static let kinds = ["keyfile", "passphrase", "secretservice", "command", "fd"]

  @Argument(
    help: "The kind of slot: keyfile, passphrase, secretservice, command or fd.",
    completion: .list(kinds))
  var kind: String?

  @Flag(help: "Do not ask for confirmation.")
  var yes = false

  @OptionGroup var server: ServerOptions

  func validate() throws { try require(kind, "KIND", Self.kinds) }

  func run(with console: Console) throws(Failure) {
    let slots = try console.call("store.status")["slots"]?.array ?? []
    let kinds = slots.compactMap(\.string)
    let kind = try console.slot(kind, of: kinds)
    warn(kinds, without: kind)
    try console.confirm(
      "Remove the key slot \(clean(kind))?", isAgreed: yes)
    let result = try console.call("store.removeKeySlot", ["kind": .string(kind)])
    try console.report(
      .object(result), ["The store's key slots: \(clean(result["slots"]?.plain ?? ""))."])
  }

  /// Names the programs that will not open the store any more.
  private func warn(_ kinds: [String], without removed: String) {
    let left = kinds.filter { !sameBytes($0, removed) }
    guard Unattended.open(kinds), !Unattended.open(left), !left.isEmpty else { return }
    complain("   note: \(Unattended.names) will not open the store any more.")
    if left.contains("passphrase") {
      complain("   next: \(Unattended.step.line(repeating: server.repeated))")
    }
  }
}

extension Console {
  /// Returns the given kind of slot, or asks for one of these.
  fileprivate func slot(_ given: String?, of kinds: [String]) throws(Failure) -> String {
    if let given { return given }
    return kinds[
      try choice(
        "Which kind of key slot?", kinds, orElse: "Name the kind of the key slot: KIND is missing.")
    ]
  }
}
