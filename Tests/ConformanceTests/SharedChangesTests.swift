import EinlassJSON
import Foundation
import Testing

/// Processes that watch a store are notified of the changes by another process.
@Suite struct SharedChangesTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private var options: [String] {
    ["--store", "\(folder.path)/data/store.db", "--key-file", "\(folder.path)/keys/store.key"]
  }

  /// Starts a front end that calls `initialize`, and returns whether it will be notified of
  /// changes.
  private func watcher() throws -> (FrontEnd, tells: Bool?) {
    let front = try FrontEnd(options)
    return (front, try introduce(front))
  }

  private func introduce(_ front: FrontEnd) throws -> Bool? {
    let greeting = try front.call("initialize", ["client": ["name": "watcher"]])
    return greeting["capabilities"]?["changes"]?.bool
  }

  private func add(_ name: String, by front: FrontEnd) throws -> JSONValue {
    let added = try front.call(
      "accounts.add",
      [
        "provider": "twitter", "username": .string(name),
        "credential": [
          "type": "oauth1", "key": "k", "secret": "s", "clientId": "c", "clientSecret": "cs",
        ],
      ])
    return try #require(added["account"])
  }

  private func change(_ account: JSONValue, _ change: String) -> JSONValue {
    [["account": account, "change": .string(change)]]
  }

  @Test func `Every change of another process is announced, from the first on, in order`() throws {
    let (told, tells) = try watcher()
    defer { told.terminate() }
    #expect(tells == true)
    let other = try FrontEnd(options)
    defer { other.terminate() }
    let account = try add("ada", by: other)
    #expect(try told.next("accounts.changed")["changes"] == change(account, "added"))
    try other.call("accounts.update", ["account": account, "displayName": "Ada"])
    #expect(try told.next("accounts.changed")["changes"] == change(account, "updated"))
    try other.call("access.set", ["provider": "twitter", "application": "x", "state": "granted"])
    let access = try told.next("access.changed")
    #expect(access["application"]?.string == "x")
    #expect(access["provider"]?.string == "twitter")
    try other.call("accounts.remove", ["account": account])
    let removed = try told.next("accounts.changed")
    #expect(removed["changes"] == change(account, "removed"))
    let list = try told.call("accounts.list")
    #expect(list["accounts"] == [])
    #expect(list["revision"] == removed["revision"])
  }

  @Test func `A process's own change is announced once, also if two processes change in turn`()
    throws
  {
    let (first, _) = try watcher()
    defer { first.terminate() }
    let (second, _) = try watcher()
    defer { second.terminate() }
    var accounts: [JSONValue] = []
    for round in 0..<10 {
      accounts.append(try add("user-\(round)", by: round % 2 == 0 ? first : second))
    }
    for front in [first, second] {
      // Several changes in quick succession can be in one notification.
      var changes: [JSONValue] = []
      while changes.count < accounts.count {
        changes += try front.next("accounts.changed")["changes"]?.array ?? []
      }
      #expect(changes == accounts.flatMap { change($0, "added").array ?? [] })
      // A repeated notification would be before this one.
      try front.call(
        "access.set", ["provider": "twitter", "application": "end", "state": "denied"])
      #expect(try front.next()["method"]?.string == "access.changed")
    }
  }

  @Test func `Over a hundred changes at once are announced as one`() throws {
    let (told, _) = try watcher()
    defer { told.terminate() }
    let other = try FrontEnd(options)
    defer { other.terminate() }
    _ = try add("ada", by: other)
    _ = try told.next("accounts.changed")
    // The watching process is stopped during the changes.
    told.signal(SIGSTOP)
    for number in 0...100 {
      try other.call(
        "access.set",
        ["provider": "twitter", "application": .string("x\(number)"), "state": "granted"])
    }
    told.signal(SIGCONT)
    let access = try told.next("access.changed")
    #expect(access["reload"]?.bool == true)
    #expect(access["application"] == nil)
  }

  @Test func `A watching process does not wake up until the store changes`() throws {
    let (told, _) = try watcher()
    defer { told.terminate() }
    let other = try FrontEnd(options)
    defer { other.terminate() }
    let account = try add("ada", by: other)
    _ = try told.next("accounts.changed")
    // Idle threads end within seconds.
    let isQuiet = try (0..<20).contains { _ in
      let before = try told.waits()
      Thread.sleep(forTimeInterval: 1.5)
      return try told.waits() == before
    }
    #expect(isQuiet)
    let before = try told.waits()
    try other.call("accounts.update", ["account": account, "displayName": "Ada"])
    _ = try told.next("accounts.changed")
    // Negative control: a change wakes the process. The kernel counts the wake-up when the thread
    // sleeps again.
    for _ in 0..<6000 where try told.waits() == before { Thread.sleep(forTimeInterval: 0.01) }
    #expect(try told.waits() != before)
  }

  @Test func `Without inotify, initialize says so, and the next request announces changes`() throws
  {
    let shell = "echo 0 >/proc/sys/user/max_inotify_instances && exec \"$0\" \"$@\""
    let probe = try SpawnedProgram(
      "unshare", ["--user", "--map-root-user", "/bin/sh", "-c", shell, "true"])
    guard (try? probe.exitCode()) == 0 else {
      print("skipped: this system has no user namespaces to take inotify away with")
      return
    }
    let told = try FrontEnd(
      spawning: "unshare",
      ["--user", "--map-root-user", "/bin/sh", "-c", shell, Program.einlass] + options)
    defer { told.terminate() }
    #expect(try introduce(told) == false)
    let other = try FrontEnd(options)
    defer { other.terminate() }
    let (control, _) = try watcher()
    defer { control.terminate() }
    let account = try add("ada", by: other)
    // The process with inotify has been notified by now.
    #expect(try control.next("accounts.changed")["changes"] == change(account, "added"))
    #expect(throws: SpawnedProgram.Failure.self) { try told.next(within: 1) }
    try told.call("providers.list")
    #expect(try told.next("accounts.changed")["changes"] == change(account, "added"))
  }

  @Test func `An edit by another program is listed, but not announced`() throws {
    let (told, _) = try watcher()
    defer { told.terminate() }
    let account = try add("ada", by: told)
    #expect(try told.next("accounts.changed")["changes"] == change(account, "added"))
    let program = try SpawnedProgram(
      "sqlite3", ["\(folder.path)/data/store.db", "UPDATE account SET display_name = 'Ada'"])
    #expect(try program.exitCode() == 0)
    try told.call("access.set", ["provider": "twitter", "application": "x", "state": "granted"])
    #expect(try told.next()["method"]?.string == "access.changed")
    #expect(try told.call("accounts.list")["accounts"]?.array?[0]["displayName"]?.string == "Ada")
  }
}
