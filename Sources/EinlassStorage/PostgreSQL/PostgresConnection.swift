internal import CPostgres
internal import Einlass
internal import EinlassSystem

/// A connection to the server, for the rows of one store.
///
/// Every statement runs in a transaction that names the store's schema itself, because a pooler may
/// give each transaction another session. No statement is prepared, for the same reason.
@safe final class PostgresConnection: Database {
  /// The kind of a transaction.
  enum Kind {
    /// One state of the database for several reads.
    case read
    /// Locks the row of `meta`, so that the writers of a store run one after the other.
    case write
  }

  let address: PostgresAddress
  private let connection: OpaquePointer
  /// The rows of statements without parameters, as far as the transaction knows them.
  private var known: [String: [[SQLValue]]] = [:]
  /// The number of the added providers at the beginning of a reading transaction; 0 without any.
  private(set) var overlayNumber: Int64 = 0
  private(set) var changes: Int64 = 0
  private(set) var countChanges: Int64 = 0
  /// The current request's wait.
  var wait: PostgresWait
  /// The revision of the store as this connection has last read it; `nil` before.
  private var lastRevision: Int64?
  /// Where a reading transaction keeps its results, and finds those of earlier ones.
  var keeping: KeptRows.Transaction?
  private(set) var isUsable = true
  /// Whether this connection has found a store whose tables run nothing of others.
  var isTrusted = false
  /// The script of the statements that go with the next message.
  private var queued = ""

  var path: String { address.text }

  /// Opens libpq. Throws `refused` without it.
  static func openLibrary() throws(Problem) {
    switch cpostgres_open() {
    case CPOSTGRES_READY: return
    case CPOSTGRES_TOO_OLD:
      throw .store(
        .refused, "The installed libpq is too old for the account store.", advice: .installLibpq
      )
    default:
      throw .store(
        .refused,
        "A store in PostgreSQL needs libpq, and libpq.so.5 is not installed.", advice: .installLibpq
      )
    }
  }

  /// Connects. Throws `refused`, `permissions` or `unreachable`.
  init(
    _ address: PostgresAddress, by deadline: Deadline, _ grace: GracePeriod
  ) throws(Problem) {
    self.address = address
    let keywords = try address.keywords(environment: Environment.value)
    let opened = unsafe Self.withTexts(keywords.map(\.0)) { names in
      unsafe Self.withTexts(keywords.map(\.1)) { values in
        unsafe cpostgres_connect(names, values)
      }
    }
    guard let connection = unsafe opened else { throw Problem(.internal, "Out of memory.") }
    unsafe self.connection = connection
    // After libpq's wait, because the connection serves requests with later deadlines too.
    wait = PostgresWait(until: deadline, grace)
    guard unsafe cpostgres_is_open(connection) != 0 else {
      throw unsafe Self.refusal(connection, address)
    }
    wait.grace.begin()
  }

  deinit { unsafe cpostgres_close(connection) }

  /// Returns the problem of a connection that was not made.
  ///
  /// libpq writes a line about each attempt. Of several hosts one that could not be reached may be
  /// the one that takes changes, so it decides. Of one host another of its addresses may be right.
  private static func refusal(
    _ connection: OpaquePointer, _ address: PostgresAddress
  ) -> Problem {
    let lines = unsafe String(cString: cpostgres_message(connection)).split(separator: "\n")
      .filter { line in !["\t", "DETAIL:", "HINT:"].contains { line.hasPrefix($0) } }
      .map { line in
        let kind = unsafe cpostgres_refusal(String(line))
        return (kind: kind, text: PostgresProblem.plain(String(line)))
      }
    let isOfOneHost = unsafe cpostgres_count_hosts(connection) < 2
    var order = [CPOSTGRES_NOT_ALLOWED, CPOSTGRES_NO_DATABASE, CPOSTGRES_READ_ONLY]
    if !isOfOneHost { order.insert(CPOSTGRES_UNREACHABLE, at: 0) }
    let deciding =
      order.lazy.compactMap { kind in lines.first { $0.kind == kind } }.first ?? lines.first
    let reason = isOfOneHost ? deciding?.text ?? "" : lines.map(\.text).joined(separator: "; ")
    return switch deciding?.kind {
    case CPOSTGRES_READ_ONLY: PostgresProblem.readOnly(address.text)
    case CPOSTGRES_NOT_ALLOWED: PostgresProblem.problem("28000", reason, address)
    case CPOSTGRES_NO_DATABASE: PostgresProblem.problem("3D000", reason, address)
    default:
      PostgresProblem.unreachable(address.text, reason.isEmpty ? "no answer in time" : reason)
    }
  }

