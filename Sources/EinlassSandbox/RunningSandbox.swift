import EinlassJSON
import FlyingSocks
import Glibc

/// The servers of a sandbox: the shared address, the addresses of single providers, and the control
/// address.
struct RunningSandbox: Sendable {
  private let sandbox: Sandbox
  private let repositories = GitRepositories()
  private let providers: Listener
  private let ownAddresses: [(name: String, listener: Listener)]
  private let control: Listener
  private let state: JSONValue

  /// Opens the ports at once; `run` begins to answer. Port 0 is any free one. Of the providers with
  /// an address of their own, only those in `owners` get it. `clock` returns seconds since 1970.
  init(
    port: UInt16 = 0, controlPort: UInt16 = 0, state: JSONValue = DemoState.whole,
    owners: [any Provider] = Providers.all, clock: @escaping @Sendable () -> Int64
  ) throws {
    let sandbox = Sandbox(state: state, repositories: repositories, clock: clock)
    self.sandbox = sandbox
    self.state = state
    providers = try Listener(port: port, bodyLimit: 1 << 20) { await sandbox.answer($0) }
    ownAddresses = try owners.filter(\.hasOwnAddress).map { provider in
      (
        provider.name,
        try Listener(port: 0, bodyLimit: 1 << 20) { await sandbox.answer($0, at: provider) }
      )
    }
    control = try Listener(port: controlPort, bodyLimit: 16 << 20) { await sandbox.control($0) }
  }

  /// Serves until the task is cancelled.
  func run() async throws {
    // Otherwise a disconnected client would end the process.
    signal(SIGPIPE, SIG_IGN)
    defer { repositories.remove() }
    // A single pool, because each pool takes a thread.
    let pool = SocketPool.make()
    try await pool.prepare()
    try await withThrowingTaskGroup { group in
      group.addTask { try await pool.run() }
      for listener in [providers, control] + ownAddresses.map(\.listener) {
        group.addTask { try await listener.run(pool) }
      }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  /// The line for the user: addresses, configuration and accounts.
  var announcement: JSONValue {
    DemoState.announcement(
      address: "http://127.0.0.1:\(providers.port)",
      ownAddresses: ownAddresses.map { ($0.name, "http://127.0.0.1:\($0.listener.port)") },
      control: "http://127.0.0.1:\(control.port)", state: state)
  }
}
