internal import CPostgres
internal import Einlass
internal import EinlassSystem

/// A thread that waits for the notifications of other machines on a connection of its own, and
/// rings at each change.
///
/// A pooler in transaction mode drops the notifications without an error. A notification to itself
/// that does not come back shows this, and then the thread asks for the revision every two seconds.
/// The thread ends with the process.
public final class StoreListener: Sendable {
  private let shared: PostgresStore
  private let bell: WakeUp
  /// Its answers say nothing about the other connection.
  private let grace = GracePeriod()

  private static let selfTestMilliseconds: Int32 = 2_000
  /// The least time between two rings, because each machine reads each change.
  private static let restMilliseconds = 500
  private static let pollMilliseconds: Int32 = 2_000
  private static let retryMilliseconds: Int32 = 5_000
  /// After so long without a notification, the thread asks whether the connection still works.
  private static let silenceMilliseconds: Int32 = 60_000

  /// The number to poll: readable after a change until `clear`.
  public var number: Int32 { bell.number }

  /// Makes the number unreadable until the next change.
  public func clear() { bell.clear() }

  init(_ shared: PostgresStore) throws(SystemError) {
    self.shared = shared
    bell = try WakeUp()
    try WorkThread.start("einlass-listen") { [self] in while true { listenOnce() } }
  }

  /// Listens until the connection is lost.
  // Inlined into the endless loop of the thread, it keeps the optimizer of `-O` busy without end.
  @inline(never) private func listenOnce() {
    if let connection = try? PostgresConnection(shared.address, by: .listening, grace),
      let hearsItself = try? hearsItself(connection)
    {
      shared.kept.setListening(true)
      // Changes before this moment were not heard.
      bell.ring()
      if hearsItself { hear(connection) } else { ask(connection) }
      shared.kept.setListening(false)
      bell.ring()
    }
    BootTime.pause(milliseconds: Self.retryMilliseconds)
  }

  /// Listens to the store's channel. Returns whether a notification arrives in time that another
  /// connection has sent: a pooler passes one of the same connection on with its answer.
  private func hearsItself(
    _ connection: PostgresConnection
  ) throws(Problem) -> Bool {
    let channel = shared.address.schema
    _ = try connection.rows("LISTEN \"\(channel)\"", [])
    _ = try shared.run("SELECT pg_notify(?1, '')", .text(channel), by: .listening)
    let end = Deadline(milliseconds: Int(Self.selfTestMilliseconds))
    while end.millisecondsLeft > 0 {
      guard let heard = connection.notifications(milliseconds: end.millisecondsLeft) else {
        throw PostgresProblem.unreachable(shared.address.text, "the connection was lost")
      }
      if !heard.isEmpty { return true }
    }
    return false
  }

  /// Rings for newer revisions than before. The store may have read one already, but the front end
  /// has not heard of it.
  private func hear(_ connection: PostgresConnection) {
    var newest: Int64 = 0
    var rung: Int64 = 0
    var rest = Deadline.now
    while true {
      let isDue = newest > rung
      let limit = isDue ? rest.millisecondsLeft : Self.silenceMilliseconds
      guard var heard = connection.notifications(milliseconds: limit) else { return }
      // A new store in the place of another one counts from the beginning.
      if heard.isEmpty && !isDue || heard.contains(where: { 0 < $0 && $0 < newest }) {
        guard let revision = try? revision(on: connection) else { return }
        heard = [revision]
        // The database does not confirm a forged notification either.
        if shared.kept.noteAnswered(revision) || revision < newest {
          (newest, rung) = (revision, revision)
        }
        // The renewal of a machine that was lost is found without a change too.
        bell.ring()
      }
      newest = max(newest, heard.max() ?? 0)
      shared.kept.note(newest)
      if newest > rung, rest.millisecondsLeft == 0 {
        bell.ring()
        rung = newest
        rest = Deadline(milliseconds: Self.restMilliseconds)
      }
    }
  }

  private func revision(on connection: PostgresConnection) throws(Problem) -> Int64 {
    connection.wait = PostgresWait(until: .listening, grace)
    return try connection.revision()
  }

  private func ask(_ connection: PostgresConnection) {
    var rung: Int64 = 0
    var silence = Deadline(milliseconds: Int(Self.silenceMilliseconds))
    while let revision = try? revision(on: connection) {
      let isLower = shared.kept.noteAnswered(revision)
      shared.kept.note(revision)
      if isLower || revision > rung || silence.millisecondsLeft == 0 {
        bell.ring()
        rung = revision
        silence = Deadline(milliseconds: Int(Self.silenceMilliseconds))
      }
      BootTime.pause(milliseconds: Self.pollMilliseconds)
    }
  }
}

extension PostgresConnection {
  /// Waits for notifications and returns their revisions, 0 for one to itself; `nil` if the
  /// connection is lost.
  fileprivate func notifications(milliseconds: Int32) -> [Int64]? {
    guard waitForInput(milliseconds: milliseconds) else { return nil }
    var revisions: [Int64] = []
    while let text = nextNotification() { revisions.append(Int64(text) ?? 0) }
    return revisions
  }
}

extension Deadline {
  fileprivate static var listening: Deadline { Deadline(milliseconds: 10_000) }
}
