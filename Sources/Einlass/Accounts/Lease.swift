/// The right to change what is stored of an account by asking its provider: one request of one process has it.
///
/// Taken before the store is read and kept until the answer is written, so that nobody pays with a token that
/// somebody else is just replacing. Ends with the last who holds it. Security C-40, C-41.
public final class Lease: Sendable {
  private let leaveNothing: @Sendable () -> Void
  private let end: @Sendable () -> Void

  /// - Parameters:
  ///   - leaveNothing: removes what the lease is made of: the account is no more.
  ///   - end: lets the next one have it.
  public init(
    leaveNothing: @escaping @Sendable () -> Void = {}, end: @escaping @Sendable () -> Void
  ) {
    self.leaveNothing = leaveNothing
    self.end = end
  }

  deinit { end() }

  /// Holds it until here: for `defer`, because the last use of a value is otherwise its end.
  func keep() { withExtendedLifetime(self) {} }

  /// The account is no more: nothing stays behind.
  public func forget() { leaveNothing() }
}

extension AccountStore {
  /// How long a request without a person waits for another one's: as long as that may take.
  private static let leaseLimitSeconds: Int64 = 30

  /// The account's lease, or `accountStoreFailure` with `locked` when somebody keeps it too long.
  func lease(_ account: Account.ID, waiting effects: Effects) async throws(Problem) -> Lease {
    let lease = lease
    let result = await withTaskGroup(of: Result<Lease, Problem>?.self) {
      group -> Result<Lease, Problem>? in
      group.addTask { () -> Result<Lease, Problem>? in
        do throws(Problem) { return .success(try await lease(account)) } catch {
          return .failure(error)
        }
      }
      group.addTask {
        do throws(Problem) {
          try await effects.sleepUntil(effects.now() + Self.leaseLimitSeconds)
        } catch { if error.reason != .cancelled { return .failure(error) } }
        return nil
      }
      let first = await group.next() ?? nil
      group.cancelAll()
      if let first { return first }
      // It may have come in the same moment.
      let second = await group.next() ?? nil
      if case .success? = second { return second }
      return Task.isCancelled ? second : nil
    }
    guard let result else {
      throw .store(
        .locked, "Another request keeps the account's credentials. Try again.", account: account)
    }
    return try result.get()
  }

  /// What is stored of an account, read under its lease.
  func credentials(of account: Account.ID, under lease: Lease) throws(Problem) -> [StoredCredential]
  {
    do {
      return try credentials(account)
    } catch {
      if error.reason == .unknownAccount { lease.forget() }
      throw error
    }
  }
}
