internal import Einlass
internal import EinlassSystem

/// Keeps fresh what this process has handed out: a token is refreshed before it ends, without anybody asking. Seeds 4.5.
///
/// One sleeping task for each account, and resource, whose token ends and can be refreshed, and none for any other. It ends when the
/// credential is forgotten, access taken away, or only the person can help.
final class Refresher: Sendable {
  private struct Key: Hashable {
    var account: Account.ID
    var resource: String?
  }

  private let sleeping = Lock([Key: Task<Void, Never>]())
  private let effects: Effects
  private let executor: @Sendable () -> (any TaskExecutor)?

  init(effects: Effects, executor: @escaping @Sendable () -> (any TaskExecutor)?) {
    self.effects = effects
    self.executor = executor
  }

  /// Looks after a credential that is just handed out, from now on. `engine` makes each attempt's, and holds nothing that
  /// has to be closed in order when the process ends: a sleeping task may be the last to go.
  func lookAfter(
    _ credential: Credential, _ request: CredentialRequest,
    _ engine: @escaping @Sendable () -> Einlass?
  ) {
    guard case .oauth2(let token) = credential, token.expiresAt != nil, let executor = executor()
    else { return }
    let key = Key(account: request.account, resource: request.resource)
    // Whatever moves the clock on before the task gets to run.
    let now = effects.now()
    sleeping.withLock { sleeping in
      guard sleeping[key] == nil else { return }
      sleeping[key] = Task(executorPreference: executor) { [self] in
        await keepFresh(request, since: now, engine)
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
        guard error.isRetryable || error.reason == .networkFailure else { return }
      }
    }
  }

  /// Nothing is refreshed any more.
  func end() {
    for task in sleeping.withLock({ Array($0.values) }) { task.cancel() }
  }
}
