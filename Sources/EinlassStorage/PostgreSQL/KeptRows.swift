internal import Einlass
internal import EinlassSystem

/// The results of the reading statements that this process has used, at one revision of the store.
/// Requests that must not wait for the network are answered from them.
///
/// They are valid while a listener tells of each change by any machine.
final class KeptRows: Sendable {
  private struct Statement: Hashable {
    var sql: String
    var values: [SQLValue]
  }

  private struct State {
    var isListening = false
    /// The highest revision that this process has heard of.
    var seen: Int64 = 0
    /// The number of calls of `forget`. Rows of a transaction that began before the last one may be
    /// old.
    var era = 0
    /// The revision of the results; `nil` without results.
    var revision: Int64?
    var results: [Statement: [[SQLValue]]] = [:]

    /// Returns whether rows of this revision are worth keeping.
    mutating func begin(_ revision: Int64, _ era: Int) -> Bool {
      guard isListening, era == self.era, revision >= seen else { return false }
      if self.revision != revision {
        forget()
        self.revision = revision
        seen = revision
      }
      return true
    }

    mutating func forget() {
      revision = nil
      results = [:]
    }
  }

  /// The added providers as this process has last read them; `nil` before.
  var overlay: Overlay? {
    get { lastOverlay.withLock { $0 } }
    set { lastOverlay.withLock { $0 = newValue } }
  }

  struct Overlay {
    /// Grows with each change; 0 before the first one.
    var number: Int64
    var text: [UInt8]?
  }

  /// More results are forgotten all at once.
  private static let limit = 4096

  private let state = Lock(State())
  private let lastOverlay = Lock<Overlay?>(nil)

  /// Begins or ends the time in which a listener tells of each change.
  func setListening(_ isListening: Bool) {
    state.withLock {
      $0.isListening = isListening
      // A restored database begins with an older revision.
      $0.seen = 0
      $0.era += 1
      $0.forget()
    }
  }

  /// Forgets older rows.
  func note(_ revision: Int64) {
    state.withLock {
      guard revision > $0.seen else { return }
      $0.seen = revision
      $0.forget()
    }
  }

  /// Notes the revision of a transaction that began after this mark. A higher one of before was not
  /// confirmed: any role of the database can send a notification.
  func note(_ revision: Int64, after mark: Mark) {
    state.withLock { if $0.seen == mark.seen, revision < mark.seen { $0.seen = revision } }
    note(revision)
  }

  /// Notes the revision that the database has just answered. A lower one than before is that of a
  /// store that was removed, moved or restored, so every row is forgotten. Returns whether it is
  /// lower.
  func noteAnswered(_ revision: Int64) -> Bool {
    state.withLock {
      guard revision < $0.seen else { return false }
      $0.seen = revision
      $0.era += 1
      $0.forget()
      return true
    }
  }

  /// Forgets every row, because the store has gone or may have another state.
  func forget() {
    state.withLock {
      $0.era += 1
      $0.forget()
    }
  }

  /// The state before a transaction.
  struct Mark {
    var era: Int
    var seen: Int64
  }

  /// The mark of a transaction that begins afterwards.
  var mark: Mark { state.withLock { Mark(era: $0.era, seen: $0.seen) } }

  /// The rows of one reading transaction.
  struct Transaction {
    let kept: KeptRows
    let revision: Int64
    let era: Int

    func keep(_ sql: String, _ values: [SQLValue], _ rows: [[SQLValue]]) {
      kept.keep(sql, values, rows, at: revision, in: era)
    }

    func rows(_ sql: String, _ values: [SQLValue]) -> [[SQLValue]]? {
      kept.rows(sql, values, at: revision)
    }
  }

  /// Keeps the rows of a statement that a transaction of this era read at this revision.
  func keep(
    _ sql: String, _ values: [SQLValue], _ rows: [[SQLValue]], at revision: Int64, in era: Int
  ) {
    state.withLock {
      guard $0.begin(revision, era) else { return }
      if $0.results.count >= Self.limit { $0.results = [:] }
      $0.results[Statement(sql: sql, values: values)] = rows
    }
  }

  /// The revision of the kept rows; `nil` without any.
  var revision: Int64? { state.withLock { $0.revision } }

  func rows(_ sql: String, _ values: [SQLValue], at revision: Int64) -> [[SQLValue]]? {
    state.withLock {
      $0.revision == revision ? $0.results[Statement(sql: sql, values: values)] : nil
    }
  }
}

/// The kept rows as a database. A statement without kept rows throws `locked`.
final class KeptDatabase: Database {
  let path: String
  private let rows: KeptRows
  private let revision: Int64
  /// Whether a statement found no rows, so that the result of the whole is worth nothing.
  private(set) var isIncomplete = false

  /// Returns `nil` without kept rows.
  init?(_ rows: KeptRows, path: String) {
    guard let revision = rows.revision else { return nil }
    self.rows = rows
    self.revision = revision
    self.path = path
  }

  let changes: Int64 = 0
  let countChanges: Int64 = 0
  func indexed(by index: String) -> String { "" }
  func schema() throws(Problem) -> Int64 { PostgresSchema.version }

  func each(
    _ sql: String, _ values: [SQLValue], _ body: (any Row) throws(Problem) -> Bool
  ) throws(Problem) {
    guard !isIncomplete, let kept = rows.rows(sql, values, at: revision) else {
      isIncomplete = true
      throw .storeLocked(path: path)
    }
    for row in kept { guard try body(PostgresRow(path: path, values: row)) else { return } }
  }
}
