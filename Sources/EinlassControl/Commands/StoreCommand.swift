internal import ArgumentParser
internal import EinlassHelpers
internal import EinlassJSON
internal import EinlassSystem

/// `einlassctl store`.
struct StoreCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "store", abstract: "The file or database with the accounts and credentials.",
    subcommands: [
      StoreStatus.self, StoreCheck.self, StoreBackup.self, StoreMove.self, StoreRotateKey.self,
      StoreSlots.self, StoreUnlock.self, StoreLock.self,
    ], defaultSubcommand: StoreStatus.self)
}

/// `einlassctl store status`.
struct StoreStatus: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Show its path, protection and size.")

  @OptionGroup var server: ServerOptions

  func run(with console: Console) throws(Failure) {
    let status = try console.call("store.status")
    try console.report(.object(status), Self.known(status))
  }

  private static func known(_ status: JSONObject) -> [(name: String, value: String?)] {
    let exists = status["exists"]?.bool != false
    return [
      ("path", status["path"]?.plain ?? "only in memory"),
      ("exists", exists ? nil : "no: created at the first change"),
      ("key", status["protection"]?.plain), ("slots", status["slots"]?.plain),
      ("unlocked", status["unlockedUntil"]?.int64.map { "until \(timestamp($0))" }),
      ("accounts", status["accounts"]?.plain), ("revision", status["revision"]?.plain),
      ("schema", status["schema"]?.plain),
      (
        "size",
        status["databaseBytes"]?.int64.map { byteCount($0 + (status["journalBytes"]?.int64 ?? 0)) }
      ),
      ("writable", status["readOnly"]?.bool.map { $0 ? "no" : "yes" }),
      ("key uses", status["keyUses"]?.plain),
      ("server", (status["database"]?["version"]?.plain).map { "PostgreSQL \($0)" }),
      ("SQLite", status["sqlite"]?.string?.split(separator: " ").first.map { String($0) }),
    ]
  }
}

/// `einlassctl store check`.
struct StoreCheck: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "check", abstract: "Read everything in it and report damage.",
    discussion: "Exit code 1 if there is damage.")

  @OptionGroup var server: ServerOptions

  func run(with console: Console) throws(Failure) {
    let result = try console.call("store.check")
    let isSound = result["sound"]?.bool == true
    let findings = (result["findings"]?.array ?? []).map {
      "\(console.tinted(Self.word($0), .bad)): \(clean($0["message"]?.plain ?? $0.plain))"
    }
    let count = result["countFindings"]?.int64 ?? Int64(findings.count)
    let rest = count > Int64(findings.count) ? ["and \(count - Int64(findings.count)) more"] : []
    let looked =
      "\(counted(result["accounts"], "account")) and \(counted(result["sealedValues"], "sealed value")) read"
    try console.report(
      .object(result),
      isSound ? ["\(console.tinted("Sound", .good)): \(looked)."] : findings + rest)
    if isSound { return }
    let locked = result["findings"]?.array?.first { $0["kind"]?.string == "keyUnavailable" }
    for step in locked?["next"]?.array ?? [] {
      complain("   next: \(NextStep(step).line(repeating: server.repeated))")
    }
    throw .badNews
  }

  /// A missing key leaves the sealed values unread, but does not make them unsound.
  private static func word(_ finding: JSONValue) -> String {
    finding["kind"]?.string == "keyUnavailable" ? "not read" : "damaged"
  }
}

/// `einlassctl store backup`.
struct StoreBackup: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup", abstract: "Copy it while it is in use.",
    discussion: """
      The copy is sealed like the store and does not contain the key: keep the key file too, in another place.

      EXAMPLE: einlassctl store backup ~/backups/accounts.db
      """)

  @Argument(help: "A new file, in a folder that only you can write to.", completion: .file())
  var path: String?

  @OptionGroup var server: ServerOptions

  func run(with console: Console) throws(Failure) {
    let path = try console.newFile(path)
    let result = try console.call("store.backup", ["path": .string(try absolute(path))])
    let bytes = result["bytes"]?.int64.map { " (\(byteCount($0)))" } ?? ""
    try console.report(
      .object(result),
      [
        "Copied to \(clean(result["path"]?.plain ?? path))\(bytes).",
        "The copy does not contain the key: keep the key too, in another place.",
      ])
  }
}

