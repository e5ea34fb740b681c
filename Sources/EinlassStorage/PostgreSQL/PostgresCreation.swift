internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// The creation of a store in PostgreSQL, in one transaction.
struct PostgresCreation {
  private let connection: PostgresConnection
  private let keys: KeySource

  init(_ connection: PostgresConnection, keys: KeySource) {
    self.connection = connection
    self.keys = keys
  }

  /// Makes the tables, unless an operator has made them, and the store with its key. Does nothing
  /// if another machine has made the store meanwhile.
  func run() throws(Problem) {
    // Machines that make the same store at once wait for each other, without an answer of the server.
    connection.wait = PostgresWait(
      until: AccountStore.Patience.usual.deadline, connection.wait.grace)
    let store = Hexadecimal.encode(SecureRandom.bytes(16))
    let directory = try FileProblem.store { () throws(FileError) in
      try SafeDirectory.create(keys.location.directory)
    }
    let (slot, keyFile) = try keys.create(store: store, storeDirectory: directory)
    do throws(Problem) {
      try fill(store, slot, keyFile)
    } catch {
      connection.rollBack()
      throw error
    }
  }

  /// Makes a store of the rows that `fill` inserts.
  func run<Result>(
    filledBy fill: (any Database) throws(Problem) -> Result
  ) throws(Problem) -> Result {
    do throws(Problem) {
      try connection.makeTables()
      guard try connection.first(Meta.selection, read: { _ in true }) == nil else {
        throw Problem.store(
          .refused, "There is a store at \(connection.path) already.", advice: .nameAnotherPlace,
          path: connection.path)
      }
      let result = try fill(connection)
      for table in ["account", "\"user\""] {
        try connection.run(
          """
          SELECT setval(pg_get_serial_sequence('\(table)', 'position'), max(position))
          FROM \(table) HAVING max(position) IS NOT NULL
          """)
      }
      try connection.commit(announcing: nil)
      return result
    } catch {
      connection.rollBack()
      throw error
    }
  }

  private func fill(
    _ store: String, _ slot: KeySource.NewSlot, _ keyFile: KeyFile?
  ) throws(Problem) {
    try connection.makeTables()
    try connection.run(
      """
      INSERT INTO meta (id, schema, store, revision, key_id, encryptions) VALUES (1, ?1, ?2, 0, ?3, 0)
      ON CONFLICT (id) DO NOTHING
      """, .integer(PostgresSchema.version), .text(store),
      .blob(SecureRandom.bytes(StoreKey.idCount)))
    guard connection.changes > 0 else { return connection.rollBack() }
    let root = SecureRandom.secret(AuthenticatedEncryption.keyCount)
    try connection.insert(
      KeySlot.wrap(
        root, id: 1, kind: slot.kind, parameters: slot.parameters, salt: slot.salt, store: store,
        with: slot.secret))
    // Before the commit, because a store without its key is of no use. A key file that is left by a
    // failed commit harms nobody.
    guard try keyFile?.write(slot.secret) ?? true else {
      throw .storeLocked(path: connection.path)
    }
    try connection.commit(announcing: 0)
  }
}

extension PostgresConnection {
  /// Returns whether the schema has the table `meta`. Throws `permissions` if there is a schema that
  /// the role may not use, because its tables look missing then.
  func hasStore() throws(Problem) -> Bool {
    let rows = try inCatalog(
      """
      SELECT has_schema_privilege(oid, 'USAGE'),
        EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = n.oid AND relname = 'meta')
      FROM pg_namespace AS n WHERE nspname = ?1
      """, [.text(address.schema)])
    guard let row = rows.first else { return false }
    guard row[0].number != 0 else {
      throw PostgresProblem.problem(
        "42501", "permission denied for schema \(address.schema)", address)
    }
    return row[1].number != 0
  }

  /// Brings a store of an older program to the newest version. The tables may be there already,
  /// because an operator has made them.
  func updateTables(_ triesLeft: Int) throws(Problem) {
    guard triesLeft > 0 else { throw PostgresProblem.olderTables(path) }
    do throws(Problem) {
      try makeTables()
      try requireNoLease(besidesSignIns: true)
      try run(script: PostgresSchema.newVersion)
      try commit(announcing: nil)
    } catch {
      rollBack()
      if error == .leaseIsHeld(path), wait.lockMilliseconds > 250 {
        BootTime.pause(milliseconds: 250)
        return try updateTables(triesLeft)
      }
      guard error.detail == Problem.StoreDetail.permissions.rawValue else { throw error }
      throw PostgresProblem.olderTables(path)
    }
  }

  /// Throws `locked` while a process holds the lease of an account. Until the end of the transaction
  /// none takes one.
  func requireNoLease(besidesSignIns: Bool = false) throws(Problem) {
    try run(script: "LOCK TABLE lease IN SHARE MODE")
    let others = besidesSignIns ? "AND name NOT LIKE '\(Lease.signInPrefix)%'" : ""
    let isHeld = try first(
      "SELECT 1 FROM lease WHERE until > clock_timestamp() \(others) LIMIT 1",
      read: { _ in true })
    if isHeld != nil { throw .leaseIsHeld(path) }
  }

  /// Begins a transaction, and makes the tables in it unless they are there.
  fileprivate func makeTables() throws(Problem) {
    let schema = address.schema
    // The lock keeps two machines from making the same tables at once. The statements after it must
    // see the tables that the other machine has made, whatever isolation the role has.
    try run(
      script: """
        \(Self.beginning); SELECT pg_advisory_xact_lock(hashtext('\(schema)'))
        """)
    let encoding = try first("SELECT current_setting('server_encoding')") {
      row throws(Problem) in try row.text(0)
    }
    guard ["UTF8", "SQL_ASCII"].contains(encoding) else {
      throw .store(
        .refused,
        "The database of the account store \(path) has the encoding \(encoding ?? "unknown"), which lacks letters of names.",
        advice: .createDatabase, command: "createdb --encoding=UTF8 --template=template0",
        path: path)
    }
    // Not by to_regnamespace, because a session may remember that there was no such schema.
    let found = try first(
      """
      SELECT EXISTS (SELECT 1 FROM pg_class AS c JOIN pg_attribute ON attrelid = c.oid
        WHERE relnamespace = n.oid AND relname = ?2 AND attname = ?3)
      FROM pg_namespace AS n WHERE nspname = ?1
      """, .text(schema), .text(PostgresSchema.newestColumn.table),
      .text(PostgresSchema.newestColumn.name)
    ) { row throws(Problem) in try row.integer(0) != 0 }
    // The right to make a schema is needed only without one.
    if found == nil { try run(script: "CREATE SCHEMA \"\(schema)\"") }
    try run(script: "SET LOCAL search_path TO \"\(schema)\"")
    if found != true { try run(script: PostgresSchema.tables) }
  }
}
