import Foundation
import TestSupport
import Testing

@testable import EinlassSystem

struct FileLockTests {
  /// Two holders of one lock, as two processes are.
  private static func pair() throws -> (home: String, first: Holder, second: Holder) {
    let home = OrdinaryUser.makeHome()
    return (home, try Holder(home), try Holder(home))
  }

  /// A lock value that can stand in a tuple and be used on another thread.
  final class Holder: @unchecked Sendable {
    private var lock: FileLock

    private let path: String

    /// Whether the kernel has somebody in line for the file.
    func isWaitedFor() throws -> Bool {
      var status = stat()
      stat(path, &status)
      let locks = try String(contentsOfFile: "/proc/locks", encoding: .utf8)
      return locks.split(separator: "\n").contains {
        $0.contains("-> FLOCK") && $0.contains(":\(status.st_ino) ")
      }
    }

    init(_ home: String) throws {
      path = home + "/test.lock"
      let directory = try SafeDirectory.create(home)
      lock = try FileLock("test.lock", in: directory)
    }

    var holder: Int? { lock.holder }
    func announceChange() { lock.announceChange() }
    func release() { lock.release() }
    func tryAcquire(_ mode: FileLock.Mode) throws -> Bool { try lock.acquire(mode, by: .now) }
    func acquire(_ mode: FileLock.Mode, milliseconds: Int) throws -> Bool {
      try lock.acquire(mode, by: Deadline(milliseconds: milliseconds))
    }
  }

  @Test(arguments: [FileLock.Mode.shared, .exclusive], [FileLock.Mode.shared, .exclusive])
  func `only readers share`(_ held: FileLock.Mode, _ wanted: FileLock.Mode) throws {
    let (home, first, second) = try Self.pair()
    defer { _ = try? FileManager.default.removeItem(atPath: home) }
    #expect(try first.tryAcquire(held))
    let isFree = held == .shared && wanted == .shared
    #expect(try second.tryAcquire(wanted) == isFree)
    #expect(try second.acquire(wanted, milliseconds: 1) == isFree)
    first.release()
    #expect(try second.tryAcquire(wanted))
  }

