internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// The audit trail of a store in PostgreSQL: the table `audit`.
///
/// A line first goes to a file on this machine, where it survives the process, so that no request
/// waits for the network. A thread moves it to the database. An awaited line goes to the database
/// alone.
extension AuditLines {
  private static let pageLines = 500

  static func inPostgres(
    _ shared: PostgresStore, spool location: StoreLocation, isAwaited: Bool
  ) -> AuditLines {
    let table = "\"\(shared.address.schema)\".audit"
    let spool = AuditSpool(AuditFile(location: location).lines, shared, table)
    return AuditLines(
      append: { line, patience throws(Problem) in
        guard isAwaited else { return try spool.append(line, patience) }
        guard patience != .none else { throw .storeLocked(path: shared.address.text) }
        _ = try shared.runMakingStore("INSERT INTO \(table) (line) VALUES (?1)", .blob(line))
      },
      isFree: { !isAwaited && spool.isFree },
      part: { position, patience throws(Problem) in
        guard patience != .none else { throw .storeLocked(path: shared.address.text) }
        let end = position.map { Int64($0) } ?? .max
        guard let end else { return nil }
        if position == nil { try spool.forward(by: patience.deadline) }
        let rows = try shared.runUnlessMissing(
          "SELECT number, line FROM \(table) WHERE number < ?1 ORDER BY number DESC LIMIT ?2",
          .integer(end), .integer(Int64(pageLines)), by: patience.deadline)
        let lines = rows.compactMap { row -> Line? in
          guard case .integer(let number) = row[0], case .blob(let bytes) = row[1] else {
            return nil
          }
          return Line(position: "\(number)", bytes: bytes)
        }
        return Part(lines: lines.reversed(), hasMore: rows.count == pageLines)
      },
      remove: { patience, shouldRemove throws(Problem) in
        try spool.forward(by: patience.deadline)
        return try shared.removeAuditLines(from: table, by: patience.deadline, shouldRemove)
      })
  }
}

extension PostgresStore {
  /// Runs one statement as `run` does; without a store it has no rows.
  fileprivate func runUnlessMissing(
    _ sql: String, _ values: SQLValue..., by deadline: Deadline
  ) throws(Problem) -> [[SQLValue]] {
    do throws(Problem) {
      return try alone(by: deadline) { connection throws(Problem) in
        try connection.alone(sql, values, by: deadline)
      }
    } catch  where error == .noDatabaseStore {
      return []
    }
  }

  fileprivate func removeAuditLines(
    from table: String, by deadline: Deadline, _ shouldRemove: ([UInt8]) -> Bool
  ) throws(Problem) -> Int {
    var (count, last) = (0, Int64.min)
    while true {
      let rows = try runUnlessMissing(
        "SELECT number, line FROM \(table) WHERE number > ?1 ORDER BY number LIMIT 500",
        .integer(last), by: deadline)
      guard let end = rows.last?[0].number else { return count }
      last = end
      for row in rows {
        guard case .integer(let number) = row[0], case .blob(let line) = row[1],
          shouldRemove(line)
        else { continue }
        _ = try run("DELETE FROM \(table) WHERE number = ?1", .integer(number), by: deadline)
        count += 1
      }
    }
  }
}

/// The lines that wait on this machine for the database.
private final class AuditSpool: Sendable {
  private let lines: AuditLines
  private let shared: PostgresStore
  private let table: String
  private let isRunning = Lock(false)
  private let forwarding = Lock(false)

  private static let retryMilliseconds: Int32 = 5_000
  /// The time in which lines gather for one statement.
  private static let gatherMilliseconds: Int32 = 200
  private static let linesOfStatement = 100

  init(_ lines: AuditLines, _ shared: PostgresStore, _ table: String) {
    self.lines = lines
    self.shared = shared
    self.table = table
  }

  var isFree: Bool { lines.isFree() }

  func append(_ line: [UInt8], _ patience: AccountStore.Patience) throws(Problem) {
    try lines.append(line, patience)
    let starts = isRunning.withLock { isRunning in
      defer { isRunning = true }
      return !isRunning
    }
    guard starts else { return }
    // Without a thread the next process forwards the line.
    try? WorkThread.start("einlass-audit") { [self] in runUntilEmpty() }
  }

  private func runUntilEmpty() {
    while true {
      BootTime.pause(milliseconds: Self.gatherMilliseconds)
      do throws(Problem) { try forward(by: Deadline(milliseconds: 10_000)) } catch {
        BootTime.pause(milliseconds: Self.retryMilliseconds)
        continue
      }
      // A line that is appended now starts the thread again.
      isRunning.withLock { $0 = false }
      return
    }
  }

  /// Moves all lines to the database. A crash between the two steps of a line leaves it in both
  /// places, and the second insertion of the same line is ignored.
  func forward(by deadline: Deadline) throws(Problem) {
    try forwarding.withLock { _ throws(Problem) in
      while true {
        guard let part = try lines.part(nil, .usual), !part.lines.isEmpty else { return }
        var counts: [[UInt8]: Int] = [:]
        for line in part.lines { counts[line.bytes, default: 0] += 1 }
        // A line that was cut by a crash is followed by an empty one.
        var left = part.lines.filter { !$0.bytes.isEmpty }[...]
        while !left.isEmpty {
          try insert(left.prefix(Self.linesOfStatement))
          left = left.dropFirst(Self.linesOfStatement)
        }
        _ = try lines.remove(.usual) { line in
          guard let count = counts[line], count > 0 else { return false }
          counts[line] = count - 1
          return true
        }
      }
    }
  }

  private func insert(_ lines: ArraySlice<AuditLines.Line>) throws(Problem) {
    let rows = lines.indices.map { index in
      let number = 2 * (index - lines.startIndex)
      return "(?\(number + 1), ?\(number + 2))"
    }
    _ = try shared.runMakingStore(
      """
      INSERT INTO \(table) (line, origin) VALUES \(rows.joined(separator: ", "))
      ON CONFLICT (origin) DO NOTHING
      """, values: lines.flatMap { [.blob($0.bytes), .blob(Self.origin(of: $0))] })
  }

  /// Returns a value that no other line has, of this machine or another.
  private static func origin(of line: AuditLines.Line) -> [UInt8] {
    Digest.sha256(Canonical.bytes([Array(line.position.utf8), line.bytes]))
  }
}
