internal import Einlass
internal import EinlassSystem

/// Keeps fresh what this process has handed out: a token is refreshed before it ends, without anybody asking. Seeds 4.5.
///
/// One sleeping task for each account and resource with a token that ends and can be refreshed. It ends when the
/// credential is forgotten, access is taken away, or a refresh fails in a way that does not pass.
final class Refresher: Sendable {
  enum Key: Hashable {
    case keepFresh(Account.ID, resource: String?)
    case finish(BegunRenewal)
  }

  private struct Job {
    var task: Task<Void, Never>
    /// When it goes on, if it sleeps.
    var wakesAt: UnixTime
  }

  /// Between a failure that may pass and the next attempt.
  private static let pauseSeconds: Int64 = 60

  private let jobs = Lock([Key: Job]())
  private let effects: Effects
  private let executor: @Sendable () -> (any TaskExecutor)?
  private let failed: @Sendable (CredentialRequest, Problem) -> Void

  /// `failed` is told why a credential is not refreshed any more.
  init(
    effects: Effects, executor: @escaping @Sendable () -> (any TaskExecutor)?,
    failed: @escaping @Sendable (CredentialRequest, Problem) -> Void
  ) {
    self.effects = effects
    self.executor = executor
    self.failed = failed
  }

  /// Looks after a credential that has just been handed out or stored, from now on. `engine` makes each attempt's, and
  /// holds nothing that has to be closed in order when the process ends: a sleeping task may be the last to go.
  ///
  /// - Parameter end: the token's; `nil` for a new one whose end has to be looked up.
  func lookAfter(
    _ request: CredentialRequest, endingAt end: UnixTime?,
    _ engine: @escaping @Sendable () -> Einlass?
  ) {
    // The clock may be moved on before the task gets to run.
    let now = effects.now()
    let key = Key.keepFresh(request.account, resource: request.resource)
    start(key, before: end ?? now) { [self] in
      await keepFresh(request, as: key, since: now, engine)
    }
  }

  /// Tries the renewals again that an ended process had begun. One that another process has in hand is waited for.
  func finish(
    _ begun: Set<BegunRenewal>, _ engine: @escaping @Sendable () -> Einlass?,
    _ request: @escaping @Sendable (Account.ID, _ resource: String?) -> CredentialRequest?
  ) {
    for renewal in begun {
      start(.finish(renewal), before: .max) {
        // Access may be gone, or the credential another application's.
        try? await engine()?.finish(renewal) { request(renewal.account, $0) }
      }
    }
  }

  /// Starts work of this name, unless there is some already that goes on before that moment.
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
        // A cancelled task has a successor of this name.
        self.jobs.withLock { if !Task.isCancelled { $0[key] = nil } }
      }
      jobs[key] = Job(task: task, wakesAt: moment)
    }
  }

  /// Keeps one credential fresh until there is nothing more to do for it.
  func keepFresh(
    _ request: CredentialRequest, as key: Key, since start: UnixTime,
    _ engine: @Sendable () -> Einlass?
  ) async {
    var latest = start
    while true {
      do throws(Problem) {
        guard let next = try engine()?.nextRefresh(request, since: latest) else { return }
        jobs.withLock { if !Task.isCancelled { $0[key]?.wakesAt = next } }
        try await effects.sleepUntil(next)
        // Nobody waits for the failure of an account that was signed out meanwhile.
        guard try engine()?.isSignedIn(request.account) == true else { return }
        latest = effects.now()
        _ = try await engine()?.credential(request)
      } catch {
        let mayPass = error.isRetryable || error.reason == .networkFailure
        // After an empty 400 a request of the front end tries the same refresh token, and the person can sign in.
        guard mayPass, error.reason != .reloginNeeded else {
          if !error.isSomebodysWish { failed(request, error) }
          return
        }
        latest = effects.now()
        guard (try? await effects.sleepUntil(latest + Self.pauseSeconds)) != nil else { return }
      }
    }
  }

  /// Nothing is refreshed any more.
  func end() {
    for job in jobs.withLock({ Array($0.values) }) { job.task.cancel() }
  }
}

extension Problem {
  /// Whether the refreshing ended because somebody wanted it to; other notifications tell of that.
  fileprivate var isSomebodysWish: Bool {
    [.cancelled, .accessNotGranted, .unknownAccount].contains(reason)
  }
}
