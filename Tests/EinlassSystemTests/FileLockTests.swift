import Foundation
import TestSupport
import Testing

@testable import EinlassSystem

struct FileLockTests {
  /// Two holders of one lock, with separate descriptors as in two processes.
  private static func pair() throws -> (home: String, first: Holder, second: Holder) {
    let home = OrdinaryUser.makeHome()
    return (home, try Holder(home), try Holder(home))
  }

  /// A lock in a class, because a noncopyable value cannot be in a tuple or move to another thread.
  final class Holder: @unchecked Sendable {
    private var lock: FileLock

    private let path: String

    /// Whether a thread is blocked in `flock` on the file.
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
  func `Only shared locks can be held together`(_ held: FileLock.Mode, _ wanted: FileLock.Mode)
    throws
  {
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
  func `A waiter gets the lock on release, also after other waiters have given up`()
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
  func `A waiter that gives up leaves no blocked thread behind`(_ milliseconds: Int) throws {
    let (home, first, second) = try Self.pair()
    defer { _ = try? FileManager.default.removeItem(atPath: home) }
    #expect(try !second.isWaitedFor())
    #expect(try first.acquire(.exclusive, milliseconds: 0))
    for _ in 0..<100 { #expect(try !second.acquire(.exclusive, milliseconds: milliseconds)) }
    #expect(try !second.isWaitedFor())
    // No abandoned waiter takes the lock even for a moment.
    first.release()
    for _ in 0..<100 {
      #expect(try first.tryAcquire(.exclusive))
      first.release()
    }
  }

  @Test func `A lock file that is replaced while a thread waits for it still excludes`()
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

  @Test func `A lock is released when its holder is deinitialized`() throws {
    let (home, first, _) = try Self.pair()
    defer { _ = try? FileManager.default.removeItem(atPath: home) }
    do {
      let holder = try Holder(home)
      #expect(try holder.tryAcquire(.exclusive))
      #expect(try !first.tryAcquire(.shared))
    }
    #expect(try first.tryAcquire(.shared))
  }

  @Test func `A removed lock file is created again and still excludes`() throws {
    let (home, first, second) = try Self.pair()
    defer { _ = try? FileManager.default.removeItem(atPath: home) }
    unlink(home + "/test.lock")
    #expect(try first.tryAcquire(.exclusive))
    #expect(try !second.tryAcquire(.exclusive))
  }

  @Test func `Every announced change changes the length of the file, which wraps at its maximum`()
    throws
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

  @Test func `The process that holds a lock is named while it holds it`() throws {
    let (home, first, second) = try Self.pair()
    defer { _ = try? FileManager.default.removeItem(atPath: home) }
    #expect(second.holder == nil)
    #expect(try first.tryAcquire(.exclusive))
    #expect(second.holder == Int(getpid()))
    first.release()
    #expect(second.holder == nil)
  }

  @Test
  func `A holder is found by device and inode, or by the inode alone if no device matches`() {
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

  @Test func `Many threads never hold a lock together`() async throws {
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
