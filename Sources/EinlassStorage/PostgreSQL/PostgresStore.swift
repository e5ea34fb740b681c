internal import Einlass
internal import EinlassCrypto
internal import EinlassSystem

/// The store in PostgreSQL within one process: one connection, which all threads share, and the
/// rows that are kept for requests that must not wait.
final class PostgresStore: SharedStore {
  let address: PostgresAddress
  let kept = KeptRows()
  let grace = GracePeriod()
  private let keys: KeySource
  private let opened = Lock<PostgresConnection?>(nil)
  /// The problem of an attempt to connect that a silent server has just ended, and until when it
  /// counts.
  private let silence = Lock<(problem: Problem, end: Deadline)?>(nil)
  /// Statements that are sent with the end of the next lease.
  private let waiting = Lock<[String]>([])

  init(_ address: PostgresAddress, keys: KeySource) {
    self.address = address
    self.keys = keys
  }

  var nothingThere: Problem {
    .store(
      .refused, "There is no account store at \(address.text) yet.", advice: .addFirst,
      path: address.text)
  }

  /// No name of a store leads to it.
  var movedName: String { "\(address.schema).moved" }

  func read(
    _ patience: AccountStore.Patience, _ body: (any StoreReader) throws(Problem) -> Void
  ) throws(Problem) {
    let isThere: Void? = try read(patience, withKey: false) { store throws(Problem) in
      try body(store)
    }
    if isThere == nil { try body(AccountStore.Snapshot()) }
  }

  func read<Result>(
    _ patience: AccountStore.Patience, withKey needsKey: Bool,
    _ body: (OpenStore) throws(Problem) -> Result
  ) throws(Problem) -> Result? {
    try keys.supplying(needsKey, patience) { deadline throws(Problem) in
      if let result = readKept(body) { return result }
      guard patience != .none else { throw .storeLocked(path: address.text) }
      return try alone(by: deadline) { connection throws(Problem) in
        let mark = kept.mark
        guard let meta = try connection.begin(.read) else {
          kept.forget()
          return nil
        }
        kept.note(meta.revision, after: mark)
        connection.keeping = .init(kept: kept, revision: meta.revision, era: mark.era)
        connection.keepKnown()
        do throws(Problem) {
          if kept.overlay?.number != connection.overlayNumber {
            kept.overlay = .init(
              number: connection.overlayNumber, text: try connection.overlay()?.text)
          }
          let result = try body(OpenStore(connection: connection, keys: keys))
          connection.endReading()
          return result
        } catch {
          throw end(connection, error)
        }
      }
    }
  }

  /// Ends a failed transaction. Returns its problem: without a table the store is damaged, or another
  /// machine has taken it away.
  private func end(_ connection: PostgresConnection, _ error: Problem) -> Problem {
    connection.rollBack()
    if error == PostgresProblem.locked(address.text) { grace.endByLock() }
    guard error == .noDatabaseStore else { return error }
    do throws(Problem) {
      guard try !connection.hasStore() else { return .damaged(address.text, "a table is missing") }
      return .store(
        .locked, "The account store \(address.text) was moved or removed meanwhile.",
        advice: .tryAgain,
        path: address.text)
    } catch { return error }
  }

  /// Returns the result of `body` on the kept rows, or `nil` if they are not enough, or lead to a
  /// refusal: it may come from another machine's change of the last moment.
  private func readKept<Result>(_ body: (OpenStore) throws(Problem) -> Result) -> Result? {
    guard let database = KeptDatabase(kept, path: address.text),
      let result = try? body(OpenStore(connection: database, keys: keys))
    else { return nil }
    return database.isIncomplete ? nil : result
  }