  /// Calls `body` with a list of C strings that ends with a null pointer.
  private static func withTexts<Result>(
    _ texts: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result
  ) -> Result {
    let bytes = texts.flatMap { Array($0.utf8) + [0] }.map { CChar(bitPattern: $0) }
    return unsafe bytes.withUnsafeBufferPointer { buffer in
      var pointers: [UnsafePointer<CChar>?] = unsafe []
      var offset = 0
      for text in texts {
        unsafe pointers.append(buffer.baseAddress! + offset)
        offset += text.utf8.count + 1
      }
      unsafe pointers.append(nil)
      return unsafe pointers.withUnsafeBufferPointer { unsafe body($0.baseAddress!) }
    }
  }
}

extension PostgresConnection {
  var usesTLS: Bool { unsafe cpostgres_uses_tls(connection) != 0 }

  /// The process id that the other end has told at the beginning.
  var backendNumber: Int32 { unsafe cpostgres_backend_number(connection) }

  func indexed(by index: String) -> String { "" }

  func schema() throws(Problem) -> Int64 {
    try first("SELECT schema FROM meta WHERE id = 1") { row throws(Problem) in
      try row.integer(0)
    } ?? 0
  }

  func each(
    _ sql: String, _ values: [SQLValue], _ body: (any Row) throws(Problem) -> Bool
  ) throws(Problem) {
    let rows: [[SQLValue]]
    if let there = (values.isEmpty ? known[sql] : nil) ?? keeping?.rows(sql, values) {
      rows = there
    } else {
      rows = try self.rows(sql, values)
      keeping?.keep(sql, values, rows)
    }
    for row in rows { guard try body(PostgresRow(path: path, values: row)) else { return } }
  }

  func runByCommit(_ sql: String, _ values: [SQLValue]) throws(Problem) {
    queued += Self.script(sql, values) + "; "
    if queued.utf8.count > 1 << 16 { try run(script: "") }
  }

