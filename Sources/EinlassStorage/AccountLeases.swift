internal import Einlass
internal import EinlassSystem

/// The leases of a store's accounts: `flock` on a file for each, in `locks/` beside the store (C-40).
///
/// One request of this process at a time waits for another process, on a thread of its own that the kernel wakes. One
/// that is cancelled meanwhile leaves at once; the thread then passes on what it gets.
final class AccountLeases: Sendable {
  /// How long another process may keep one: a request's 30 s, and a margin. Security C-41.
  private static let patienceMilliseconds = 45_000

  private let directory: String
  private let turns = Turns()
  private let threads = TaskThreads(name: "einlass-lease")

  /// Of the store at this place; makes nothing yet.
  init(_ location: StoreLocation) { directory = location.directory + "/locks" }

  /// Waits for the account's lease. Throws `cancelled`, and `accountStoreFailure` for a lock file that cannot be
  /// trusted or is not let go.
  func lease(_ account: Account.ID) async throws(Problem) -> Lease {
    let name = account.rawValue
    guard !name.isEmpty, name.utf8.allSatisfy(isFileNameCharacter) else {
      throw .unknownAccount(account)
    }
    guard await turns.take(name) else { throw .leaseCancelled }
    let (stream, continuation) = AsyncStream<Result<Lease, Problem>>.makeStream()
    Task(executorPreference: threads) {
      // A lease that nobody waits for any more ends here.
      continuation.yield(self.acquire(name))
    }
    for await result in stream { return try result.get() }
    throw .leaseCancelled
  }

  /// Locks the file on the calling thread. Has the turn, and gives it back unless there is a lease that will.
  private func acquire(_ name: String) -> Result<Lease, Problem> {
    do throws(Problem) {
      let file = "\(name).lock"
      let lock = try FileProblem.store { () throws(FileError) in
        let directory = try SafeDirectory.create(directory)
        var lock = try FileLock(file, in: directory)
        let isHeld = try lock.acquire(
          .exclusive, by: Deadline(milliseconds: Self.patienceMilliseconds))
        return isHeld ? Lock<FileLock?>(lock) : nil
      }
      guard let lock else {
        throw Problem.store(
          .locked, "Another process keeps the account's lock \(directory)/\(file). Try again.",
          path: "\(directory)/\(file)")
      }
      return .success(
        Lease {
          lock.withLock { lock in try? lock?.removeFile() }
        } end: {
          lock.withLock { $0 = nil }
          self.turns.give(name)
        })
    } catch {
      turns.give(name)
      return .failure(error)
    }
  }
}

/// What account ids are made of; nothing of it leads out of a directory.
private func isFileNameCharacter(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
    true
  default: false
  }
}

extension Problem {
  static let leaseCancelled = Problem(.cancelled, "The request was cancelled.")
}