  /// A write never runs with `Patience.none`, because the network has to be waited for.
  func change<Result>(
    _ patience: AccountStore.Patience, makesStore: Bool, withKey needsKey: Bool,
    leavingNoTrace: Bool, _ body: (OpenStore) throws(Problem) -> Result
  ) throws(Problem) -> Result? {
    guard patience != .none else { throw .storeLocked(path: address.text) }
    return try keys.supplying(needsKey || makesStore, patience) { deadline throws(Problem) in
      try alone(by: deadline) { connection throws(Problem) in
        let mark = kept.mark
        var begun = try connection.begin(.write)
        if begun == nil, makesStore {
          do throws(Problem) { try PostgresCreation(connection, keys: keys).run() } catch {
            throw end(connection, error)
          }
          begun = try connection.begin(.write)
        }
        guard let before = begun else {
          kept.forget()
          return nil
        }
        kept.note(before.revision, after: mark)
        do throws(Problem) {
          let result = try body(OpenStore(connection: connection, keys: keys))
          let after = try connection.meta()
          let isChanged = after != before
          let meta = connection.metaRow
          try connection.commit(announcing: isChanged ? after.revision : nil)
          if isChanged { kept.note(after.revision) }
          // The audit trail needs the id of the key next.
          if let meta { kept.keep(Meta.selection, [], [meta], at: after.revision, in: mark.era) }
          return result
        } catch {
          throw end(connection, error)
        }
      }
    }
  }

  /// `moveAway` itself keeps the leases free.
  func requireNoLease() {}

  func moveAway<Result>(
    _ body: (any Database) throws(Problem) -> Result
  ) throws(Problem) -> Result? {
    let deadline = Deadline(milliseconds: 600_000)
    return try alone(by: deadline) { connection throws(Problem) in
      guard let meta = try connection.begin(.write) else { return nil }
      do throws(Problem) {
        try connection.requireNoLease()
        // Before the copy, because a role without the right must not make a second store.
        try connection.run("ALTER SCHEMA \"\(address.schema)\" RENAME TO \"\(movedName)\"")
        // The other place may take its time between two rows.
        try connection.run(
          script: """
            SET LOCAL search_path TO "\(movedName)"; SET LOCAL idle_in_transaction_session_timeout = 0
            """)
        let result = try body(connection)
        // Other machines forget the rows that they have kept.
        try connection.commit(announcing: meta.revision &+ 1)
        kept.forget()
        return result
      } catch {
        throw end(connection, error)
      }
    }
  }

  func receive<Result>(
    _ fill: (any Database) throws(Problem) -> Result
  ) throws(Problem) -> Result {
    let deadline = Deadline(milliseconds: 600_000)
    return try alone(by: deadline) { connection throws(Problem) in
      try PostgresCreation(connection, keys: keys).run(filledBy: fill)
    }
  }

  func auditKey(_ patience: AccountStore.Patience) throws(Problem) -> Secret? {
    try read(patience, withKey: true) { store throws(Problem) in try store.storeKey().auditKey }
  }

  /// Runs statements in a transaction of their own. Their tables stand behind `schema`. Without a
  /// store the result has no rows.
  func run(
    _ sql: String, _ values: SQLValue..., by deadline: Deadline
  ) throws(Problem) -> [[SQLValue]] {
    do throws(Problem) {
      return try alone(by: deadline) { connection throws(Problem) in
        try connection.inTransaction(sql, values)
      }
    } catch  where error == .noDatabaseStore {
      try requireNoStore(by: deadline)
      return []
    }
  }

  /// Throws `corrupt` if there is a store, because one of its tables is missing then.
  func requireNoStore(by deadline: Deadline) throws(Problem) {
    let isThere = try alone(by: deadline) { connection throws(Problem) in
      try connection.hasStore()
    }
    if isThere { throw .damaged(address.text, "a table is missing") }
  }

  /// Whether there is a connection that was not lost.
  var isConnected: Bool {
    // A connection in use counts.
    (try? opened.withLock(by: .now) { opened throws(Problem) in opened?.isAlive == true }) ?? true
  }

  /// Adds a statement to those that are sent with the end of the next lease, to save a request.
  func atEndOfLease(_ sql: String) { waiting.withLock { $0.append(sql) } }

  /// Runs the statement that ends a lease, and those that waited for it. While the database is away
  /// a thread tries again, because others wait for the lease.
  func run(ending sql: String) {
    let statements = waiting.withLock { waiting in
      defer { waiting = [] }
      return waiting + [sql]
    }
    if !isDone(statements) { runLater(ending: statements) }
  }