  /// Begins a transaction. Returns `nil`, without one, if there is no store.
  func begin(_ kind: Kind, triesLeft: Int = 3) throws(Problem) -> Meta? {
    let lockLimit = wait.lockMilliseconds
    // Each names its level, because a role may have another one.
    let sql = kind == .read ? Self.reading : Self.beginning
    // A writer that waited for the lock would see the other columns as they were before.
    let columns = kind == .read ? Meta.columnsOfReaders : "schema"
    // Each writer before this one begins the limit on locks again, so a limit on the statement ends
    // the whole wait. It must leave time for a statement that need not wait.
    let (limit, lock) =
      kind == .read
      ? ("", "")
      : (
        "SET LOCAL statement_timeout = \(max(250, lockLimit));",
        " FOR UPDATE; SET LOCAL statement_timeout TO DEFAULT"
      )
    // The limit on idle transactions frees the store from a writer that was stopped.
    let result = try answer(
      running: """
        \(sql); \(check)SET LOCAL search_path TO "\(address.schema)";
        SET LOCAL bytea_output = hex; SET LOCAL lock_timeout = \(max(1, lockLimit)); SET LOCAL idle_in_transaction_session_timeout = 10000;
        \(limit) SELECT \(Meta.columns), \(columns) FROM meta WHERE id = 1\(lock)
        """)
    try requireTrust(result)
    guard result.state != "42P01", result.state != "3F000" else {
      rollBack()
      isTrusted = false
      guard try hasStore() else { return nil }
      // Another machine may have just made the tables, and the session not know it yet.
      guard triesLeft > 0 else { throw .damaged(path, "a table is missing") }
      BootTime.pause(milliseconds: 100)
      return try begin(kind, triesLeft: triesLeft - 1)
    }
    if result.isLocked || kind == .write && result.isCancelled {
      rollBack()
      guard kind == .read || wait.lockMilliseconds > 0 else { throw PostgresProblem.locked(path) }
      // A change by another writer shows that the queue moves.
      if kind == .write, let revision = try? revision(), revision != lastRevision {
        lastRevision = revision
        return try begin(kind)
      }
      wait.grace.endByLock()
      throw PostgresProblem.locked(path)
    }
    do throws(Problem) {
      try result.requireSuccess(address)
      guard let row = result.rows.first else {
        // The tables are there, but no store was made in them yet.
        rollBack()
        return nil
      }
      guard try isNewest(row[4]) else {
        rollBack()
        try updateTables(triesLeft)
        return try begin(kind, triesLeft: triesLeft - 1)
      }
      isTrusted = true
      known[Meta.selection] = [Array(row[..<4])]
      if kind == .read {
        known[Self.lastChangeSelection] = [[row[5]]]
        overlayNumber = row[6].number ?? 0
      }
      let meta = try meta()
      lastRevision = meta.revision
      return meta
    } catch {
      rollBack()
      throw error
    }
  }

  /// Returns whether the tables have the newest version. Throws `tooNew` for a newer one.
  private func isNewest(_ version: SQLValue) throws(Problem) -> Bool {
    let newest = PostgresSchema.version
    guard case .integer(let found) = version, found <= newest else {
      throw tooNew(
        "schema \(version.number ?? 0), this einlass knows \(newest)",
        needs: PostgresSchema.neededBy)
    }
    return found == newest
  }

  /// The revision of the store, outside a transaction; 0 without a store.
  func revision() throws(Problem) -> Int64 {
    do throws(Problem) {
      let rows = try inTransaction("SELECT revision FROM \"\(address.schema)\".meta")
      return rows.first?.first?.number ?? 0
    } catch  where error == .noDatabaseStore {
      return 0
    }
  }

  /// Ends a reading transaction without waiting for the server. The COMMIT is a message of its own,
  /// because a transaction that stayed open until the next statement would keep a pooler's
  /// connection.
  func endReading() {
    end()
    send(script: "COMMIT")
  }

  /// Commits, and tells other machines the new revision. Throws `unreachable` if the answer is
  /// lost, and then the transaction may be committed or not.
  func commit(announcing revision: Int64?) throws(Problem) {
    end()
    let notice = revision.map { "SELECT pg_notify('\(address.schema)', '\($0)'); " } ?? ""
    let result = try answer(running: "\(notice)COMMIT")
    if result.state != nil { rollBack() }
    try result.requireSuccess(address)
    if let revision { lastRevision = revision }
  }

  /// Ends a transaction without its changes.
  func rollBack() {
    end()
    queued = ""
    guard isUsable else { return }
    if (try? answer(running: "ROLLBACK")) == nil { isUsable = false }
  }

  private func end() {
    known = [:]
    keeping = nil
  }

  /// The row of `meta` as it is in the transaction, if it is known.
  var metaRow: [SQLValue]? { known[Meta.selection]?.first }

  /// Keeps the rows that `begin` has read.
  func keepKnown() {
    for (sql, rows) in known { keeping?.keep(sql, [], rows) }
  }

  /// Sends statements without waiting for their end. A failure remains unnoticed.
  func send(script: String) {
    if unsafe cpostgres_send(connection, script, wait.millisecondsLeft) == 0 { isUsable = false }
  }

  /// Whether the server has not closed the connection.
  var isAlive: Bool { isUsable && waitForInput(milliseconds: 0) }

