import CSQLite
import Einlass
import Foundation
import TestSupport
import Testing

@testable import EinlassStorage

/// Failing writes and syncs at every place, and failing allocations.
struct DiskFaultTests {
  @Test(arguments: [SQLITE_FULL, SQLITE_IOERR | (3 << 8), SQLITE_IOERR | (4 << 8)], [false, true])
  func `After any failing call, acknowledged changes remain and the store works again`(
    _ code: Int32, isLasting: Bool
  ) async {
    await #expect(processExitsWith: .success) { [code, isLasting] in
      var place = 1
      var refusals = 0
      while true {
        let fault = WatchedFiles.Fault(first: place, isLasting: isLasting, code: code)
        let trial = try Trial(fault, acknowledgesFailures: false)
        #expect(try trial.missing() == 0, "call \(place)")
        refusals += trial.refused
        #expect(trial.details.isSubset(of: ["full"]), "\(trial.details)")
        if trial.calls < place { break }
        place += 1
      }
      #expect(place > 20 && refusals > 10, "\(place) places, \(refusals) refusals")
    }
  }

  @Test func `Negative control: failures that are counted as successes are found missing`() async {
    await #expect(processExitsWith: .success) {
      let fault = WatchedFiles.Fault(first: 30, isLasting: true, code: SQLITE_FULL)
      let trial = try Trial(fault, acknowledgesFailures: true)
      #expect(try trial.missing() > 0)
    }
  }

  @Test func `A process that runs out of memory loses no acknowledged change`() async {
    await #expect(processExitsWith: .success) {
      let home = try StoreHome()
      let store = home.store()
      var acknowledged: Set<String> = []
      _ = try store.add(.example("first"), .usual)
      acknowledged.insert("first")
      var refused = 0
      for number in 0..<60 {
        sqlite3_hard_heap_limit64(sqlite3_memory_used() + Int64(number) * 8192)
        // Every third change opens the store first.
        let writer = number % 3 == 0 ? home.store() : store
        do {
          _ = try writer.add(.example("user\(number)"), .usual)
          acknowledged.insert("user\(number)")
        } catch { refused += 1 }
        sqlite3_hard_heap_limit64(0)
      }
      // Negative control: some allocations failed, and some changes succeeded.
      #expect(refused > 0 && acknowledged.count > 1, "\(refused) of 60 refused")
      try expectSound(home, holds: acknowledged)
    }
  }
}

/// Four changes to a new store, of which one call fails, or all calls from one on. After that the
/// disk works again.
private struct Trial {
  private let home: StoreHome
  private var acknowledged: Set<String> = []
  private(set) var refused = 0
  private(set) var details: Set<String?> = []
  private(set) var calls = 0

  init(_ fault: WatchedFiles.Fault, acknowledgesFailures: Bool) throws {
    home = try StoreHome()
    WatchedFiles.watch(home.directory)
    WatchedFiles.calls = 0
    WatchedFiles.fault = fault
    let store = home.store()
    for name in ["a", "b", "c", "d"] {
      let problem = problem { _ = try store.add(.example(name), .usual) }
      if let problem {
        refused += 1
        details.insert(problem.detail)
        #expect(problem.reason == .accountStoreFailure, "\(problem.message)")
      }
      if problem == nil || acknowledgesFailures { acknowledged.insert(name) }
    }
    calls = WatchedFiles.calls
    WatchedFiles.fault = nil
    _ = try store.add(.example("well"), .usual)
    acknowledged.insert("well")
    WatchedFiles.watch(nil)
  }

  /// Returns the number of acknowledged accounts that a new process does not find. The found
  /// accounts must be sound.
  func missing() throws -> Int {
    let found = Set(try home.store().snapshot(.usual).accounts.map(\.username))
    try expectSound(home, holds: found)
    return acknowledged.subtracting(found).count
  }
}

/// Expects that every account is complete and opens, and that the file is consistent.
private func expectSound(_ home: StoreHome, holds acknowledged: Set<String>) throws {
  let store = home.store()
  let accounts = try store.snapshot(.usual).accounts
  #expect(acknowledged.isSubset(of: Set(accounts.map(\.username))))
  for account in accounts { #expect(try store.contents(account.id).count == 1) }
  #expect(try SQLiteTool(path: home.database).run("PRAGMA integrity_check") == ["ok"])
}