  /// Runs the statements on a thread, again until the lease has ended by itself.
  func runLater(ending statements: [String]) {
    try? WorkThread.start("einlass-release") { [self] in
      let end = Deadline(milliseconds: Int(AccountLeases.seconds) * 1_000)
      repeat {
        BootTime.pause(milliseconds: 1_000)
      } while end.millisecondsLeft > 0
        && !isDone(statements)
    }
  }

  /// Runs the statements together, or else the last one alone. Gives up soon if a change whose answer
  /// was lost still holds a row. Returns whether the last one was run.
  private func isDone(_ statements: [String]) -> Bool {
    let deadline = Deadline(milliseconds: 10_000)
    let done: Void? = try? alone(by: deadline) { connection throws(Problem) in
      func run(_ statements: ArraySlice<String>) throws(Problem) {
        let limit = ["\(connection.check)SET LOCAL lock_timeout = 200"]
        try connection.run(script: (limit + statements).joined(separator: "; "))
      }
      do throws(Problem) { try run(statements[...]) } catch {
        guard statements.count > 1, connection.isUsable else { throw error }
        try run(statements.suffix(1))
      }
    }
    return done != nil
  }

  /// Calls `body` with the connection, outside a transaction. Makes the store first if there is
  /// none.
  func makingStore<Result>(
    by deadline: Deadline, _ body: (PostgresConnection) throws(Problem) -> Result
  ) throws(Problem) -> Result {
    func run() throws(Problem) -> Result {
      try alone(by: deadline, body)
    }
    do throws(Problem) { return try run() } catch  where error == .noDatabaseStore {
      try write(.usual) { _ throws(Problem) in }
      do throws(Problem) { return try run() } catch  where error == .noDatabaseStore {
        try requireNoStore(by: deadline)
        throw error
      }
    }
  }

  /// Runs `body` with the connection, on one thread at a time. A lost connection is made anew at the
  /// next use.
  func alone<Result>(
    by deadline: Deadline, _ body: (PostgresConnection) throws(Problem) -> Result
  ) throws(Problem) -> Result {
    let wait = PostgresWait(until: deadline, grace)
    repeat {
      let result = try opened.withLock(by: wait.end) { opened throws(Problem) -> Result in
        try requireTime(wait)
        let connection = try live(&opened, by: deadline)
        // A new connection that came too late serves the next request.
        try requireTime(connection.wait)
        defer { if !connection.isUsable { opened = nil } }
        return try body(connection)
      }
      if let result { return result }
    } while wait.end.millisecondsLeft > 0
    throw PostgresProblem.unreachable(
      address.text, "another request of this process waits for its answer")
  }

  /// Throws `unreachable` without the time for an answer: a statement that is cut off costs the
  /// connection.
  private func requireTime(_ wait: PostgresWait) throws(Problem) {
    guard wait.end.millisecondsLeft > 250 else {
      throw PostgresProblem.unreachable(address.text, "no answer in time")
    }
  }

  /// Returns the connection if it was not lost, or a new one.
  private func live(
    _ opened: inout PostgresConnection?, by deadline: Deadline
  ) throws(Problem) -> PostgresConnection {
    if let opened, opened.isAlive {
      opened.wait = PostgresWait(until: deadline, grace)
      return opened
    }
    opened = nil
    // A start connects, and its first request would wait for the same silent server once more.
    if let last = silence.withLock({ $0 }), last.end.millisecondsLeft > 0 { throw last.problem }
    grace.beginConnecting()
    let shortest = Deadline(milliseconds: 1_500)
    let connection: PostgresConnection
    do throws(Problem) {
      connection = try PostgresConnection(address, by: deadline, grace)
    } catch {
      grace.endBySilence()
      if shortest.millisecondsLeft == 0 {
        silence.withLock { $0 = (error, Deadline(milliseconds: 1_000)) }
      }
      throw error
    }
    opened = connection
    return connection
  }
}
