import Einlass
import EinlassSystem
import Foundation
import Glibc
import Testing

@testable import EinlassStorage

/// The lease of an account: one request of one process at a time sends requests for it.
struct LeaseTests {
  /// A store with an account, opened twice as in two processes.
  struct Case {
    let home: StoreHome
    let store: AccountStore
    let other: AccountStore
    let account: Account.ID
    var file: String { "\(home.directory)/locks/\(account.rawValue).lock" }

    init(memory: Bool = false) throws {
      home = try StoreHome()
      store = memory ? MemoryAccountStore.make() : home.store()
      other = memory ? store : home.store()
      account = try store.add(.example(), .usual).account.id
    }
  }

  final class Events: Sendable {
    private let all = Lock<[String]>([])
    func add(_ event: String) { all.withLock { $0.append(event) } }
    var list: [String] { all.withLock { $0 } }
  }

  @Test(arguments: [true, false])
  func `A waiting request gets the lease when its holder releases it`(memory: Bool) async throws {
    let test = try Case(memory: memory)
    let events = Events()
    var lease: Lease? = try await test.store.lease(test.account)
    let tasks = [("same", test.store), ("other", test.other)].map { name, store in
      Task {
        let lease = try await store.lease(test.account)
        events.add(name)
        withExtendedLifetime(lease) {}
      }
    }
    // The lease of another account is free.
    let free = try test.store.add(.example("bob"), .usual).account.id
    _ = try await test.other.lease(free)
    #expect(events.list.isEmpty)
    withExtendedLifetime(lease) {}
    lease = nil
    for task in tasks { try await task.value }
    #expect(Set(events.list) == ["same", "other"])
  }

  @Test(arguments: [true, false])
  func `A cancelled waiter ends at once, and the next one gets the lease`(memory: Bool) async throws
  {
    let test = try Case(memory: memory)
    var lease: Lease? = try await test.store.lease(test.account)
    let waiting = (0..<3).map { _ in Task { _ = try await test.other.lease(test.account) } }
    waiting[0].cancel()
    waiting[1].cancel()
    for task in waiting[..<2] {
      let problem = await #expect(throws: Problem.self) { try await task.value }
      #expect(problem?.reason == .cancelled)
    }
    withExtendedLifetime(lease) {}
    lease = nil
    try await waiting[2].value
    _ = try await test.store.lease(test.account)
  }

  @Test func `A hundred requests of two processes never hold the lease at the same time`()
    async throws
  {
    let test = try Case()
    let holders = Lock(0)
    let most = Lock(0)
    try await withThrowingTaskGroup { group in
      for number in 0..<100 {
        group.addTask {
          let store = number % 2 == 0 ? test.store : test.other
          let lease = try await store.patientLease(test.account)
          let count = holders.withLock { holders in
            holders += 1
            return holders
          }
          most.withLock { $0 = max($0, count) }
          await Task.yield()
          holders.withLock { $0 -= 1 }
          withExtendedLifetime(lease) {}
        }
      }
      try await group.waitForAll()
    }
    #expect(most.withLock { $0 } == 1)
  }

  @Test func `A removed account leaves no lock file, and a waiting request creates a new one`()
    async throws
  {
    let test = try Case()
    var lease: Lease? = try await test.store.lease(test.account)
    #expect(FileManager.default.fileExists(atPath: test.file))
    let attributes = try FileManager.default.attributesOfItem(
      atPath: test.home.directory + "/locks")
    #expect(attributes[.posixPermissions] as? Int == 0o700)
    let waiting = Task {
      let lease = try await test.other.lease(test.account)
      return (FileManager.default.fileExists(atPath: test.file), lease).0
    }
    lease?.forget()
    #expect(!FileManager.default.fileExists(atPath: test.file))
    withExtendedLifetime(lease) {}
    lease = nil
    #expect(try await waiting.value)
  }

  @Test(arguments: ["symbolic link", "FIFO", "directory", "open to others", "second name"])
  func `A lock file that cannot be trusted is refused at once`(_ what: String) async throws {
    let test = try Case()
    try FileManager.default.createDirectory(
      atPath: test.home.directory + "/locks", withIntermediateDirectories: false,
      attributes: [.posixPermissions: 0o700])
    let elsewhere = test.home.path + "/elsewhere"
    try Data().write(to: URL(filePath: elsewhere))
    chmod(elsewhere, 0o600)
    switch what {
    case "symbolic link": symlink(elsewhere, test.file)
    case "FIFO": mkfifo(test.file, 0o600)
    case "directory": mkdir(test.file, 0o700)
    case "second name": link(elsewhere, test.file)
    default:
      try Data().write(to: URL(filePath: test.file))
      chmod(test.file, 0o644)
    }
    let problem = await #expect(throws: Problem.self) { try await test.store.lease(test.account) }
    #expect(problem?.reason == .accountStoreFailure)
    #expect(problem?.path?.hasSuffix("locks/\(test.account.rawValue).lock") == true)
    // Negative control: the lease works after the file is removed.
    remove(test.file)
    _ = try await test.store.lease(test.account)
  }

  @Test(.enabled(if: geteuid() == 0, "needs root, to give a file away"))
  func `A lock file of another user is refused`() async throws {
    let test = try Case()
    _ = try await test.store.lease(test.account)
    chown(test.file, 65534, 65534)
    let problem = await #expect(throws: Problem.self) { try await test.store.lease(test.account) }
    #expect(problem?.detail == "permissions")
  }

  @Test(arguments: ["../a_x", "a_x/y", "", "a_\u{0}", ".."])
  func `An id that is not a valid file name gets no lock file`(id: String) async throws {
    let test = try Case()
    await #expect(throws: Problem.self) {
      try await test.store.lease(Account.ID(rawValue: id))
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: test.home.directory)
    #expect(!names.contains("locks"))
  }
}

extension AccountStore {
  /// Waits again after a timeout, because the kernel's order of waiters is not fair and a busy
  /// machine can exceed it.
  fileprivate func patientLease(_ account: Account.ID) async throws(Problem) -> Lease {
    while true {
      do throws(Problem) { return try await lease(account) } catch {
        guard error.detail == Problem.StoreDetail.locked.rawValue else { throw error }
      }
    }
  }
}
