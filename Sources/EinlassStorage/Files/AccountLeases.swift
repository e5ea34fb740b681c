internal import Einlass
internal import EinlassSystem

/// The leases of a store's accounts, in order within this process.
///
/// A free lease is taken on the calling thread. To wait for another process, one request per
/// account at a time blocks on a thread of its own. A cancelled request returns at once; its thread
/// releases the lease as soon as it gets it.
final class AccountLeases: Sendable {
  /// Takes the lease of this name from the other processes, by the deadline, and calls `ended` when
  /// it ends. Returns `nil` if another process still has it then.
  typealias Acquire =
    @Sendable (_ name: String, Deadline, _ ended: @escaping @Sendable () -> Void) throws(Problem) ->
    Lease?

  /// A request to a provider takes at most 20 s, and may be repeated once; the rest is a margin.
  private static let patienceMilliseconds = 45_000

  private let acquire: Acquire
  private let turns = Turns()
  /// Limits the number of threads that wait for other processes.
  private let waits = Turns(places: 16)

  init(_ acquire: @escaping Acquire) { self.acquire = acquire }

  /// Waits for the account's lease. Throws `cancelled`, or `accountStoreFailure` for an untrusted
  /// lock file and for a lease that another process keeps too long.
  func lease(_ account: Account.ID) async throws(Problem) -> Lease {
    let name = account.rawValue
    guard !name.isEmpty, name.utf8.allSatisfy(isFileNameCharacter) else {
      throw .unknownAccount(account)
    }
    guard await turns.take(name) else { throw .leaseCancelled }
    do throws(Problem) {
      if let lease = try acquire(name, .now, { [turns] in turns.give(name) }) { return lease }
      guard await waits.take("") else { throw .leaseCancelled }
    } catch {
      turns.give(name)
      throw error
    }
    let (stream, continuation) = AsyncStream<Result<Lease, Problem>>.makeStream()
    do throws(SystemError) {
      // If the request was cancelled, the stream drops the lease, and its deinit releases it.
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

  /// Waits on the calling thread. The caller holds both turns. The account's turn passes to the
  /// returned lease; without a lease it is given back here.
  private func wait(for name: String) -> Result<Lease, Problem> {
    defer { waits.give("") }
    do throws(Problem) {
      let deadline = Deadline(milliseconds: Self.patienceMilliseconds)
      if let lease = try acquire(name, deadline, { [turns] in turns.give(name) }) {
        return .success(lease)
      }
      throw .store(.locked, "Another process holds the lock of \(name).")
    } catch {
      turns.give(name)
      return .failure(error)
    }
  }
}

extension AccountLeases {
  /// The leases of a store on disk: `flock` on one file per account, in `locks/` beside the store.
  /// Creates no files yet.
  convenience init(beside location: StoreLocation) {
    let directory = location.directory + "/locks"
    self.init { name, deadline, ended throws(Problem) in
      let isSignIn = name.hasPrefix(Lease.signInPrefix)
      let file = try FileProblem.store { () throws(FileError) in
        let locks = try SafeDirectory.create(directory)
        var file = try FileLock("\(name).lock", in: locks)
        let isHeld =
          isSignIn
          ? try file.acquirePassingOver(by: deadline, in: locks)
          : try file.acquire(.exclusive, by: deadline)
        return isHeld ? Lock<FileLock?>(file) : nil
      }
      guard let file else { return nil }
      if isSignIn { SignOfLife.start(on: file) }
      return Lease {
        file.withLock { file in try? file?.removeFile() }
      } isHeld: {
        file.withLock { file in file?.isInPlace ?? false }
      } end: {
        file.withLock { $0 = nil }
        ended()
      }
    }
  }
}

extension StoreLocation {
  /// Throws `locked` while a process holds the lease of an account or of a sign-in.
  func requireNoLease() throws(Problem) {
    if try holdsLease() { throw .leaseIsHeld(path) }
  }

  /// Whether a process holds the lease of an account, or of a sign-in.
  func holdsLease(besidesSignIns: Bool = false) throws(Problem) -> Bool {
    try FileProblem.store { () throws(FileError) in
      guard let directory = try SafeDirectory.open(self.directory + "/locks") else { return false }
      for name in try directory.names() where name.hasSuffix(".lock") {
        if besidesSignIns, name.hasPrefix(Lease.signInPrefix) { continue }
        // Without making a file that another process has just removed.
        guard var lock = try FileLock.existing(name, in: directory) else { continue }
        guard try lock.acquire(.exclusive, by: .now) else { return true }
      }
      return false
    }
  }
}

extension Problem {
  /// The store cannot be moved or migrated yet, because the new token could not be stored.
  static func leaseIsHeld(_ path: String) -> Problem {
    .store(
      .locked,
      "A sign-in or a renewal is under way at the account store \(path), and its token would be lost.",
      path: path)
  }
}

/// Matches the characters of account ids. None of them leads out of a directory.
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
