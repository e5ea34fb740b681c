internal import Einlass
internal import EinlassSystem

/// Refreshes the tokens that this process has handed out before they expire, without a request.
///
/// Each account and resource with an expiring, refreshable token has one sleeping task. The task
/// ends when the credential is removed, access is revoked, or a refresh fails permanently.
final class Refresher: Sendable {
  enum Key: Hashable {
    case refresh(Account.ID, resource: String?)
    case finish(BegunRenewal)
  }

  private struct Job {
    var task: Task<Void, Never>
    /// The time at which the sleeping task continues.
    var wakesAt: UnixTime
  }

  /// The pause after a temporary failure.
  private static let pauseSeconds: Int64 = 60

  private let jobs = Lock([Key: Job]())
  private let effects: Effects
  private let executor: @Sendable () -> (any TaskExecutor)?
  private let failed: @Sendable (CredentialRequest, Problem) -> Void

  /// - Parameter failed: Receives the problem that ended the refreshing of a credential.
  init(
    effects: Effects, executor: @escaping @Sendable () -> (any TaskExecutor)?,
    failed: @escaping @Sendable (CredentialRequest, Problem) -> Void
  ) {
    self.effects = effects
    self.executor = executor
    self.failed = failed
  }

  /// Starts to refresh a credential that was just handed out or stored.
  ///
  /// - Parameters:
  ///   - end: The expiry of the token; `nil` if it must be read from the store.
  ///   - engine: Makes the engine of each attempt. It must not own anything that must be closed in
  ///     order at the end of the process, because a sleeping task may be released last.
  func scheduleRefresh(
    of request: CredentialRequest, endingAt end: UnixTime?,
    _ engine: @escaping @Sendable () -> Einlass?
  ) {
    // Read the clock here, because it may be moved before the task runs.
    let now = effects.now()
    let key = Key.refresh(request.account, resource: request.resource)
    start(key, before: end ?? now) { [self] in
      await refresh(request, as: key, since: now, engine)
    }
  }

  /// Finishes the renewals that an ended process had begun. If another process is finishing one,
  /// this waits for it.
  func finish(
    _ begun: Set<BegunRenewal>, _ engine: @escaping @Sendable () -> Einlass?,
    _ request: @escaping @Sendable (Account.ID, _ resource: String?) -> CredentialRequest?
  ) {
    for renewal in begun {
      start(.finish(renewal), before: .max) {
        // Failures are ignored: access may be revoked, or the credential may belong to another
        // application.
        try? await engine()?.finish(renewal) { request(renewal.account, $0) }
      }
    }
  }

  /// Starts a job, unless there is one of this key that wakes before that moment.
  private func start(
    _ key: Key, before moment: UnixTime, _ work: @escaping @Sendable () async -> Void
  ) {
    guard let executor = executor() else { return }
    jobs.withLock { jobs in
      if let job = jobs[key] {
        guard moment < job.wakesAt else { return }
        job.task.cancel()
      }
      let task = Task(executorPreference: executor) { [self] in
        await work()
        // A cancelled task was replaced by another one of this key.
        self.jobs.withLock { if !Task.isCancelled { $0[key] = nil } }
      }
      jobs[key] = Job(task: task, wakesAt: moment)
    }
  }

  /// Refreshes one credential until there is nothing left to do for it.
  func refresh(
    _ request: CredentialRequest, as key: Key, since start: UnixTime,
    _ engine: @Sendable () -> Einlass?
  ) async {
    var latest = start
    while true {
      do throws(Problem) {
        guard let next = try engine()?.nextRefresh(request, since: latest) else { return }
        jobs.withLock { if !Task.isCancelled { $0[key]?.wakesAt = next } }
        try await effects.sleepUntil(next)
        guard try engine()?.isSignedIn(request.account) == true else { return }
        latest = effects.now()
        _ = try await engine()?.credential(request)
      } catch {
        // The failure of an account that was signed out meanwhile concerns nobody.
        guard (try? engine()?.isSignedIn(request.account)) != false else { return }
        // The network that a machine visits may give any name an address of its own.
        let mayPass =
          error.isRetryable || error.reason == .networkFailure || error.detail == Problem.notPublic
        // A retryable `reloginNeeded` comes from an empty 400 response. The next `credentials.get`
        // tries the same refresh token, or the person signs in.
        guard mayPass, error.reason != .reloginNeeded else {
          if !error.isIntended { failed(request, error) }
          return
        }
        latest = effects.now()
        guard (try? await effects.sleepUntil(latest + Self.pauseSeconds)) != nil else { return }
      }
    }
  }

  /// Ends all refreshing.
  func end() {
    for job in jobs.withLock({ Array($0.values) }) { job.task.cancel() }
  }
}

extension Problem {
  /// Whether the refreshing ended on purpose. Other notifications report those events.
  fileprivate var isIntended: Bool {
    [.cancelled, .accessNotGranted, .unknownAccount].contains(reason)
  }
}
