internal import Einlass
internal import EinlassSystem

/// Keeps fresh what this process has handed out: a token is refreshed before it ends, without anybody asking. Seeds 4.5.
///
/// One sleeping task for each account and resource with a token that ends and can be refreshed. It ends when the
/// credential is forgotten, access is taken away, or a refresh fails in a way that does not pass.
final class Refresher: Sendable {
  private enum Key: Hashable {
    case keepFresh(Account.ID, resource: String?)
    case finish(BegunRenewal)
  }

  private let sleeping = Lock([Key: Task<Void, Never>]())
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
  func lookAfter(_ request: CredentialRequest, _ engine: @escaping @Sendable () -> Einlass?) {
    // Whatever moves the clock on before the task gets to run.
    let now = effects.now()
    start(.keepFresh(request.account, resource: request.resource)) { [self] in
      await keepFresh(request, since: now, engine)
    }
  }

  /// Tries the renewals again that an ended process had begun. One that another process has in hand is waited for.
  func finish(
    _ begun: Set<BegunRenewal>, _ engine: @escaping @Sendable () -> Einlass?,
    _ request: @escaping @Sendable (Account.ID, _ resource: String?) -> CredentialRequest?
  ) {
    for renewal in begun {
      start(.finish(renewal)) {
        // Access may be gone, or the credential another application's.
        try? await engine()?.finish(renewal) { request(renewal.account, $0) }
      }
    }
  }

  /// Starts work of this name unless there is some already.
  private func start(_ key: Key, _ work: @escaping @Sendable () async -> Void) {
    guard let executor = executor() else { return }
    sleeping.withLock { sleeping in
      guard sleeping[key] == nil else { return }
      sleeping[key] = Task(executorPreference: executor) { [self] in
        await work()
        self.sleeping.withLock { $0[key] = nil }
      }
    }
  }

  private func keepFresh(
    _ request: CredentialRequest, since start: UnixTime, _ engine: @Sendable () -> Einlass?
  ) async {
    var latest = start
    while let next = try? engine()?.nextRefresh(request, since: latest) {
      guard (try? await effects.sleepUntil(next)) != nil else { return }
      latest = effects.now()
      do throws(Problem) { _ = try await engine()?.credential(request) } catch {
        guard error.isRetryable || error.reason == .networkFailure else {
          if !error.isSomebodysWish { failed(request, error) }
          return
        }
      }
    }
  }

  /// Nothing is refreshed any more.
  func end() {
    for task in sleeping.withLock({ Array($0.values) }) { task.cancel() }
  }
}

extension Problem {
  /// Whether the refreshing ended because somebody wanted it to; other notifications tell of that.
  fileprivate var isSomebodysWish: Bool {
    [.cancelled, .accessNotGranted, .unknownAccount].contains(reason)
  }
}