  /// Waits for a message of the server. Returns `false` if the connection is lost.
  func waitForInput(milliseconds: Int32) -> Bool {
    unsafe cpostgres_wait(connection, milliseconds) >= 0
  }

  /// Returns the content of the next notification that has arrived.
  func nextNotification() -> String? {
    guard let text = unsafe cpostgres_notification(connection) else { return nil }
    defer { unsafe cpostgres_free(text) }
    return unsafe String(cString: text)
  }

  /// Runs statements without parameters in one message.
  func run(script: String) throws(Problem) {
    try answer(running: script).requireSuccess(address)
  }

  /// An expression that ends the transaction of a statement without a wait for a standby. Such a
  /// wait has no end on the server without a standby, and keeps one of its connections.
  static let withoutStandby = "set_config('synchronous_commit', 'local', true)"

  static let beginning = "BEGIN ISOLATION LEVEL READ COMMITTED; \(catalogAlone)"

  private static let reading =
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; \(catalogAlone)"

  /// An operator or a function of another schema on the path could take the place of one of the
  /// catalogue, because its arguments may fit better.
  private static let catalogAlone = "SET LOCAL search_path TO pg_catalog"

  /// Runs statements in one message and one transaction. Each sees what was committed before it, and
  /// waits for a lock for one second at most, because other requests need the connection. Returns
  /// the rows of the last one with rows.
  func inTransaction(_ sql: String, _ values: [SQLValue] = []) throws(Problem) -> [[SQLValue]] {
    try transaction(check + Self.script(sql, values))
  }

  /// Runs a statement about the catalogue, which touches no table of the store.
  func inCatalog(_ sql: String, _ values: [SQLValue] = []) throws(Problem) -> [[SQLValue]] {
    try transaction(Self.script(sql, values))
  }

  private func transaction(_ script: String) throws(Problem) -> [[SQLValue]] {
    let lockLimit = min(1_000, max(1, wait.lockMilliseconds))
    let result = try answer(
      running: """
        \(Self.beginning); SET LOCAL bytea_output = hex; SET LOCAL lock_timeout = \(lockLimit);
        \(script); COMMIT
        """)
    if result.state != nil { rollBack() }
    if result.isLocked { wait.grace.endByLock() }
    try requireTrust(result)
    try result.requireSuccess(address)
    return result.rows
  }

  /// Runs one statement. Outside a transaction it must name its schema.
  func rows(_ sql: String, _ values: [SQLValue]) throws(Problem) -> [[SQLValue]] {
    // A message with parameters has one statement.
    if !queued.isEmpty { try run(script: "") }
    var types: [UInt32] = []
    var lengths: [Int32] = []
    var bytes: [UInt8] = []
    for value in values {
      let (type, content) = value.binary
      types.append(type)
      lengths.append(content.map { Int32(clamping: $0.count) } ?? -1)
      bytes += content ?? []
    }
    let text = Self.numbered(sql)
    let result = try unsafe answer(
      cpostgres_query(
        connection, text, Int32(values.count), types, bytes, lengths, wait.millisecondsLeft))
    try result.requireSuccess(address)
    changes = result.countChanges
    countChanges += result.countChanges
    if sql.hasPrefix("UPDATE meta") || sql.hasPrefix("DELETE FROM meta") {
      known[Meta.selection] = result.rows.isEmpty ? nil : result.rows
    }
    return result.rows
  }

  private func answer(running sql: String) throws(Problem) -> PostgresAnswer {
    let script = queued + sql
    queued = ""
    return try unsafe answer(cpostgres_run(connection, script, wait.millisecondsLeft))
  }

  private func answer(_ result: OpaquePointer?) throws(Problem) -> PostgresAnswer {
    guard isUsable, let result = unsafe result else {
      isUsable = false
      wait.grace.endBySilence()
      let reason = unsafe PostgresProblem.plain(String(cString: cpostgres_message(connection)))
      throw PostgresProblem.unreachable(path, reason.isEmpty ? "no answer in time" : reason)
    }
    wait.grace.begin()
    return unsafe PostgresAnswer(result)
  }
}
