import FlyingSocks
import Glibc

/// An HTTP/1.1 server on 127.0.0.1, without TLS.
struct Listener: Sendable {
  /// The port in use.
  let port: UInt16
  private let socket: Socket
  private let bodyLimit: Int
  private let handler: @Sendable (Request) async -> Answer

  /// Listens on this port, or on any free one for 0.
  ///
  /// - Throws: `SocketError` if the port is taken.
  init(
    port: UInt16, bodyLimit: Int, handler: @escaping @Sendable (Request) async -> Answer
  ) throws {
    let socket = try Socket(domain: AF_INET)
    try socket.setValue(true, for: .localAddressReuse)
    try socket.bind(to: .inet(ip4: "127.0.0.1", port: port))
    try socket.listen()
    guard case .ip4(_, let port) = try socket.sockname() else {
      throw SocketError.unsupportedAddress
    }
    self.port = port
    self.socket = socket
    self.bodyLimit = bodyLimit
    self.handler = handler
  }

  /// Serves until the task is cancelled, then closes the port for good. The caller also runs the
  /// pool.
  func run(_ pool: some AsyncSocketPool) async throws {
    defer { try? socket.close() }
    try await accept(from: AsyncSocket(socket: socket, pool: pool))
  }

  private func accept(from listening: AsyncSocket) async throws {
    try await withThrowingDiscardingTaskGroup { group in
      for try await socket in listening.sockets {
        group.addTask {
          defer { try? socket.close() }
          var connection = Connection(socket: socket, bodyLimit: bodyLimit)
          // Errors end only this connection, for example when the client disconnects.
          try? await connection.serve(handler)
        }
      }
    }
  }
}
