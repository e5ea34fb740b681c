internal import ArgumentParser
internal import EinlassJSON

/// `einlassctl store slots`.
struct StoreSlots: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "slots", abstract: "What opens the store's key.",
    subcommands: [StoreSlotsList.self, StoreSlotsAdd.self, StoreSlotsRemove.self],
    defaultSubcommand: StoreSlotsList.self)
}

/// `einlassctl store slots list`.
struct StoreSlotsList: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List what opens the store's key.")

  @OptionGroup var server: ServerOptions

  func run(with console: Console) throws(Failure) {
    let slots = try console.call("store.status")["slots"]?.array ?? []
    try console.report(["slots": .array(slots)], slots.map { clean($0.plain) })
  }
}

/// `einlassctl store slots add`.
struct StoreSlotsAdd: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: "Let something more open the store's key.",
    discussion: """
      keyfile: a file that einlass makes; secretservice: the desktop's keyring; passphrase: what you type, or bring \
      with --passphrase-fd. It takes the place of one of the same kind.

      EXAMPLE: einlassctl store slots add passphrase
      """)

  private static let kinds = ["keyfile", "passphrase", "secretservice"]

  @Argument(help: "keyfile, passphrase or secretservice.", completion: .list(kinds))
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
        "Or let a passphrase open it:", "store", "slots", "add", "passphrase")
      throw .refused(refusal)
    }
    try console.report(
      .object(result), ["The store is opened by: \(clean(result["slots"]?.plain ?? ""))."])
  }
}

/// `einlassctl store slots remove`.
struct StoreSlotsRemove: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "Let something no longer open the store's key.",
    discussion: """
      Never the last one. A key file stays where it is; what the keyring keeps is forgotten there.

      EXAMPLE: einlassctl store slots remove keyfile --yes
      """)

  private static let kinds = ["keyfile", "passphrase", "secretservice", "fd"]

  @Argument(help: "keyfile, passphrase, secretservice or fd.", completion: .list(kinds))
  var kind: String?

  @Flag(help: "Do not ask whether that is meant.")
  var yes = false

  @OptionGroup var server: ServerOptions

  func validate() throws { try require(kind, "KIND", Self.kinds) }

  func run(with console: Console) throws(Failure) {
    let slots = try console.call("store.status")["slots"]?.array ?? []
    let kind = try console.slot(kind, of: slots.compactMap(\.string))
    try console.confirm(
      "Let \(clean(kind)) no longer open the store?", isAgreed: yes)
    let result = try console.call("store.removeKeySlot", ["kind": .string(kind)])
    try console.report(
      .object(result), ["The store is opened by: \(clean(result["slots"]?.plain ?? ""))."])
  }
}

extension Console {
  /// Returns the given kind of slot, or asks for one of these.
  fileprivate func slot(_ given: String?, of kinds: [String]) throws(Failure) -> String {
    if let given { return given }
    return kinds[
      try choice("Which way to open it?", kinds, orElse: "Name what opens it: KIND is missing.")]
  }
}
