public import Einlass
public import EinlassSystem

/// The account store in a PostgreSQL database that any number of machines share.
///
/// Start with `PostgresStore.swift` for reading and writing, `PostgresSchema.swift` for the tables,
/// and `PostgresLeases.swift` for the one refresh at a time.
public final class PostgresAccountStore: Sendable {
  let shared: PostgresStore
  private let keys: KeySource

  /// Returns whether a store option names a database server and not a file.
  public static func isAddress(_ text: String) -> Bool { PostgresAddress.isAddress(text) }

  /// Connects on first use. The arguments after the address are those of `SQLiteAccountStore.open`.
  ///
  /// Throws `accountStoreFailure` for an address with a wrong name of the store, and without a home
  /// directory.
  public init(
    address: String, keyFile: String? = nil, keyDescriptor: Int32? = nil,
    passphraseDescriptor: Int32? = nil, filePassphraseDescriptor: Int32? = nil,
    keyCommand: [String] = []
  ) throws(Problem) {
    let address = try PostgresAddress(address)
    keys = KeySource(
      .init(keyFile: keyFile, keyDescriptor: keyDescriptor),
      passphraseDescriptor: passphraseDescriptor,
      filePassphraseDescriptor: filePassphraseDescriptor,
      command: keyCommand.isEmpty ? nil : KeyCommand(words: keyCommand),
      location: try StoreLocation(beside: address))
    shared = PostgresStore(address, keys: keys)
  }

  /// Returns the statements that make the tables of the store at an address. Throws
  /// `accountStoreFailure` for an address with a wrong name of the store.
  public static func schema(of address: String) throws(Problem) -> String {
    PostgresSchema.script(try PostgresAddress(address).schema)
  }

  /// The closures of the store.
  public var accountStore: AccountStore {
    let leases = AccountLeases(postgres: shared)
    let location = keys.location
    return AccountStore(
      shared, keys: keys, lease: { id throws(Problem) in try await leases.lease(id) },
      requireWritable: {}, maintenance: .ofPostgres(shared, keys: keys),
      begunRenewals: .inPostgres(shared), failedSignIns: .inPostgres(shared),
      avatars: .beside(location), isRemote: true)
  }

  /// The descriptors that a person has added, in the database.
  public var providerOverlay: ProviderOverlay { .inPostgres(shared) }

  /// The audit trail. Without `isAwaited` a line survives the process when `append` returns,
  /// and reaches the database soon; with it, the line is in the database.
  public func auditLines(isAwaited: Bool) -> AuditLines {
    .inPostgres(shared, spool: keys.location, isAwaited: isAwaited)
  }

  /// Starts a thread that listens for changes by other machines. Throws if the system refuses it.
  public func listen() throws(SystemError) -> StoreListener { try StoreListener(shared) }
}

extension KeySource.Choice {
  init(keyFile: String?, keyDescriptor: Int32?) {
    if let keyDescriptor {
      self = .descriptor(keyDescriptor)
    } else {
      self = keyFile.map { .file($0) } ?? .usual
    }
  }
}

extension StoreMaintenance {
  /// Maintenance of a store in PostgreSQL. A copy is the work of the operator's own tools.
  fileprivate static func ofPostgres(
    _ shared: PostgresStore, keys: KeySource
  ) -> StoreMaintenance {
    .ofDatabase(
      shared, keys: keys,
      status: { patience throws(Problem) in
        guard patience != .none else { throw .storeLocked(path: shared.address.text) }
        let found = try shared.read(patience) { store throws(Problem) in try store.status() }
        var status = found ?? Status(path: shared.address.text, protection: keys.kind.rawValue)
        try shared.alone(by: patience.deadline) { connection throws(Problem) in
          status.database = try connection.facts()
          status.databaseBytes = try connection.countBytes()
        }
        return status
      },
      backup: { _, _ throws(Problem) in
        throw .store(
          .refused,
          "The account store \(shared.address.text) is in a database.", advice: .copyDatabase,
          command: "pg_dump --schema=\(shared.address.schema)", path: shared.address.text)
      })
  }
}
