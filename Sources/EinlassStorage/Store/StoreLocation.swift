internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// The paths of a store, its companion files and its default key file.
struct StoreLocation: Sendable {
  /// The database's directory as given. It is made absolute when it is opened.
  var directory: String
  /// The database's file name.
  var name: String
  /// The directory of generated key files, never the store's own. `nil` without a home directory.
  var keyDirectory: String?
  /// The address of a store in a database.
  private var shownPath: String?

  /// Whether the store is in a database that other machines reach.
  var isShared: Bool { shownPath != nil }
  /// The path of the database, or its address.
  var path: String { shownPath ?? "\(directory)/\(name)" }
  /// Whether there is a file, or anything else, at the database's path.
  var exists: Bool { FileStatus.at("\(directory)/\(name)") != nil }
  /// The file of the store's lock.
  var lockName: String { base + ".lock" }
  /// The file of the audit trail.
  var auditName: String { base + ".audit.jsonl" }
  /// The file of the user's additions to the provider catalogue.
  var providersName: String { base + ".providers.json" }
  /// The folder of the pictures of accounts.
  var avatarsName: String { base + ".avatars" }
  /// The name of a new database until it is complete.
  var temporaryName: String { name + ".new" }
  /// Returns the name of the backup before a migration from this schema.
  func backupName(schema: Int64, revision: Int64) -> String {
    "\(base).schema\(schema).revision\(revision).db"
  }

  /// Uses the path or, with `nil`, the XDG base directory specification: the store in the data
  /// home, keys in the state home. The configuration home is unsuitable, because people publish
  /// their dotfiles.
  init(
    path: String?, environment: (String) -> String? = Environment.value
  ) throws(Problem) {
    keyDirectory = Self.home("XDG_STATE_HOME", ".local/state", environment).map {
      $0 + "/einlass/keys"
    }
    if let path {
      guard !Self.resemblesAddress(path) else {
        // The address may hold a password.
        throw .store(
          .refused,
          "The account store is given by an address that is neither a file's path nor of the form postgresql://USER@HOST:PORT/DATABASE. A relative path with a colon or an equals sign begins with ./.",
          advice: .correctAddress
        )
      }
      (directory, name) = SafeDirectory.split(path)
      guard !["", ".", ".."].contains(name) else {
        throw .store(.refused, "--store \(path) names a directory.", advice: .nameFile, path: path)
      }
    } else {
      guard let home = Self.home("XDG_DATA_HOME", ".local/share", environment) else {
        throw .store(
          .refused,
          "\(Self.homeFault(environment)), so the account store has no default path.",
          advice: .setHomeOrStore
        )
      }
      (directory, name) = (home + "/einlass", "store.db")
    }
  }

  /// Uses a folder of the state home for the files that a machine keeps beside a store in a
  /// database: pictures, and audit lines that the database has not yet.
  init(
    beside address: PostgresAddress,
    environment: (String) -> String? = Environment.value
  ) throws(Problem) {
    guard let home = Self.home("XDG_STATE_HOME", ".local/state", environment) else {
      throw .store(
        .refused,
        "\(Self.homeFault(environment)), so there is no place for the files that einlass keeps beside the account store \(address.text).",
        advice: .setHomeAlone
      )
    }
    let digest = Hexadecimal.encode(Array(Digest.sha256(Array(address.text.utf8)).prefix(8)))
    keyDirectory = home + "/einlass/keys"
    (directory, name) = (home + "/einlass/postgresql/" + digest, "store")
    shownPath = address.text
  }

  /// Ignores the environment, for tests.
  init(directory: String, name: String = "store.db", keyDirectory: String?) {
    self.directory = directory
    self.name = name
    self.keyDirectory = keyDirectory
  }

  /// Whether the text is the address of a database in another form, such as `mysql://HOST/NAME` or
  /// `host=HOST dbname=NAME`. As a path it would begin an empty store.
  private static func resemblesAddress(_ path: String) -> Bool {
    if path.hasPrefix("/") { return false }
    let first = path.prefix { $0 != "/" }
    if first.count < path.count, first.hasSuffix(":") { return true }
    let words = path.split { $0 == " " || $0 == "=" }
    return path.contains("=")
      && words.first.map { PostgresAddress.parameters.contains(String($0)) } ?? false
  }

  private var base: String { name.hasSuffix(".db") ? String(name.dropLast(3)) : name }

  /// Returns the reason why `HOME` names no folder, as the beginning of a sentence.
  static func homeFault(_ environment: (String) -> String? = Environment.value) -> String {
    environment("HOME") == nil ? "HOME is not set" : "HOME is not an absolute path"
  }

  /// Ignores relative paths, as the specification requires.
  private static func home(
    _ variable: String, _ underHome: String, _ environment: (String) -> String?
  ) -> String? {
    if let path = environment(variable), path.hasPrefix("/") { return path }
    guard let home = environment("HOME"), home.hasPrefix("/") else { return nil }
    return "\(home)/\(underHome)"
  }
}
