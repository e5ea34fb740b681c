import Einlass
import Foundation
import TestSupport
import Testing

@testable import EinlassStorage

/// No process checkpoints the journal while another process writes, because SQLite before 3.51.3
/// can damage the file then. The locks of four processes show it.
///
/// `EINLASS_FAULT_ROUNDS` sets the number of changes by each process; the default is 60.
struct CheckpointTests {
  static var changes: Int {
    ProcessInfo.processInfo.environment["EINLASS_FAULT_ROUNDS"].flatMap(Int.init) ?? 60
  }

  @Test func `No checkpoint overlaps a write of another process`() async throws {
    let home = try StoreHome()
    _ = try home.store().add(.example(), .usual)
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<4 { group.addTask { [path = home.path] in await change(path, number) } }
    }
    let findings = try LockTrace.findings(home.path + "/trace")
    #expect(findings.overlaps == 0, "\(findings)")
    #expect(findings.checkpoints > 0 && findings.writes >= 4 * Self.changes, "\(findings)")
    #expect(try home.store().maintenance.check { _, _ in }.isSound)
    #expect(try home.store().snapshot(.usual).accounts.count == 4 * Self.changes + 1)
  }

  private func change(_ path: String, _ number: Int) async {
    await #expect(processExitsWith: .success) { [path, number] in
      LockTrace.start(path + "/trace")
      let home = StoreHome(adopting: path)
      var store = home.store()
      for change in 0..<CheckpointTests.changes {
        // The journal is checkpointed when a store closes, and when it has grown long.
        if change % 10 == 9 { store = home.store() }
        _ = try store.add(.example("user\(number)-\(change)"), .usual)
      }
    }
  }

  @Test func `A foreign program that keeps a read transaction open delays no change`() throws {
    let home = try StoreHome()
    let store = home.store()
    _ = try store.add(.example(), .usual)
    var reader: SQLiteConnection? = try SQLiteConnection(path: home.database, access: .readWrite)
    try reader?.run("BEGIN")
    #expect(try reader?.countAccounts() == 1)
    // Less than SQLite's busy timeout of 10 s, so that a wait for the reader would fail the test.
    let start = ContinuousClock.now
    #expect(try store.maintenance.rotateKey { _, _ in }.sealedValues == 3)
    #expect(ContinuousClock.now - start < .seconds(9))
    reader = nil
    #expect(try home.store().maintenance.check { _, _ in }.isSound)
  }

  @Test func `Negative control: without the store's lock, checkpoints and writes overlap`()
    async throws
  {
    let home = try StoreHome()
    _ = try home.store().add(.example(), .usual)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<4 { group.addTask { [path = home.path] in await changeUnlocked(path) } }
    }
    #expect(try LockTrace.findings(home.path + "/trace").overlaps > 0)
  }

  private func changeUnlocked(_ path: String) async {
    await #expect(processExitsWith: .success) { [path] in
      LockTrace.start(path + "/trace")
      let database = StoreHome(adopting: path).database
      let connection = try SQLiteConnection(path: database, access: .readWrite)
      connection.wait(milliseconds: 60_000)
      try connection.configure()
      for _ in 0..<100 {
        try connection.run("UPDATE meta SET revision = revision + 1")
        try connection.run("PRAGMA wal_checkpoint(PASSIVE)")
      }
    }
  }
}
