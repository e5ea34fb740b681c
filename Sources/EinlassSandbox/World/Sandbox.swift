import EinlassJSON

/// The state, the log and the providers. As an actor it processes one request at a time, except for
/// delays.
actor Sandbox {
  private let initialState: JSONValue
  private var world: World
  private var log = RequestLog()
  private let clock: @Sendable () -> Int64

  /// Creates a sandbox with this state. `clock` returns seconds since 1970.
  init(
    state: JSONValue, repositories: GitRepositories, clock: @escaping @Sendable () -> Int64
  ) {
    initialState = state
    world = World(state: state, repositories: repositories)
    self.clock = clock
  }

  /// Returns the answer of this provider or, with `nil`, of the provider that owns the request.
  func answer(_ request: Request, at own: (any Provider)? = nil) async -> Answer {
    world.machineTime = clock()
    world.checks = []
    let provider = own ?? Providers.owner(of: request)
    let fault = Fault.take(for: request, from: &world)
    var answer: Answer?
    if fault?.worksFirst ?? true { answer = provider.answer(request, in: &world) }
    let sent = fault?.answer(insteadOf: answer) ?? answer ?? .text("")
    log.add(request, provider: provider.name, world: world, answer: sent, fault: fault?.name)
    if let milliseconds = fault?.delayMilliseconds, milliseconds > 0 {
      try? await Task.sleep(for: .milliseconds(milliseconds))
    }
    return sent
  }

  func control(_ request: Request) -> Answer {
    if request.path == "/reset", request.method == "POST" { world.repositories.remove() }
    return Control.answer(request, state: &world.state, log: &log, initialState: initialState)
  }
}
