internal import ArgumentParser
internal import EinlassHelpers
internal import EinlassJSON

/// `einlassctl accounts export`.
struct AccountsExport: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Write all accounts with their credentials to a file encrypted with a passphrase.",
    discussion: """
      The passphrase is asked for on the terminal, or read from --file-passphrase-fd. The file \
      contains the users with their passwords too, but no access decisions and no preferred \
      accounts.

      EXAMPLE: einlassctl accounts export ~/accounts.einlass
      """)

  @Argument(help: "A new file, in a folder that only you can write to.", completion: .file())
  var path: String?

  @Flag(help: "Overwrite an existing file.")
  var replace = false

  @Flag(help: "Take a passphrase of fewer than twelve characters too.")
  var weak = false

  @OptionGroup var server: ServerOptions

  func run(with console: Console) throws(Failure) {
    let path = try console.newFile(path)
    guard path != "-" else {
      throw .usage(
        "An export can't go to standard output. Name a path (./- for a file called -)."
      )
    }
    var params: JSONObject = ["path": .string(try absolute(path))]
    if replace { params["replace"] = true }
    if weak { params["weak"] = true }
    let result: JSONObject
    do throws(Failure) { result = try console.call("accounts.export", params) } catch {
      guard case .refused(var refusal) = error, refusal.data["path"]?.string == "/weak" else {
        throw error
      }
      refusal.ownStep = NextStep("Choose a longer passphrase, or take a weak one with --weak.")
      throw .refused(refusal)
    }
    let users = result["users"] == 0 ? "" : " and \(counted(result["users"], "user"))"
    let bytes = result["bytes"]?.int64.map { " (\(byteCount($0)))" } ?? ""
    try console.report(
      .object(result),
      [
        "Wrote \(counted(result["accounts"], "account"))\(users) to \(clean(path))\(bytes).",
        "Anyone with the file and the passphrase has them: remove the file after the import.",
      ])
  }
}

/// `einlassctl accounts import`.
struct AccountsImport: ServerCommand {
  static let configuration = CommandConfiguration(
    commandName: "import", abstract: "Add the accounts of a file written by export.",
    discussion: """
      Existing accounts and users are kept. Added providers and registrations of the other machine are added \
      where they are missing. Exit code 1 if an account could not be added.

      EXAMPLE: einlassctl accounts import ~/accounts.einlass
      """)

  @Argument(help: "The file.", completion: .file())
  var path: String?

  @Flag(help: "Overwrite existing accounts.")
  var replace = false

  @OptionGroup var server: ServerOptions

  func run(with console: Console) throws(Failure) {
    let path = try console.path(
      "Which file?", given: path, orElse: "Name the file: PATH is missing.")
    var params: JSONObject = ["path": .string(try absolute(path))]
    if replace { params["replace"] = true }
    let result = try console.call("accounts.import", params)
    let total = Self.words.reduce(Int64(0)) { $0 + (result[$1.name]?.int64 ?? 0) }
    let accounts = result["accounts"]?.array ?? []
    let rest = total - Int64(accounts.count)
    try console.report(
      .object(result),
      accounts.map { line($0, console) } + (rest > 0 ? ["and \(rest) more"] : [])
        + Self.besides(result, "providers", "the provider was added")
        + Self.besides(result, "registrations", "its registration was added")
        + [Self.summary(result)] + Self.users(result))
    guard result["refused"] == 0, result["usersRefused"] == 0 else { throw .badNews }
  }

  private static let words = [
    (name: "added", text: "added"), (name: "replaced", text: "replaced"),
    (name: "alreadyThere", text: "already there"), (name: "refused", text: "refused"),
  ]

  private func line(_ entry: JSONValue, _ console: Console) -> String {
    let title = "\(clean(entry["provider"]?.plain ?? ""))/\(clean(entry["username"]?.plain ?? ""))"
    let name = entry["result"]?.string ?? ""
    let word = Self.words.first { $0.name == name }?.text ?? clean(name)
    let isUnknown = entry["error"]?["data"]?["reason"]?.string == "unknownProvider"
    let why =
      isUnknown
      ? ". The provider is unknown. Add it with einlassctl providers add, then import again"
      : entry["error"].map { ". \($0.explanation(repeating: console.session.repeated))" } ?? ""
    let tint: Style.Tint = name == "refused" ? .bad : name == "alreadyThere" ? .warning : .good
    return "\(title): \(console.tinted(word, tint))\(why)"
  }

  /// Returns a line for each element of the list.
  private static func besides(_ result: JSONObject, _ member: String, _ what: String) -> [String] {
    (result[member]?.array ?? []).map { "\(clean($0.plain)): \(what)" }
  }

  private static func users(_ result: JSONObject) -> [String] {
    let (new, kept, refused) = (
      result["users"], result["usersAlreadyThere"], result["usersRefused"]
    )
    guard new != 0 || kept != 0 || refused != 0 else { return [] }
    let line = "\(counted(new, "user")) added, \(kept?.plain ?? "0") already there."
    guard let refused, refused != 0 else { return [line] }
    return [
      line, "\(counted(refused, "user")) cannot be read. Update einlass, then import again.",
    ]
  }

  private static func summary(_ result: JSONObject) -> String {
    words.map { "\(result[$0.name]?.plain ?? "0") \($0.text)" }.joined(separator: ", ") + "."
  }
}
