/// The exclusive right of one request of one process to change an account's credentials through its
/// provider.
///
/// Taken before the credentials are read and kept until the answer is stored, so that no request
/// uses a token that another request is replacing. Ends when the last reference is released.
public final class Lease: Sendable {
  /// The beginning of the names of sign-ins. Such a lease lasts as long as a person takes, and no id
  /// of an account begins so.
  public static let signInPrefix = "sign-in-"

  private let removeLockFile: @Sendable () -> Void
  private let end: @Sendable () -> Void
  /// Throws `accountStoreFailure` with detail `locked` if the lease may end before the answer to a
  /// request that is sent now. Called before each request to a provider.
  let requireTime: @Sendable () throws(Problem) -> Void
  /// Whether no other process has passed over this one while it was stopped.
  let isHeld: @Sendable () -> Bool

  /// - Parameters:
  ///   - removeLockFile: removes the lease's lock file, after the account was removed.
  ///   - requireTime: throws if too little is left of a lease that ends by itself.
  ///   - isHeld: returns `false` after another process has passed over this one.
  ///   - end: lets the next request take the lease.
  public init(
    removeLockFile: @escaping @Sendable () -> Void = {},
    requireTime: @escaping @Sendable () throws(Problem) -> Void = {},
    isHeld: @escaping @Sendable () -> Bool = { true },
    end: @escaping @Sendable () -> Void
  ) {
    self.requireTime = requireTime
    self.isHeld = isHeld
    self.removeLockFile = removeLockFile
    self.end = end
  }

  deinit { end() }

  /// Keeps the lease alive until here. For `defer`, because Swift may release a value after its
  /// last use.
  func keepAlive() { withExtendedLifetime(self) {} }

  /// Removes the lease's lock file, after the account was removed.
  public func forget() { removeLockFile() }
}

extension Effects {
  /// Returns the same effects, with requests that are sent only while enough of the lease is left.
  func holding(_ lease: Lease) -> Effects {
    let (requireTime, send) = (lease.requireTime, send)
    return with(send: { request throws(Problem) in
      try requireTime()
      return try await send(request)
    })
  }
}

extension AccountStore {
  /// Returns the account's lease, or `nil` as soon as `isSettled` finds that another machine has done
  /// the work. A remote store is asked each second, because all that wait would otherwise take the
  /// lease one after the other.
  func lease(
    _ account: Account.ID, waiting effects: Effects,
    unless isSettled: @escaping @Sendable () -> Bool
  ) async throws(Problem) -> Lease? {
    guard isRemote else { return try await lease(account, waiting: effects) }
    let result = await withTaskGroup(of: Result<Lease?, Problem>.self) { group in
      group.addTask {
        do throws(Problem) {
          return .success(try await self.lease(account, waiting: effects))
        } catch {
          return .failure(error)
        }
      }
      group.addTask {
        while (try? await effects.sleepUntil(effects.now() + 1)) != nil {
          if isSettled() { return .success(nil) }
        }
        return .failure(Problem(.cancelled, "The request was cancelled."))
      }
      let first = await group.next()
      group.cancelAll()
      return first
    }
    return try result?.get() ?? nil
  }

  /// The longest wait for another request's lease. No request without a person takes longer.
  private static let leaseLimitSeconds: Int64 = 30

  /// Returns the account's lease. Throws `accountStoreFailure` with detail `locked` if another
  /// request keeps it too long.
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
      // The lease may have arrived, or failed, at the moment of the timeout.
      let second = await group.next() ?? nil
      if case .failure(let problem)? = second, problem.reason == .cancelled, !Task.isCancelled {
        return nil
      }
      return second
    }
    guard let result else {
      throw .store(
        .locked, "Another request is using the account's credentials.", account: account)
    }
    return try result.get()
  }

  /// Returns the account's credentials, read under its lease.
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
