internal import Einlass
internal import EinlassSystem

/// Where a store lies and where its key file goes when the person names none.
struct StoreLocation: Sendable {
  /// Of the database, as given; made absolute when it is opened.
  var directory: String
  /// Of the database, in its directory.
  var name: String
  /// Where generated key files lie; never the store's own directory. `nil` when there is no home.
  var keyDirectory: String?

  /// Whether anything stands at the path of the database now.
  var exists: Bool { FileStatus.at("\(directory)/\(name)") != nil }
  /// The lock's file, beside the database.
  var lockName: String { base + ".lock" }
  /// The audit trail's file, beside the database.
  var auditName: String { base + ".audit.jsonl" }
  /// What was added to the catalogue, beside the database.
  var providersName: String { base + ".providers.json" }
  /// A new database until it is finished.
  var temporaryName: String { name + ".new" }
  /// What the database was before a migration from this schema.
  func backupName(schema: Int64, revision: Int64) -> String {
    "\(base).schema\(schema).revision\(revision).db"
  }

  /// The path, or by the XDG base directory specification: data in its data home, the key in its state home
  /// (the configuration home is what people commit to their dotfiles).
  init(
    path: String?, environment: (String) -> String? = Environment.value
  ) throws(Problem) {
    keyDirectory = Self.home("XDG_STATE_HOME", ".local/state", environment).map {
      $0 + "/einlass/keys"
    }
    if let path {
      (directory, name) = SafeDirectory.split(path)
      guard !["", ".", ".."].contains(name) else {
        throw .store(.refused, "--store \(path) names a directory. Name a file in it.", path: path)
      }
    } else {
      guard let home = Self.home("XDG_DATA_HOME", ".local/share", environment) else {
        throw .store(
          .refused,
          "HOME is not set, so there is no usual place for the account store. Set it, or use --store."
        )
      }
      (directory, name) = (home + "/einlass", "store.db")
    }
  }

  /// For tests: nothing of the environment counts.
  init(directory: String, name: String = "store.db", keyDirectory: String?) {
    self.directory = directory
    self.name = name
    self.keyDirectory = keyDirectory
  }

  private var base: String { name.hasSuffix(".db") ? String(name.dropLast(3)) : name }

  /// Relative paths are ignored, as the specification says.
  private static func home(
    _ variable: String, _ underHome: String, _ environment: (String) -> String?
  ) -> String? {
    if let path = environment(variable), path.hasPrefix("/") { return path }
    guard let home = environment("HOME"), home.hasPrefix("/") else { return nil }
    return "\(home)/\(underHome)"
  }
}