/// `einlassctl store move`.
struct StoreMove: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "move", abstract: "Move it to another file or into a database.",
    discussion: """
      Everything is copied as it is, sealed, and compared; the key and its slots stay the same. The \
      old store gets another name, because the same tokens must not be used from two stores.

      EXAMPLE: einlassctl store move 'postgresql://db.example.com/signin'
      """)

  @Argument(
    help: ArgumentHelp(
      "The store (default: your own, or that of --store), then the new place.",
      valueName: "from> <to"))
  var places: [String] = []

  @OptionGroup var server: ServerOptions

  func validate() throws {
    guard (1...2).contains(places.count) else {
      throw ValidationError("Name the new place, or the store and the new place.")
    }
  }

  mutating func begins() throws(Failure) -> Bool {
    if places.count == 2 { server.store = try Self.place(places.removeFirst()) }
    return true
  }

  func run(with console: Console) throws(Failure) {
    let result = try console.call("store.move", ["to": .string(try Self.place(places[0]))])
    try console.report(
      .object(result),
      [
        "Moved \(counted(result["rows"], "row")) to \(clean(result["path"]?.plain ?? places[0])).",
        "The old store is kept as \(clean(result["former"]?.plain ?? "")). Delete it when the new one works.",
        "Name the new store as store in the configuration file, then start your editors again.",
      ])
  }

  private static func place(_ text: String) throws(Failure) -> String {
    if text.hasPrefix("postgresql://") || text.hasPrefix("postgres://") { return text }
    // Behind the folder's path, einlass would not notice an address of another form.
    let isPath = ["/", "./", "../"].contains { text.hasPrefix($0) }
    guard isPath || !text.contains(where: { ":=".contains($0) }) else {
      // The address may hold a password.
      throw .unusable(
        "The place is given by an address that is not a file's path.",
        NextStep(
          "Give postgresql://USER@HOST:PORT/DATABASE. A relative path with a colon or an equals sign begins with ./."
        ))
    }
    return try absolute(text)
  }
}

/// `einlassctl store rotate-key`.
struct StoreRotateKey: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "rotate-key", abstract: "Encrypt everything again with a new key.",
    discussion: "The rotation is complete or has no effect; Ctrl-C is safe.")

  @OptionGroup var server: ServerOptions

  func run(with console: Console) throws(Failure) {
    let result = try console.call("store.rotateKey")
    let dropped = result["droppedSlots"]?.plain ?? ""
    try console.report(
      .object(result),
      [
        "Sealed \(counted(result["sealedValues"], "value")) with a new key. "
          + "Its key slots: \(clean(result["slots"]?.plain ?? ""))."
      ] + (dropped.isEmpty ? [] : ["Removed key slots: \(clean(dropped))."]))
  }
}

/// Returns the absolute path, because einlass accepts no other.
func absolute(_ path: String) throws(Failure) -> String {
  if path.hasPrefix("/") { return path }
  guard let folder = Program.workingDirectory else {
    throw .unusable(
      "The current folder no longer exists.",
      NextStep("Name the absolute path, or change to another folder."))
  }
  return "\(folder)/\(path)"
}

/// Returns a size for people: `640 B`, `52 KiB`, `3 MiB`.
func byteCount(_ bytes: Int64) -> String {
  let units = ["B", "KiB", "MiB", "GiB"]
  var (count, unit) = (bytes, 0)
  while count >= 1 << 10, unit < units.count - 1 {
    count = (count + 512) >> 10
    unit += 1
  }
  return "\(count) \(units[unit])"
}
