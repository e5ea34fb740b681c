internal import Einlass
internal import EinlassJSON
internal import EinlassSystem

/// A running flow: its values for `auth.list`, and its end by a call or the deadline. It also
/// represents a request that asks for a passphrase without being a flow.
final class RunningFlow: Sendable {
  /// The reason for an early end.
  enum End: Sendable, Equatable {
    /// The deadline passed.
    case expired
    /// The client called `auth.cancel`.
    case cancelledByCall
    /// The deadline cannot be watched.
    case failed(Problem)
  }

  private struct State {
    var wish: PerformRequest
    var providerName: String
    var stage = Stage.access
    var end: End?
    /// Whether the flow or its request was cancelled. The flow then ends regardless of its work.
    var isOver = false
    var cancel: (@Sendable () -> Void)?
  }

  let id: String
  let applicationTitle: String?
  /// The kind of flow; `nil` for a request that is no flow. Such a request has no provider either.
  let flowKind: FlowKind?
  let startedAt: UnixTime
  let expiresAt: UnixTime
  let isDetached: Bool
  /// The JSON-RPC id of the request; `nil` if detached.
  let request: JSONValue?
  private let state: Lock<State>

  init(
    id: String, wish: PerformRequest, applicationTitle: String?, providerName: String,
    flowKind: FlowKind?, startedAt: UnixTime, expiresAt: UnixTime, isDetached: Bool,
    request: JSONValue?
  ) {
    self.id = id
    self.applicationTitle = applicationTitle
    state = Lock(State(wish: wish, providerName: providerName))
    self.flowKind = flowKind
    self.startedAt = startedAt
    self.expiresAt = expiresAt
    self.isDetached = isDetached
    self.request = request
  }

  /// The request of the front end, with application and provider.
  var wish: PerformRequest { state.withLock { $0.wish } }
  var providerName: String { state.withLock { $0.providerName } }
  /// The protected resource, once it is known.
  var resource: String? { wish.signIn?.resource }

  /// Sets the request and the provider that the flow continues with, once they are known.
  func goesOn(as wish: PerformRequest, at provider: Provider) {
    state.withLock {
      $0.wish = wish
      $0.providerName = provider.name
    }
  }

  var application: String { wish.application }
  var provider: String { wish.provider }

  var stage: Stage {
    get { state.withLock { $0.stage } }
    set { state.withLock { $0.stage = newValue } }
  }

  /// The reason for an early end.
  var end: End? { state.withLock { $0.end } }

  /// Whether the flow or its request was cancelled.
  var isOver: Bool { state.withLock { $0.isOver } }

  /// Ends the flow. The first reason counts.
  func end(_ reason: End) {
    let cancel = state.withLock { state -> (@Sendable () -> Void)? in
      if state.end == nil { state.end = reason }
      state.isOver = true
      return state.cancel
    }
    cancel?()
  }

  /// Runs the work. Both `end` and the cancellation of the calling task cancel it.
  func run<Success: Sendable>(
    on executor: any TaskExecutor,
    _ work: @escaping @Sendable () async throws(Problem) -> Success
  ) async throws(Problem) -> Success {
    let task = Task(executorPreference: executor) { () -> Result<Success, Problem> in
      do throws(Problem) { return .success(try await work()) } catch { return .failure(error) }
    }
    let isEnded = state.withLock { state -> Bool in
      state.cancel = { task.cancel() }
      return state.end != nil
    }
    if isEnded { task.cancel() }
    let result = await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      state.withLock { $0.isOver = true }
      task.cancel()
    }
    switch (result, end) {
    case (.failure(let problem), .expired) where problem.reason == .cancelled: throw .expired
    case (.failure(let problem), .failed(let cause)) where problem.reason == .cancelled: throw cause
    default: return try result.get()
    }
  }
}

extension Problem {
  fileprivate static let expired = Problem(
    .flowExpired, "Nobody answered in time. Start again, with a longer deadlineSeconds if needed.",
    isRetryable: true)
}

/// The running flows in the order of their start.
final class Flows: Sendable {
  private let running = Lock([RunningFlow]())

  var all: [RunningFlow] { running.withLock { $0 } }

  /// Returns the running flow with this id.
  subscript(_ id: String) -> RunningFlow? {
    running.withLock { $0.first { sameBytes($0.id, id) } }
  }

  func insert(_ flow: RunningFlow) { running.withLock { $0.append(flow) } }

  func remove(_ flow: RunningFlow) { running.withLock { $0.removeAll { $0 === flow } } }
}
