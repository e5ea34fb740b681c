internal import Einlass
internal import EinlassJSON
internal import EinlassSystem

/// A request that may wait for a person: its values for `auth.list`, and its end by a call or the
/// deadline.
final class PendingRequest: Sendable {
  /// The method's request.
  indirect enum Kind: Sendable {
    case perform(PerformRequest)
    case signIn(SignInRequest)
    /// A sign-in for a protected resource, before its provider is known.
    case locate(resource: String)
    /// A passphrase for a method that is no flow.
    case passphrase

    /// The provider's id; `nil` without one.
    var provider: String? {
      switch self {
      case .perform(let request): request.provider
      case .signIn(let request): request.provider
      case .locate, .passphrase: nil
      }
    }

    /// The sign-in that the request is, or may need.
    var signIn: SignInRequest? {
      switch self {
      case .perform(let request): request.signIn
      case .signIn(let request): request
      case .locate, .passphrase: nil
      }
    }

    /// The account that the front end has named.
    var account: Account.ID? {
      switch self {
      case .perform(let request): request.account
      case .signIn(let request): request.account
      case .locate, .passphrase: nil
      }
    }

    /// The front end's own registration at the provider.
    var registration: ClientRegistration? {
      switch self {
      case .perform(let request): request.registration
      case .signIn(let request): request.registration
      case .locate, .passphrase: nil
      }
    }

    /// Whether the request may ask the person.
    var isInteractive: Bool {
      if case .perform(let request) = self { request.isInteractive } else { true }
    }

    /// Whether the request stores a credential.
    var storesCredential: Bool {
      if case .perform(let request) = self { request.fetchesCredential } else { true }
    }
  }

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
    var kind: Kind
    var providerName: String
    var stage = Stage.access
    var explanation: String?
    @Indirect var grant: AccessGrant?
    @Indirect var end: End?
    /// Whether the flow or its request was cancelled. The flow then ends regardless of its work.
    var isOver = false
    var cancel: (@Sendable () -> Void)?
  }

  let id: String
  let application: String
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
    id: String, kind: Kind, of frontEnd: Session.FrontEnd, providerName: String = "",
    flowKind: FlowKind? = nil, startedAt: UnixTime, expiresAt: UnixTime,
    isDetached: Bool = false, request: JSONValue?
  ) {
    self.id = id
    application = frontEnd.application
    applicationTitle = frontEnd.title
    state = Lock(State(kind: kind, providerName: providerName))
    self.flowKind = flowKind
    self.startedAt = startedAt
    self.expiresAt = expiresAt
    self.isDetached = isDetached
    self.request = request
  }

  var kind: Kind { state.withLock { $0.kind } }
  var providerName: String { state.withLock { $0.providerName } }
  /// The provider's id; empty without one.
  var provider: String { kind.provider ?? "" }
  /// The protected resource, once it is known.
  var resource: String? { if case .signIn(let request) = kind { request.resource } else { nil } }

  /// Sets the sign-in of a located resource.
  func continues(as request: SignInRequest, at provider: Provider) {
    state.withLock {
      $0.kind = .signIn(request)
      $0.providerName = provider.name
    }
  }

  var stage: Stage {
    get { state.withLock { $0.stage } }
    set { state.withLock { $0.stage = newValue } }
  }

  /// The reason for the wait so far, for the error at the deadline.
  var explanation: String? {
    get { state.withLock { $0.explanation } }
    set { state.withLock { $0.explanation = newValue } }
  }

  /// The grant that the sign-in of this flow makes; `nil` if it makes none.
  var grant: AccessGrant? {
    get { state.withLock { $0.grant } }
    set { state.withLock { $0.grant = newValue } }
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
    case (.failure(let problem), .expired) where problem.reason == .cancelled:
      throw .expired(explanation)
    case (.failure(let problem), .failed(let cause)) where problem.reason == .cancelled: throw cause
    default: return try result.get()
    }
  }
}

extension Problem {
  fileprivate static func expired(_ explanation: String?) -> Problem {
    Problem(
      .flowExpired, explanation ?? "The person did not answer in time.", isRetryable: true)
  }
}

/// The pending flows in the order of their start.
final class PendingRequests: Sendable {
  private let running = Lock([PendingRequest]())

  var all: [PendingRequest] { running.withLock { $0 } }

  /// Returns the running flow with this id.
  subscript(_ id: String) -> PendingRequest? {
    running.withLock { $0.first { sameBytes($0.id, id) } }
  }

  func insert(_ flow: PendingRequest) { running.withLock { $0.append(flow) } }

  func remove(_ flow: PendingRequest) { running.withLock { $0.removeAll { $0 === flow } } }
}
