internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// A store at a path or an address, with what is kept beside its rows.
struct StorePlace {
  let name: String
  let shared: any SharedStore
  let overlay: ProviderOverlay
  let audit: AuditLines
  let isDatabase: Bool

  /// Throws `refused` for a name that is neither an absolute path nor an address.
  init(_ name: String) throws(Problem) {
    self.name = name
    isDatabase = PostgresAddress.isAddress(name)
    if isDatabase {
      let store = try PostgresAccountStore(address: name)
      (shared, overlay) = (store.shared, store.providerOverlay)
      audit = store.auditLines(isAwaited: false)
      return
    }
    guard name.hasPrefix("/") else {
      throw Problem(
        .invalidParameter, "The new place must be an absolute path or a postgresql:// address.",
        path: "/to")
    }
    let location = try StoreLocation(path: name)
    shared = StoreFile(location: location, keys: KeySource(.usual, location: location))
    overlay = SQLiteAccountStore.providerOverlay(path: name)
    audit = SQLiteAccountStore.auditLines(path: name)
  }

  /// Moves everything to a place without a store, and takes the old store away when the new one is
  /// complete and compared. No row is opened, so this needs no key, and each key slot opens the new
  /// store too.
  ///
  /// The lock of the store is held meanwhile. Throws `refused` if a store is there already, and
  /// `locked` during a renewal or a sign-in that has its lease. The newest 16 MiB of the audit trail
  /// move too.
  func move(
    to other: StorePlace, _ progress: StoreMaintenance.Progress
  ) throws(Problem) -> StoreMaintenance.Moved {
    guard other.name != name else {
      throw .store(
        .refused, "The store is at \(name) already.", advice: .nameAnotherPlace, path: name)
    }
    // Read first, because they move away with the tables of a database.
    let providers = try overlay.read()
    let lines = try audit.newest()
    try shared.requireNoLease()
    var (isFilled, isCommitted) = (false, false)
    let count: Int?
    do throws(Problem) {
      count = try shared.moveAway { old throws(Problem) in
        let count = try other.shared.receive { new throws(Problem) in
          let count = try old.copyRows(to: new, progress)
          // Again, because a renewal may have begun during the copy.
          try shared.requireNoLease()
          if other.isDatabase { try new.insertAudit(lines) }
          isFilled = true
          return count
        }
        isCommitted = true
        if let providers { try other.overlay.change { _ in providers } }
        if !other.isDatabase { for line in lines { try other.audit.append(line, .usual) } }
        return count
      }
    } catch {
      let isLost = isFilled && error.detail == Problem.StoreDetail.unreachable.rawValue
      throw isCommitted || isLost ? unfinished(other, error) : error
    }
    guard let count else { throw shared.nothingThere }
    return StoreMaintenance.Moved(
      path: other.name, former: shared.movedName, countRows: count)
  }
}

extension StorePlace {
  /// The new store is there, or the answer to its COMMIT was lost. Nobody knows whether the old one
  /// still is.
  private func unfinished(_ other: StorePlace, _ problem: Problem) -> Problem {
    var problem = problem
    problem.message =
      "The end of the move from \(name) to \(other.name) failed, so it is unknown whether both stores are there: \(problem.message)"
    problem.advice = .finishMove
    return problem
  }
}

extension AuditLines {
  /// Returns the newest lines that a file keeps, oldest first.
  fileprivate func newest() throws(Problem) -> [[UInt8]] {
    var pages: [[Line]] = []
    var position: Position?
    var left = Int(AuditFile.limitBytes)
    while let page = try part(position, .usual), !page.lines.isEmpty {
      left -= page.lines.reduce(0) { $0 + $1.bytes.count + 1 }
      guard left >= 0 else { break }
      pages.append(page.lines)
      position = page.lines[0].position
      guard page.hasMore else { break }
    }
    return pages.reversed().flatMap { $0.map(\.bytes) }
  }
}

extension Database {
  fileprivate func insertAudit(_ lines: [[UInt8]]) throws(Problem) {
    for line in lines { try runByCommit("INSERT INTO audit (line) VALUES (?1)", [.blob(line)]) }
  }

  /// The tables that hold the store, each after those that its rows refer to.
  private var tables: [String] {
    [
      "keyslot", "account", "credential", "registration", "access_grant", "preference", "change",
      "login_refusal", "server_setting", "user", "user_identity", "user_password", "current_user",
      "pending_credential", "service_refusal",
    ]
  }

  /// Copies every row into a database with the same tables and no rows, and compares the two. Returns
  /// the number of rows.
  fileprivate func copyRows(
    to other: any Database, _ progress: StoreMaintenance.Progress
  ) throws(Problem) -> Int {
    let meta = try meta()
    try other.insertMeta(store: meta.store, keyID: meta.keyID)
    try other.run(
      "UPDATE meta SET revision = ?1, encryptions = ?2 WHERE id = 1", .integer(meta.revision),
      .integer(meta.encryptions))
    var count = 0
    for (index, table) in tables.enumerated() {
      try progress(index, tables.count)
      guard let known = Migrations.released.columns[table] else { continue }
      let columns = known.sorted().map { "\"\($0)\"" }
      let insertion = """
        INSERT INTO "\(table)" (\(columns.joined(separator: ", ")))
        VALUES (\((1...columns.count).map { "?\($0)" }.joined(separator: ", ")))
        """
      var copied = RowSum()
      try forEachRow(of: table, columns) { values throws(Problem) in
        try other.each(insertion, values) { _ in true }
        copied.add(values)
      }
      var found = RowSum()
      try other.forEachRow(of: table, columns) { values in found.add(values) }
      guard found == copied else {
        throw .damaged(other.path, "the copy of the table \(table) differs")
      }
      count += copied.count
    }
    try progress(tables.count, tables.count)
    return count
  }

  private func forEachRow(
    of table: String, _ columns: [String], _ body: ([SQLValue]) throws(Problem) -> Void
  ) throws(Problem) {
    try each("SELECT \(columns.joined(separator: ", ")) FROM \"\(table)\"", []) {
      row throws(Problem) in
      var values: [SQLValue] = []
      for column in columns.indices { values.append(try row.value(Int32(column))) }
      try body(values)
      return true
    }
  }
}

/// A sum over rows that does not depend on their order.
private struct RowSum: Equatable {
  var count = 0
  private var sum = [UInt8](repeating: 0, count: 32)

  mutating func add(_ values: [SQLValue]) {
    count += 1
    let digest = Digest.sha256(
      Canonical.bytes(
        values.map { value in
          switch value {
          case .null: [0]
          case .integer(let number): Array("1\(number)".utf8)
          case .text(let text): Array("2\(text)".utf8)
          case .blob(let bytes): [3] + bytes
          }
        }))
    for index in sum.indices { sum[index] &+= digest[index] }
  }
}
