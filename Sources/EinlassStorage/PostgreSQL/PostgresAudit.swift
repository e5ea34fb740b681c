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
    let spool = AuditSpool(location, shared, table)
    return AuditLines(
      append: { line, patience throws(Problem) in
        guard isAwaited else { return try spool.append(line, patience) }
        guard patience != .none else { throw .storeLocked(path: shared.address.text) }
        try shared.makingStore(by: patience.deadline) { connection throws(Problem) in
          _ = try connection.inTransaction("INSERT INTO \(table) (line) VALUES (?1)", [.blob(line)])
        }
      },
      isFree: { !isAwaited && spool.isFree },
      part: { position, patience throws(Problem) in
        guard patience != .none else { throw .storeLocked(path: shared.address.text) }
        let end = position.map { Int64($0) } ?? .max
        guard let end else { return nil }
        if position == nil { try spool.forward(by: patience.deadline) }
        let rows = try shared.run(
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
        return try shared.removeAuditLines(from: table, shouldRemove)
      },
      finish: { spool.finish() }, sendingProblem: { spool.problem.withLock { $0 } })
  }
}

extension PostgresStore {
  fileprivate func removeAuditLines(
    from table: String, _ shouldRemove: ([UInt8]) -> Bool
  ) throws(Problem) -> Int {
    var (count, last) = (0, Int64.min)
    while true {
      let rows = try run(
        "SELECT number, line FROM \(table) WHERE number > ?1 ORDER BY number LIMIT 500",
        .integer(last), by: Deadline(milliseconds: 10_000))
      guard let end = rows.last?[0].number else { return count }
      last = end
      let numbers = rows.compactMap { row -> String? in
        guard case .integer(let number) = row[0], case .blob(let line) = row[1],
          shouldRemove(line)
        else { return nil }
        return "\(number)"
      }
      guard !numbers.isEmpty else { continue }
      _ = try run(
        "DELETE FROM \(table) WHERE number IN (\(numbers.joined(separator: ", ")))",
        by: Deadline(milliseconds: 10_000))
      count += numbers.count
    }
  }
}

/// The lines that wait on this machine for the database: the file of an audit trail. It is renamed
/// before its lines are sent, and removed when they are in the database. The random new name and
/// the offset of a line identify the line, so that a line that is sent twice is stored once.
private final class AuditSpool: Sendable {
  private let location: StoreLocation
  private let file: AuditFile
  private let shared: PostgresStore
  private let table: String
  /// The problem of the last attempt to send lines.
  let problem = Lock<Problem?>(nil)
  private let isWaiting = Lock(false)
  private let forwarding = Lock(false)

  private static let retryMilliseconds: Int32 = 5_000
  /// The time in which lines gather for one statement.
  private static let gatherMilliseconds: Int32 = 500
  private static let linesOfStatement = 100

  init(_ location: StoreLocation, _ shared: PostgresStore, _ table: String) {
    self.location = location
    file = AuditFile(location: location)
    self.shared = shared
    self.table = table
    if hasLeftLines { start() }
  }

  var isFree: Bool { file.lines.isFree() }

  func append(_ line: [UInt8], _ patience: AccountStore.Patience) throws(Problem) {
    try file.lines.append(line, patience)
    start()
  }

  /// Forwards the lines of this process before it ends, if the database answers at once.
  func finish() {
    guard hasLeftLines, shared.isConnected else { return }
    let end = Deadline(milliseconds: 1_000)
    try? forward(by: end, isEnding: true)
  }

  private func start() {
    // Without a thread the next process forwards the line.
    if isFirst { try? WorkThread.start("einlass-audit") { [self] in run() } }
  }

  /// Whether no thread is about to forward the lines. The caller becomes that thread.
  private var isFirst: Bool {
    isWaiting.withLock { isWaiting in
      defer { isWaiting = true }
      return !isWaiting
    }
  }

  private func run() {
    BootTime.pause(milliseconds: Self.gatherMilliseconds)
    while true {
      // A line that is appended from now on starts another thread.
      isWaiting.withLock { $0 = false }
      do throws(Problem) {
        return try forward(by: Deadline(milliseconds: 10_000))
      } catch {
        problem.withLock { $0 = error }
      }
      guard isFirst else { return }
      BootTime.pause(milliseconds: Self.retryMilliseconds)
    }
  }

