import Einlass
import EinlassSystem
import Foundation
import TestSupport
import Testing

@testable import EinlassStorage

/// Several stores on one file. Each has its own connection and lock, as in separate processes.
struct SharedStoreTests {
  @Test func `Each store sees the changes of another at once`() throws {
    let home = try StoreHome()
    let (first, second) = (home.store(), home.store())
    #expect(try second.snapshot(.none).accounts.isEmpty)
    for number in 1...20 as ClosedRange<Int64> {
      let (writer, reader) = number % 2 == 0 ? (first, second) : (second, first)
      _ = try writer.add(.example("user\(number)"), .usual)
      for store in [reader, writer] {
        let snapshot = try store.snapshot(.none)
        #expect(snapshot.revision == number && snapshot.accounts.count == Int(number))
      }
    }
  }

  @Test
  func `A store is readable while another process changes it, and a change names that process`()
    throws
  {
    let home = try StoreHome()
    let store = home.store()
    let id = try store.add(.example(), .usual).account.id
    let other = try Holder(home)
    #expect(try other.tryAcquire())
    for reader in [store, home.store()] {
      #expect(try reader.snapshot(.none).accounts.map(\.id) == [id])
      #expect(try reader.contents(id).count == 1)
      #expect(try reader.protection(.none) == "keyfile")
      #expect(try reader.maintenance.check { _, _ in }.isSound)
    }
    #expect(problem { _ = try store.add(.example("b"), .none) }?.detail == "locked")
    #expect(problem { _ = try store.remove(id, .none) }?.isRetryable == true)
    let refused = problem { _ = try store.update(id, .none) { $0.email = nil } }
    #expect(refused?.holder == Int(getpid()))
    #expect(refused?.message.contains("process \(getpid())") == true)
    // Negative control: after the other's lock is released the change succeeds.
    other.release()
    _ = try store.update(id, .none) { $0.email = nil }
    #expect(try store.snapshot(.none).accounts[0].email == nil)
  }

  @Test func `A thread that waits to write gets its turn, and others read in the meantime`()
    async throws
  {
    let home = try StoreHome()
    let store = home.store()
    let id = try store.add(.example(), .usual).account.id
    let other = try Holder(home)
    #expect(try other.tryAcquire())
    let hasEnded = Lock(false)
    let change = Thread.result {
      defer { hasEnded.withLock { $0 = true } }
      let deadline = Deadline(milliseconds: 60_000).monotonicMilliseconds
      return try store.update(id, .until(monotonicMilliseconds: deadline)) {
        $0.displayName = "late"
      }
    }
    while try !other.isWaitedFor(), !hasEnded.withLock({ $0 }) { await Task.yield() }
    #expect(try store.snapshot(.none).accounts[0].displayName == "Ada L.")
    other.release()
    #expect(try await change.value == 2)
    #expect(try store.snapshot(.none).accounts[0].displayName == "late")
  }

  @Test func `Every process can read an announced change`() async throws {
    let home = try StoreHome()
    let (writer, reader) = (home.store(), home.store())
    _ = try writer.add(.example("user0"), .usual)
    let counts = Lock(0)
    let writing = Thread.result {
      for number in 1...200 {
        _ = try writer.add(.example("user\(number)"), .usual)
        counts.withLock { $0 = number }
      }
    }
    var isStale = false
    var last = 0
    while last < 200 {
      let acknowledged = counts.withLock { $0 }
      // This read often falls into a change. Its snapshot must not be kept as the state after the
      // change.
      last = try reader.snapshot(.none).accounts.count - 1
      isStale = isStale || last < acknowledged
    }
    try await writing.value
    #expect(!isStale)
  }

