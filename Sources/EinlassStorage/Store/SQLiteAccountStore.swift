public import Einlass
internal import EinlassSystem

/// The account store in an SQLite file that any number of processes share.
///
/// Start with `Migrations.swift` for the schema, `StoreFile.swift` for sharing, and `Sealing.swift`
/// for secrets.
public enum SQLiteAccountStore {
  /// Returns the store at this path or, with `nil`, at the default path of the XDG base directory
  /// specification.
  ///
  /// Never fails. The file is opened on first use and created by the first change, and every
  /// closure throws the problem that it meets. Descriptors are inherited from the parent process
  /// and read when the key is first needed. `keyCommand` has the absolute path of a program that
  /// prints the key, and its arguments. When the last copy of the store is released, the
  /// journal is moved into the file, so that the next start is quick.
  public static func open(
    path: String? = nil, keyFile: String? = nil, keyDescriptor: Int32? = nil,
    passphraseDescriptor: Int32? = nil, filePassphraseDescriptor: Int32? = nil,
    keyCommand: [String] = []
  ) -> AccountStore {
    do throws(Problem) {
      let location = try StoreLocation(path: path)
      return store(
        location: location,
        keys: KeySource(
          .init(keyFile: keyFile, keyDescriptor: keyDescriptor),
          passphraseDescriptor: passphraseDescriptor,
          filePassphraseDescriptor: filePassphraseDescriptor,
          command: keyCommand.isEmpty ? nil : KeyCommand(words: keyCommand), location: location))
    } catch {
      return AccountStore(failing: error)
    }
  }

  /// Returns the path of the file that every change by any process writes to. It is beside the
  /// store at this path or the default store. Returns `nil` if no store path can be determined.
  public static func changeSign(path: String? = nil) -> String? {
    guard let location = try? StoreLocation(path: path) else { return nil }
    return "\(location.directory)/\(location.lockName)"
  }

  /// The version and source id of the SQLite library in use.
  public static var sqliteVersion: String { SQLiteConnection.sqliteVersion }

  static func store(location: StoreLocation, keys: KeySource) -> AccountStore {
    store(in: StoreFile(location: location, keys: keys), keys: keys)
  }

  static func store(in file: StoreFile, keys: KeySource) -> AccountStore {
    let leases = AccountLeases(beside: file.location)
    return AccountStore(
      file, keys: keys,
      lease: { id throws(Problem) in
        // A token obtained from a provider could not be stored.
        try file.requireWritable()
        return try await leases.lease(id)
      },
      requireWritable: { () throws(Problem) in try file.requireWritable() },
      maintenance: .ofFile(file, keys: keys), begunRenewals: .beside(file.location),
      failedSignIns: .beside(file.location), avatars: .beside(file.location))
  }
}
