import EinlassJSON
import Glibc

/// The two servers around one sandbox.
struct RunningSandbox: Sendable {
  private let sandbox: Sandbox
  private let providers: Listener
  private let control: Listener
  private let state: JSONValue

  /// Listens at once, but answers only when run. Port 0 is any free one; `clock` gives seconds since 1970.
  init(
    port: UInt16 = 0, controlPort: UInt16 = 0, state: JSONValue = DemoState.whole,
    clock: @escaping @Sendable () -> Int64
  ) throws {
    let sandbox = Sandbox(state: state, clock: clock)
    self.sandbox = sandbox
    self.state = state
    providers = try Listener(port: port, bodyLimit: 1 << 20) { await sandbox.answer($0) }
    control = try Listener(port: controlPort, bodyLimit: 16 << 20) { await sandbox.control($0) }
  }

  /// Serves until the task is cancelled.
  func run() async throws {
    // A client that has gone away is no reason to end.
    signal(SIGPIPE, SIG_IGN)
    try await withThrowingTaskGroup { group in
      group.addTask { try await providers.run() }
      group.addTask { try await control.run() }
      try await group.next()
      group.cancelAll()
    }
  }

  /// What a user needs to know.
  var announcement: JSONValue {
    DemoState.announcement(
      address: "http://127.0.0.1:\(providers.port)",
      control: "http://127.0.0.1:\(control.port)", state: state)
  }
}
