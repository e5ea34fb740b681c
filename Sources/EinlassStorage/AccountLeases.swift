internal import Einlass
internal import EinlassSystem

/// The leases of a store's accounts: `flock` on a file for each, in `locks/` beside the store (C-40).
///
/// One request of this process at a time waits for another process, on a thread of its own that the kernel wakes; a lease
/// that is free needs none. A request that is cancelled meanwhile leaves at once; the thread then passes on the lease.
final class AccountLeases: Sendable {
  /// How long another process may keep one: a request's 30 s, and a margin. Security C-41.
  private static let patienceMilliseconds = 45_000

  private let directory: String
  private let turns = Turns()
  /// Of the threads that wait for other processes.
  private let waits = Turns(places: 16)

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
    do throws(Problem) {
      if let lease = try acquire(name, by: .now) { return lease }
      guard await waits.take("") else { throw .leaseCancelled }
    } catch {
      turns.give(name)
      throw error
    }
    let (stream, continuation) = AsyncStream<Result<Lease, Problem>>.makeStream()
    do throws(SystemError) {
      // A lease that nobody waits for any more ends here.
      try WorkThread.start("einlass-lease") { continuation.yield(self.wait(for: name)) }
    } catch {
      waits.give("")
      turns.give(name)
      throw Problem(
        .internal, "The account's lock cannot be waited for, because \(error.explanation).",
        isRetryable: true)
    }
    for await result in stream { return try result.get() }
    throw .leaseCancelled
  }

  /// Waits on the calling thread. Has both turns, and gives back that of the account unless there is a lease that will.
  private func wait(for name: String) -> Result<Lease, Problem> {
    defer { waits.give("") }
    do throws(Problem) {
      let deadline = Deadline(milliseconds: Self.patienceMilliseconds)
      if let lease = try acquire(name, by: deadline) { return .success(lease) }
      let path = "\(directory)/\(name).lock"
      throw .store(
        .locked, "Another process keeps the account's lock \(path). Try again.", path: path)
    } catch {
      turns.give(name)
      return .failure(error)
    }
  }

  /// Locks the file, and gives the turn back at the lease's end; `nil` when another process keeps it until then.
  private func acquire(_ name: String, by deadline: Deadline) throws(Problem) -> Lease? {
    let file = try FileProblem.store { () throws(FileError) in
      var file = try FileLock("\(name).lock", in: SafeDirectory.create(directory))
      let isHeld = try file.acquire(.exclusive, by: deadline)
      return isHeld ? Lock<FileLock?>(file) : nil
    }
    guard let file else { return nil }
    return Lease {
      file.withLock { file in try? file?.removeFile() }
    } end: {
      file.withLock { $0 = nil }
      self.turns.give(name)
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
