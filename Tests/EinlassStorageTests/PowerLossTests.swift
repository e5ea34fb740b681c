import Einlass
import EinlassSystem
import Foundation
import TestSupport
import Testing

@testable import EinlassStorage

/// Simulated power cuts, from a record of all writes and syncs of SQLite.
///
/// `EINLASS_FAULT_ROUNDS` sets the number of power cuts of each test; 10 000 for a long run.
/// Not simulated: lost directory entries (the name of a new file is assumed durable), and disks
/// that report a sync without doing it.
struct PowerLossTests {
  @Test func `No power cut loses an acknowledged change`() async {
    await #expect(processExitsWith: .success) {
      let count = PowerCuts.asked ?? 2000
      let outcome = try PowerCuts(synchronous: nil).outcome(count: count)
      #expect(outcome.lost == 0 && outcome.damaged == 0, "\(outcome)")
      #expect(outcome.kept == count)
    }
  }

  /// Negative controls: the store with SQLite set to sync less often.
  @Test(arguments: ["NORMAL", "OFF"])
  func `A store that syncs less is found to lose changes`(_ synchronous: String) async {
    await #expect(processExitsWith: .success) { [synchronous] in
      let outcome = try PowerCuts(synchronous: synchronous).outcome(count: PowerCuts.asked ?? 300)
      #expect(outcome.lost > 0 || outcome.damaged > 0, "\(outcome)")
      #expect(synchronous == "OFF" || (outcome.lost > 0 && outcome.damaged == 0), "\(outcome)")
    }
  }
}

/// Recorded changes of a store, and power cuts at random places among them.
private struct PowerCuts {
  struct Outcome {
    var kept = 0
    var lost = 0
    var damaged = 0
  }

  static var asked: Int? {
    ProcessInfo.processInfo.environment["EINLASS_FAULT_ROUNDS"].flatMap(Int.init)
  }

  /// The display names by username, as a reader of the store sees them.
  private typealias State = [String: String?]

  private let home: StoreHome
  private let before: Disk
  /// The state after each number of acknowledged changes.
  private var states: [State] = [[:]]

  init(synchronous: String?) throws {
    home = try StoreHome()
    let location = StoreLocation(directory: home.directory, keyDirectory: home.keyDirectory)
    let opening = StoreOpening(location: location, keys: KeySource(.usual, location: location))
    WatchedFiles.watch(home.directory)
    let store = try #require(
      try opening.openExclusive(
        by: AccountStore.Patience.usual.deadline, makesStore: true))
    store.release()
    if let synchronous { try store.connection.run("PRAGMA synchronous = \(synchronous)") }
    var files: [String: [UInt8]] = [:]
    for name in ["store.db", "store.db-wal"] {
      files[name] = FileManager.default.contents(atPath: home.directory + "/" + name).map {
        [UInt8]($0)
      }
    }
    before = Disk(files)
    WatchedFiles.events = []
    for number in 0..<120 {
      states.append(try Self.change(store, number, states[number]))
      WatchedFiles.acknowledged = number + 1
    }
    WatchedFiles.watch(nil)
  }

  /// Adds an account, or changes or removes an older one with every third call.
  private static func change(_ store: OpenFile, _ number: Int, _ state: State) throws -> State {
    var state = state
    try store.acquire(by: AccountStore.Patience.usual.deadline)
    defer { store.release() }
    try store.change { () throws(Problem) in
      let accounts = try store.accounts(of: nil, after: .min, limit: .max)
      if number % 3 == 2 {
        var account = accounts[number % accounts.count]
        if number % 2 == 0 {
          _ = try store.connection.deleteAccount(account.id)
          state[account.username] = nil
        } else {
          account.displayName = "changed \(number)"
          try store.connection.update(account)
          state[account.username] = .some(account.displayName)
        }
      } else {
        let new = AccountStore.NewAccount.example("user\(number)")
        try store.connection.insert(new.account)
        try store.connection.put(
          CredentialRow(new.credential, account: new.account, key: try store.storeKey()))
        state[new.account.username] = .some(new.account.displayName)
      }
      _ = try store.connection.nextRevision()
    }
    return state
  }

  func outcome(count: Int) throws -> Outcome {
    var random = SeededChance(7)
    let events = WatchedFiles.events
    let points = (0..<count).map { _ in Int.random(in: 0...events.count, using: &random) }
    var disk = before
    var position = 0
    var outcome = Outcome()
    for point in points.sorted() {
      while position < point {
        disk.apply(events[position])
        position += 1
      }
      let acknowledged = point < events.count ? events[point].acknowledged : states.count - 1
      let found = try state(after: disk.afterPowerCut(&random))
      let isKept = states[acknowledged...].prefix(2).contains { $0 == found }
      if isKept {
        outcome.kept += 1
      } else if let found, states.contains(found) {
        outcome.lost += 1
      } else {
        outcome.damaged += 1
      }
    }
    return outcome
  }

  /// Returns the state that a new process finds, or `nil` if a check fails.
  private func state(after files: [String: [UInt8]]) throws -> State? {
    let directory = home.path + "/after"
    defer { _ = try? FileManager.default.removeItem(atPath: directory) }
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    for (name, bytes) in files {
      _ = FileManager.default.createFile(
        atPath: "\(directory)/\(name)", contents: Data(bytes),
        attributes: [.posixPermissions: 0o600])
    }
    let store = SQLiteAccountStore.store(
      location: StoreLocation(directory: directory, keyDirectory: home.keyDirectory),
      choice: .usual)
    guard let accounts = try? store.snapshot(.usual).accounts else { return nil }
    for account in accounts {
      guard (try? store.contents(account.id).count) == 1 else { return nil }
    }
    let check = try? SQLiteTool(path: directory + "/store.db").run("PRAGMA integrity_check")
    guard check == ["ok"] else { return nil }
    return State(uniqueKeysWithValues: accounts.map { ($0.username, $0.displayName) })
  }
}
