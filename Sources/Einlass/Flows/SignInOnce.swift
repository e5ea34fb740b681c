internal import EinlassCrypto
internal import EinlassJSON

/// The last failed sign-ins of all processes, by the name of the sign-in. A waiting request reads
/// there why it has nothing to adopt.
///
/// No closure throws, because a missing record only causes another page.
public struct FailedSignIns: Sendable {
  /// A failure that the person or the provider has decided.
  public struct Failure: Sendable, Equatable {
    /// Random bytes as text, to tell one failure from the next.
    public var id: String
    public var at: UnixTime
    public var reason: Problem.Reason
    public var message: String

    public init(id: String, at: UnixTime, reason: Problem.Reason, message: String) {
      self.id = id
      self.at = at
      self.reason = reason
      self.message = message
    }
  }

  public var last: @Sendable (_ name: String) -> Failure?
  public var record: @Sendable (_ name: String, Failure) -> Void

  public init(
    last: @escaping @Sendable (String) -> Failure?,
    record: @escaping @Sendable (String, Failure) -> Void
  ) {
    self.last = last
    self.record = record
  }

  /// For a store that ends with its process.
  public static let none = FailedSignIns(last: { _ in nil }, record: { _, _ in })
}

extension Einlass {
  /// The time before a waiting request reports its wait, in seconds. Most leases are free.
  private static let quietSeconds: Int64 = 1

  /// Runs a sign-in, unless another request of any process is at the same one. Then waits for its
  /// end and takes over its success or its failure, so that many programs open a single page. The
  /// lease of an ended process is free, and a stopped one is passed over, so the next request opens
  /// the page instead. After a stopped process goes on, an answer on its page is still good, but its
  /// failure decides nothing.
  ///
  /// - Parameter adopted: returns the result if the other sign-in has made it possible.
  func signInOnce<Success: Sendable>(
    _ request: SignInRequest, asking asker: Asker,
    adopting adopted: () async throws(Problem) -> Success?,
    else signIn: () async throws(Problem) -> Success
  ) async throws(Problem) -> Success {
    let name = request.turnName
    let former = store.failedSignIns.last(name)
    let lease = try await turn(name, asker)
    defer { lease.keepAlive() }
    if let failure = store.failedSignIns.last(name), failure != former {
      throw Problem(
        failure.reason, "The sign-in of another program has ended: \(failure.message)",
        provider: request.provider, account: request.account)
    }
    if let result = try await adopted() { return result }
    do throws(Problem) { return try await signIn() } catch {
      guard lease.isHeld() else {
        if let result = try await adopted() { return result }
        throw error
      }
      if error.decidesForOthers {
        let id = Base64URL.encode(effects.randomBytes(12))
        store.failedSignIns.record(
          name, .init(id: id, at: effects.now(), reason: error.reason, message: error.message))
      }
      throw error
    }
  }

  /// Waits for the end of the same sign-in elsewhere, as long as the request lasts.
  private func turn(_ name: String, _ asker: Asker) async throws(Problem) -> Lease {
    async let _ = reportWait(asker)
    while true {
      do throws(Problem) { return try await store.lease(Account.ID(rawValue: name)) } catch {
        // A wait for a person may last longer than a lease's patience.
        guard error.detail == Problem.StoreDetail.locked.rawValue else { throw error }
      }
    }
  }

  /// Returns the generation of the credential that a sign-in to the account replaces; `nil` if there
  /// is none.
  func tokenGeneration(of account: Account.ID, _ request: SignInRequest) -> Int64? {
    guard let provider = try? catalog.provider(request.provider),
      let registration = try? store.registration(
        request.registration, at: provider, for: account, by: request.flowKind,
        resource: request.resource)
    else { return nil }
    return try? store.credentials(account)
      .stored(under: registration, for: request.resource)?.generation
  }

  private func reportWait(_ asker: Asker) async {
    do throws(Problem) {
      try await effects.sleepUntil(effects.now() + Self.quietSeconds)
      asker.report(.awaitingSignIn)
    } catch {}
  }
}

extension AccountStore {
  /// Returns the number of the store's last change.
  func revision() throws(Problem) -> Int64 {
    try read { reader throws(Problem) in try reader.revision }
  }
}

extension SignInRequest {
  /// The name of the lease that equal sign-ins share.
  fileprivate var turnName: String {
    let parts = [
      provider, registration?.clientID ?? "", account?.rawValue ?? "", resource ?? "",
      (scopes ?? resourceScopes).sorted().joined(separator: " "), flowKind?.rawValue ?? "",
      assertionFrom?.rawValue ?? "",
    ]
    let digest = Digest.sha256(Array(parts.joined(separator: "\n").utf8))
    return Lease.signInPrefix + Base64URL.encode(Array(digest.prefix(16)))
  }
}

extension Problem {
  /// Whether a repetition of the sign-in by another program would only ask the person again.
  fileprivate var decidesForOthers: Bool {
    switch reason {
    case .userCanceled, .accessDenied, .stateMismatch, .verificationFailed, .providerFailure: true
    default: false
    }
  }
}
