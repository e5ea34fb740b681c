internal import Einlass
internal import EinlassJSON
internal import EinlassSystem

/// One running flow: what `auth.list` shows of it, and how it is ended from outside; or a request that is no flow and
/// waits for the person all the same.
final class RunningFlow: Sendable {
  /// Why a flow ended before its own end.
  enum End: Sendable, Equatable {
    /// The deadline passed.
    case expired
    /// `auth.cancel`.
    case cancelledByCall
    /// Its deadline could not be watched.
    case failed(Problem)
  }

  private struct State {
    var wish: PerformRequest
    var providerName: String
    var stage = Stage.access
    var end: End?
    /// It ends whatever it does: it or its request was cancelled.
    var isOver = false
    var cancel: (@Sendable () -> Void)?
  }

  let id: String
  let applicationTitle: String?
  /// `nil` when it is no flow; then it is about no provider either.
  let flowKind: FlowKind?
  let startedAt: UnixTime
  let expiresAt: UnixTime
  let isDetached: Bool
  /// The JSON-RPC id of the request, `nil` when detached.
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

  /// What the front end asked for, application and provider included.
  var wish: PerformRequest { state.withLock { $0.wish } }
  var providerName: String { state.withLock { $0.providerName } }
  /// The protected resource that it is for, once its name is known.
  var resource: String? { wish.signIn?.resource }

  /// It is known now at which provider it goes on, and as what.
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

  /// Why it was ended from outside, if it was.
  var end: End? { state.withLock { $0.end } }

  /// Whether it, or its request, was cancelled.
  var isOver: Bool { state.withLock { $0.isOver } }

  /// Ends it; the first reason counts.
  func end(_ reason: End) {
    let cancel = state.withLock { state -> (@Sendable () -> Void)? in
      if state.end == nil { state.end = reason }
      state.isOver = true
      return state.cancel
    }
    cancel?()
  }

  /// Runs the work so that `end` can cancel it, as the cancellation of the calling task does.
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

/// The flows that run now, in the order of their start.
final class Flows: Sendable {
  private let running = Lock([RunningFlow]())

  var all: [RunningFlow] { running.withLock { $0 } }

  /// The running flow of this id.
  subscript(_ id: String) -> RunningFlow? {
    running.withLock { $0.first { sameBytes($0.id, id) } }
  }

  func insert(_ flow: RunningFlow) { running.withLock { $0.append(flow) } }

  func remove(_ flow: RunningFlow) { running.withLock { $0.removeAll { $0 === flow } } }
}