  /// Moves all lines to the database, in one process at a time. After a crash some lines are sent
  /// again, and the second insertion of the same line is ignored.
  ///
  /// - Parameter deadline: Evaluated for each wait and each statement.
  func forward(
    by deadline: @autoclosure () -> Deadline, isEnding: Bool = false
  ) throws(Problem) {
    let isDone: Void? = try forwarding.withLock(by: deadline()) { _ throws(Problem) in
      let found = try FileProblem.store { () throws(FileError) in
        try SafeDirectory.open(location.directory)
      }
      guard let directory = found else { return }
      var lock = try FileProblem.store { () throws(FileError) in
        try FileLock("\(location.auditName).lock", in: directory)
      }
      let isMine = try FileProblem.store { () throws(FileError) in
        try lock.acquire(.exclusive, by: deadline())
      }
      guard isMine else { throw .storeLocked(path: location.path) }
      while let (name, lines) = try nextLines(in: directory, by: deadline()) {
        // A power cut may leave a piece of a line.
        var left = lines.filter { $0.bytes.last == UInt8(ascii: "}") }[...]
        while !left.isEmpty {
          if isEnding, deadline().millisecondsLeft == 0 { return }
          // The lines wait for a store, and make none where it was removed or moved away.
          guard try insert(left.prefix(Self.linesOfStatement), of: name, by: deadline()) else {
            return
          }
          left = left.dropFirst(Self.linesOfStatement)
        }
        directory.remove(name)
        guard FileStatus.at(directory.path(of: name)) == nil else {
          throw .store(
            .permissions, "The sent audit lines \(name) cannot be removed.", path: location.path)
        }
      }
    }
    if isDone == nil { throw .storeLocked(path: location.path) }
    problem.withLock { $0 = nil }
  }

  /// Whether an ended process may have left lines.
  private var hasLeftLines: Bool {
    let names = try? SafeDirectory.open(location.directory)?.names()
    return names?.contains { $0 == location.auditName || $0.hasPrefix(prefix) } ?? false
  }

  private var prefix: String { "\(location.auditName).sent-" }

  /// Returns the lines of a renamed file, and its name: of one that an ended process has left, or
  /// else of the file of the trail. `nil` without lines.
  private func nextLines(
    in directory: borrowing SafeDirectory, by deadline: Deadline
  ) throws(Problem) -> (String, [LineFile.Line])? {
    try FileProblem.store { () throws(FileError) in
      var name = try directory.names().first { $0.hasPrefix(prefix) }
      if name == nil, try directory.inspect(location.auditName) != nil {
        let other = prefix + Hexadecimal.encode(SecureRandom.bytes(16))
        var trail = try LineFile(location.auditName, in: directory)
        if try trail.rename(to: other, by: deadline) { name = other }
      }
      guard let name else { return nil }
      var file = try LineFile(name, in: directory)
      return (name, try file.lines(before: nil, withinBytes: .max) ?? [])
    }
  }

  /// Returns `false` if there is no store.
  private func insert(
    _ lines: ArraySlice<LineFile.Line>, of file: String, by deadline: Deadline
  ) throws(Problem) -> Bool {
    let rows = lines.indices.map { index in
      let number = 2 * (index - lines.startIndex)
      return "(?\(number + 1), ?\(number + 2))"
    }
    let values = lines.flatMap { line -> [SQLValue] in
      // No other line has this value, of this machine or another.
      let origin = Canonical.bytes([Array("\(file) \(line.position.offset)".utf8), line.bytes])
      return [.blob(line.bytes), .blob(Digest.sha256(origin))]
    }
    do throws(Problem) {
      try shared.alone(by: deadline) { connection throws(Problem) in
        _ = try connection.inTransaction(
          """
          INSERT INTO \(table) (line, origin) VALUES \(rows.joined(separator: ", "))
          ON CONFLICT (origin) DO NOTHING RETURNING \(PostgresConnection.withoutStandby)
          """, values)
      }
      return true
    } catch  where error == .noDatabaseStore {
      try shared.requireNoStore(by: deadline)
      return false
    }
  }
}