  @Test
  func `a waiter gets the lock when it is let go, and others that gave up are not in its way`()
    async throws
  {
    let (home, first, second) = try Self.pair()
    defer { _ = try? FileManager.default.removeItem(atPath: home) }
    #expect(try first.tryAcquire(.exclusive))
    for _ in 0..<5 { #expect(try !Holder(home).acquire(.exclusive, milliseconds: 1)) }
    let waiter = Thread.result { try second.acquire(.exclusive, milliseconds: 60_000) }
    first.release()
    #expect(try await waiter.value)
    #expect(try !first.tryAcquire(.shared))
    second.release()
    #expect(try first.tryAcquire(.shared))
  }

  @Test(arguments: [0, 1])
  func `who gives up leaves nothing that waits`(_ milliseconds: Int) throws {
    let (home, first, second) = try Self.pair()
    defer { _ = try? FileManager.default.removeItem(atPath: home) }
    #expect(try !second.isWaitedFor())
    #expect(try first.acquire(.exclusive, milliseconds: 0))
    for _ in 0..<100 { #expect(try !second.acquire(.exclusive, milliseconds: milliseconds)) }
    #expect(try !second.isWaitedFor())
    // None that gave up takes it for a moment now.
    first.release()
    for _ in 0..<100 {
      #expect(try first.tryAcquire(.exclusive))
      first.release()
    }
  }

  @Test func `a lock file that is replaced while somebody waits for it still excludes`()
    async throws
  {
    let (home, first, second) = try Self.pair()
    defer { _ = try? FileManager.default.removeItem(atPath: home) }
    #expect(try first.tryAcquire(.exclusive))
    let hasEnded = Lock(false)
    let waiter = Thread.result { () throws -> Bool in
      defer { hasEnded.withLock { $0 = true } }
      return try second.acquire(.exclusive, milliseconds: 60_000)
    }
    while try !first.isWaitedFor(), !hasEnded.withLock({ $0 }) { await Task.yield() }
    unlink(home + "/test.lock")
    let third = try Holder(home)
    #expect(try third.tryAcquire(.exclusive))
    first.release()
    while try !third.isWaitedFor(), !hasEnded.withLock({ $0 }) { await Task.yield() }
    #expect(!hasEnded.withLock { $0 })
    third.release()
    #expect(try await waiter.value)
    #expect(try !third.tryAcquire(.shared))
  }

  @Test func `a lock goes with its holder`() throws {
    let (home, first, _) = try Self.pair()
    defer { _ = try? FileManager.default.removeItem(atPath: home) }
    do {
      let holder = try Holder(home)
      #expect(try holder.tryAcquire(.exclusive))
      #expect(try !first.tryAcquire(.shared))
    }
    #expect(try first.tryAcquire(.shared))
  }

  @Test func `a removed lock file is made anew and still excludes`() throws {
    let (home, first, second) = try Self.pair()
    defer { _ = try? FileManager.default.removeItem(atPath: home) }
    unlink(home + "/test.lock")
    #expect(try first.tryAcquire(.exclusive))
    #expect(try !second.tryAcquire(.exclusive))
  }

  @Test func `The length of the file changes with every change, and at its end begins anew`() throws
  {
    let (home, first, _) = try Self.pair()
    defer { _ = try? FileManager.default.removeItem(atPath: home) }
    for (before, after) in [(0, 1), (1, 2), (65535, 0)] {
      truncate(home + "/test.lock", before)
      first.announceChange()
      let attributes = try FileManager.default.attributesOfItem(atPath: home + "/test.lock")
      #expect(attributes[.size] as? Int == after)
    }
  }

  @Test func `The process that keeps a lock is named while it keeps it`() throws {
    let (home, first, second) = try Self.pair()
    defer { _ = try? FileManager.default.removeItem(atPath: home) }
    #expect(second.holder == nil)
    #expect(try first.tryAcquire(.exclusive))
    #expect(second.holder == Int(getpid()))
    first.release()
    #expect(second.holder == nil)
  }

  @Test
  func `A holder is found by device and inode, and by the inode alone where the device is another`()
  {
    let file = FileStatus.Identity(device: 0xFD01, inode: 77)
    let waiting = "1: -> FLOCK  ADVISORY  WRITE 11 fd:01:77 0 EOF"
    let posix = "2: POSIX  ADVISORY  WRITE 12 fd:01:77 0 EOF"
    let other = "3: FLOCK  ADVISORY  WRITE 13 fd:02:77 0 EOF"
    let held = "4: FLOCK  ADVISORY  WRITE 14 fd:01:77 0 EOF"
    #expect(
      FileLock.holder(of: file, in: [waiting, posix, other, held].joined(separator: "\n")) == 14)
    #expect(FileLock.holder(of: file, in: [waiting, posix, other].joined(separator: "\n")) == 13)
    #expect(FileLock.holder(of: file, in: [other, other].joined(separator: "\n")) == nil)
    #expect(FileLock.holder(of: file, in: "nonsense\n\n: : : : : : :") == nil)
  }

  @Test func `many threads never hold it together`() async throws {
    let home = OrdinaryUser.makeHome()
    defer { _ = try? FileManager.default.removeItem(atPath: home) }
    let inside = Lock(0)
    let waiters = try (0..<8).map { _ in
      let holder = try Holder(home)
      return Thread.result {
        for _ in 0..<50 {
          guard try holder.acquire(.exclusive, milliseconds: 60_000) else { return false }
          guard
            inside.withLock({
              $0 += 1
              return $0
            }) == 1
          else { return false }
          inside.withLock { $0 -= 1 }
          holder.release()
        }
        return true
      }
    }
    for waiter in waiters { #expect(try await waiter.value) }
  }
}

extension Thread {
  /// Runs what blocks on a thread of its own, not on one of the concurrency pool's.
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
