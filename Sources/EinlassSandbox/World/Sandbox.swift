import EinlassJSON

/// The state and the log, and the providers that answer from them, one request at a time.
actor Sandbox {
  private let initialState: JSONValue
  private var world: World
  private var log = RequestLog()
  private let clock: @Sendable () -> Int64

  /// A sandbox in this state; `clock` gives seconds since 1970.
  init(state: JSONValue, clock: @escaping @Sendable () -> Int64) {
    initialState = state
    world = World(state: state)
    self.clock = clock
  }

  /// What a client gets at the address of this provider, or at the shared one.
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

  /// What the control address says.
  func control(_ request: Request) -> Answer {
    Control.answer(request, state: &world.state, log: &log, initialState: initialState)
  }
}