  @Test func `Eight writers lose no change`() async throws {
    let home = try StoreHome()
    let writers = (0..<8).map { writer in
      let store = home.store()
      return Thread.result {
        for number in 0..<25 {
          let added = try store.add(.example("user\(writer)-\(number)"), .usual)
          guard try store.snapshot(.usual).accounts.contains(added.account) else { return false }
        }
        return true
      }
    }
    for writer in writers { #expect(try await writer.value) }
    let snapshot = try home.store().snapshot(.usual)
    #expect(snapshot.revision == 200)
    #expect(Set(snapshot.accounts.map(\.username)).count == 200)
    for account in snapshot.accounts.prefix(20) {
      #expect(try home.store().contents(account.id).count == 1)
    }
  }

  @Test func `Sixteen threads that start at once make one store and one key`() async throws {
    for _ in 0..<5 {
      let home = try StoreHome()
      let starters = (0..<16).map { number in
        let store = home.store()
        return Thread.result { try store.add(.example("user\(number)"), .usual) }
      }
      for starter in starters { #expect(try await starter.value.created) }
      try expectOneStore(in: home, accounts: 16)
    }
  }

  @Test func `Sixteen processes that start at once make one store and one key`() async throws {
    let home = try StoreHome()
    mkfifo(home.path + "/ready", 0o600)
    // Each process waits for this lock, so that all of them start together.
    let gate = try Holder(home, name: "gate", directory: home.path)
    #expect(try gate.tryAcquire())
    let opening = Thread.result { [path = home.path] in
      let ready = try FileHandle(forUpdating: URL(fileURLWithPath: path + "/ready"))
      var count = 0
      while count < 16 { count += try ready.read(upToCount: 16 - count)?.count ?? 0 }
      gate.release()
    }
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<16 {
        group.addTask { [path = home.path] in await addInAnotherProcess(path, number) }
      }
    }
    try await opening.value
    try expectOneStore(in: home, accounts: 16)
  }

  private func addInAnotherProcess(_ path: String, _ number: Int) async {
    await #expect(processExitsWith: .success) { [path, number] in
      let home = StoreHome(adopting: path)
      let gate = try Holder(home, name: "gate", directory: home.path)
      try FileHandle(forWritingTo: URL(fileURLWithPath: path + "/ready")).write(contentsOf: [1])
      #expect(try gate.acquireShared())
      let added = try home.store().add(.example("user\(number)"), .usual)
      #expect(try home.store().contents(added.account.id).count == 1)
    }
  }

  private func expectOneStore(in home: StoreHome, accounts: Int) throws {
    let store = home.store()
    let snapshot = try store.snapshot(.usual)
    #expect(snapshot.accounts.count == accounts && snapshot.revision == Int64(accounts))
    for account in snapshot.accounts { #expect(try store.contents(account.id).count == 1) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: home.keyDirectory).count == 1)
    let files = try FileManager.default.contentsOfDirectory(atPath: home.directory)
    #expect(files.allSatisfy { $0.hasPrefix("store.db") || $0 == "store.lock" })
    #expect(!files.contains { $0.contains(".new") })
    #expect(try SQLiteTool(path: home.database).run("PRAGMA integrity_check") == ["ok"])
  }
}

/// A lock on the store's lock file, as another process would hold it.
final class Holder: @unchecked Sendable {
  private var lock: FileLock
  private let path: String

  init(_ home: StoreHome, name: String = "store.lock", directory: String? = nil) throws {
    path = (directory ?? home.directory) + "/" + name
    let directory = try SafeDirectory.create(directory ?? home.directory)
    lock = try FileLock(name, in: directory)
  }

  func tryAcquire() throws -> Bool { try lock.acquire(.exclusive, by: .now) }
  func acquireShared() throws -> Bool {
    try lock.acquire(.shared, by: Deadline(milliseconds: 60_000))
  }
  func release() { lock.release() }

  /// Whether a thread is blocked in `flock` on the file.
  func isWaitedFor() throws -> Bool {
    let inode = try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int
    return try String(contentsOfFile: "/proc/locks", encoding: .utf8).split(separator: "\n")
      .contains { $0.contains("-> FLOCK") && $0.contains(":\(inode ?? 0) ") }
  }
}

extension Thread {
  /// Runs a blocking call on its own thread, because it would occupy a thread of the concurrency
  /// pool.
  static func result<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value)
    -> Task<Value, any Error>
  {
    Task {
      try await withCheckedThrowingContinuation { continuation in
        Thread { continuation.resume(with: Result(catching: body)) }.start()
      }
    }
  }
}
