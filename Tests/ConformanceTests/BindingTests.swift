import EinlassJSON
import Foundation
import Glibc
import Testing

/// An edit of the store without its key cannot send a credential to another server.
@Suite struct BindingTests {
  /// A server on the loopback address that counts connections and never answers.
  private final class Listener: @unchecked Sendable {
    let port: UInt16
    private let descriptor: Int32
    private let lock = NSLock()
    private var count = 0

    init() throws {
      descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let descriptor = descriptor
      let isListening = withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(descriptor, $0, length) == 0 && listen(descriptor, 8) == 0
            && getsockname(descriptor, $0, &length) == 0
        }
      }
      try #require(isListening)
      port = UInt16(bigEndian: address.sin_port)
      Thread { self.serve() }.start()
    }

    var connections: Int { lock.withLock { count } }
    func close() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    private func serve() {
      while case let accepted = accept(descriptor, nil, nil), accepted >= 0 {
        lock.withLock { count += 1 }
        Glibc.close(accepted)
      }
      Glibc.close(descriptor)
    }
  }

  /// The SQL of an edit, with `{new}` for the new address, and the possible error codes; none for
  /// the negative control.
  static let edits: [(sql: String, codes: [Int64])] = [
    ("SELECT 1", []),
    ("UPDATE credential SET bound_origins = '{new}' || char(10)", [1027, 1009]),
    ("UPDATE credential SET bound_client_id = 'other'", [1027, 1009]),
    ("UPDATE credential SET bound_flow_kind = 'systemToken'", [1027, 1009]),
    ("UPDATE credential SET bound_flow_kind = 'none'", [1027, 1009]),
    ("UPDATE credential SET binding = zeroblob(32)", [1027, 1009]),
    ("UPDATE credential SET role = 'application'", [1009]),
    ("UPDATE credential SET client_id = 'other'", [1009]),
    ("UPDATE account SET provider = 'facebook'", [1005, 1009, 1027]),
  ]

  @Test(arguments: edits)
  func `A credential from an edited row is sent to no server`(sql: String, codes: [Int64]) throws {
    let folder = try TemporaryFolder()
    let listener = try Listener()
    defer { listener.close() }
    let new = "http://127.0.0.1:\(listener.port)"
    // The credential is already bound to the new address, so that only the seal protects it, except
    // if the edit changes the address.
    let first = sql.contains("{new}") ? "http://127.0.0.1:9" : new
    var account: JSONValue = .null
    try Self.run(folder, at: first) { front in
      let added = try front.call(
        "accounts.add",
        [
          "provider": "twitter", "username": "ada",
          "credential": [
            "type": "oauth1", "key": "key", "secret": "secret", "clientId": "system",
            "clientSecret": "secret",
          ],
        ])
      account = try #require(added["account"])
    }
    let store = "\(folder.path)/data/store.db"
    let tool = try SpawnedProgram(
      "sqlite3", [store, sql.replacingOccurrences(of: "{new}", with: new)])
    try #require(try tool.exitCode() == 0, "\(tool.logged)")
    try Self.run(folder, at: new) { front in
      let provider = sql.contains("facebook") ? "facebook" : "twitter"
      try front.call("access.set", ["provider": .string(provider), "state": "granted"])
      let error = try #require(
        try front.answer(
          "auth.perform", ["provider": .string(provider), "account": account])["error"])
      let code = error["code"]?.int64 ?? 0
      #expect(codes.isEmpty ? code == 1007 : codes.contains(code), "\(error.text)")
    }
    #expect((listener.connections > 0) == codes.isEmpty)
  }

  /// Runs a front end with all providers at this address.
  private static func run(
    _ folder: TemporaryFolder, at address: String, _ body: (FrontEnd) throws -> Void
  ) throws {
    let registration: JSONValue = ["clientId": "app", "clientSecret": "secret"]
    let configuration: JSONValue = [
      "applications": ["*": ["twitter": registration, "facebook": registration]],
      "origins": [
        "https://api.twitter.com": .string(address), "https://graph.facebook.com": .string(address),
      ],
    ]
    let file = try folder.file("\(UUID().uuidString).json", configuration.text)
    let front = try FrontEnd([
      "--store", "\(folder.path)/data/store.db", "--key-file", "\(folder.path)/keys/store.key",
      "--config", file,
    ])
    defer { front.terminate() }
    try front.call("initialize", ["client": ["name": "test"]])
    try body(front)
    try front.closeInput()
    #expect(try front.exitCode() == 0)
  }
}
