internal import ArgumentParser
internal import EinlassJSON
internal import EinlassSystem

/// `einlassctl store`.
struct StoreCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "store", abstract: "The file that accounts and credentials are kept in.",
    subcommands: [
      StoreStatus.self, StoreCheck.self, StoreBackup.self, StoreRotateKey.self, StoreSlots.self,
    ], defaultSubcommand: StoreStatus.self)
}

/// `einlassctl store status`.
struct StoreStatus: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Show where it is, what protects it and how big it is.")

  @OptionGroup var server: ServerOptions

  func run(with console: Console) throws(Failure) {
    let status = try console.call("store.status")
    try console.report(.object(status), Self.known(status))
  }

  private static func known(_ status: JSONObject) -> [(name: String, value: String?)] {
    let exists = status["exists"]?.bool != false
    return [
      ("path", status["path"]?.plain ?? "in memory alone"),
      ("exists", exists ? nil : "no: the first change makes it"),
      ("key", status["protection"]?.plain), ("slots", status["slots"]?.plain),
      ("accounts", status["accounts"]?.plain), ("revision", status["revision"]?.plain),
      ("schema", status["schema"]?.plain),
      (
        "size",
        status["databaseBytes"]?.int64.map { byteCount($0 + (status["journalBytes"]?.int64 ?? 0)) }
      ),
      ("writable", status["readOnly"]?.bool.map { $0 ? "no" : "yes" }),
      ("key uses", status["keyUses"]?.plain),
      ("SQLite", status["sqlite"]?.string?.split(separator: " ").first.map { String($0) }),
    ]
  }
}

/// `einlassctl store check`.
struct StoreCheck: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "check", abstract: "Read everything in it and say what is unsound.",
    discussion: "Exit code 1 when something is.")

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
    if let locked = result["findings"]?.array?.first(where: {
      $0["kind"]?.string == "keyUnavailable"
    }) {
      let step = NextStep.opening(locked["message"]?.plain ?? "")
      complain("   next: \(step.line(repeating: server.repeated))")
    }
    throw .badNews
  }

  /// A missing key leaves the sealed values unread, but does not make them unsound.
  private static func word(_ finding: JSONValue) -> String {
    finding["kind"]?.string == "keyUnavailable" ? "not read" : "unsound"
  }
}

/// `einlassctl store backup`.
struct StoreBackup: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup", abstract: "Copy it while it is in use.",
    discussion: """
      The copy is sealed like the store, and what opens the key is not in it: keep the key file too, in another place.

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
        "What opens the key is not in it: keep that too, in another place.",
      ])
  }
}

/// `einlassctl store rotate-key`.
struct StoreRotateKey: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "rotate-key", abstract: "Seal everything anew under another key.",
    discussion: "All of it or nothing, however it ends; Ctrl-C is fine.")

  @OptionGroup var server: ServerOptions

  func run(with console: Console) throws(Failure) {
    let result = try console.call("store.rotateKey")
    let dropped = result["droppedSlots"]?.plain ?? ""
    try console.report(
      .object(result),
      [
        "Sealed \(counted(result["sealedValues"], "value")) under a new key, which "
          + "\(clean(result["slots"]?.plain ?? "")) opens."
      ] + (dropped.isEmpty ? [] : ["It is no longer opened by: \(clean(dropped))."]))
  }
}

/// Returns the absolute path, because einlass accepts no other.
func absolute(_ path: String) throws(Failure) -> String {
  if path.hasPrefix("/") { return path }
  guard let folder = Program.workingDirectory else {
    throw .unusable(
      "The folder that this was started in is gone.",
      NextStep("Name the whole path, or go to another folder."))
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
