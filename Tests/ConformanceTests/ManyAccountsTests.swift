import EinlassJSON
import Foundation
import Testing

/// A store with 100 000 accounts, and many secrets and threads at once. The locked memory for keys
/// is small, and libcrypto uses it too.
@Suite struct ManyAccountsTests {
  private static let accountCount = 1000

  @Test func `A thousand accounts in memory leave room for TLS and for sixty-four flows at once`()
    throws
  {
    let server = try HostileProvider()
    defer { server.program.terminate() }
    let configuration: JSONValue = [
      "applications": [
        "*": [
          "facebook": ["clientId": "1", "clientSecret": "2"],
          "twitter": ["clientId": "1", "clientSecret": "2"],
        ]
      ],
      "origins": [
        "https://graph.facebook.com": .string("https://localhost:\(server.port("good"))")
      ],
      "caFile": .string("\(server.ready["folder"]?.string ?? "")/authority.pem"),
    ]
    let folder = try TemporaryFolder()
    let file = try folder.file("config.json", configuration.text)
    let front = try FrontEnd(["--store", "memory", "--config", file])
    defer { front.terminate() }
    try front.call(
      "initialize",
      ["client": ["name": "test"], "capabilities": ["prompts": ["grantAccess", "selectAccount"]]])
    for number in 0..<Self.accountCount {
      try front.call(
        "accounts.add",
        [
          "provider": "twitter", "username": .string("ada\(number)"),
          "credential": [
            "type": "oauth1", "key": "key", "secret": "secret", "clientId": "system",
            "clientSecret": "secret",
          ],
        ])
    }
    let verified = try front.answer(
      "verify", ["provider": "facebook", "credential": ["type": "oauth2", "token": "token"]])
    // The connection succeeded, because the error is an invalid HTTP answer.
    #expect(verified["error"]?["data"]?["networkCode"]?.int64 == -1011)
    for number in 0..<64 {
      try front.call(
        "auth.perform",
        [
          "provider": "twitter", "credential": "none", "detached": true,
          "permissions": [.string("p\(number)")],
        ])
    }
    #expect(try front.call("auth.list")["flows"]?.array?.count == 64)
    try front.closeInput()
    #expect(try front.exitCode() == 0)
  }

  /// Adds the sandbox account of ada and this number of copies, and returns ada's id.
  private static func fill(
    _ folder: TemporaryFolder, _ options: [String], at sandbox: Sandbox, count: Int
  ) throws -> JSONValue {
    let front = try FrontEnd(options)
    defer { front.terminate() }
    let account = try #require(
      try front.call("accounts.add", sandbox.account("ada"))["account"])
    try front.call("access.set", ["provider": "twitter", "state": "granted"])
    try front.call("auth.perform", ["provider": "twitter", "account": account])
    try front.closeInput()
    #expect(try front.exitCode() == 0)
    let fill = try SpawnedProgram(
      "sqlite3",
      [
        "\(folder.path)/data/store.db",
        """
        CREATE TEMP TABLE number AS SELECT value AS n FROM generate_series(1, \(count));
        CREATE TEMP TABLE one AS SELECT * FROM credential;
        BEGIN;
        INSERT INTO account (id, provider, username, health, added_at, last_used_at)
          SELECT 'a_' || n, 'twitter', 'user' || n, 'ok', n, n FROM number;
        INSERT INTO access_grant (application, provider, state, permissions, changed_at)
          SELECT 'app' || n, 'twitter', 'granted', '', n FROM number;
        INSERT INTO credential (account, client_id, resource, role, kind, bound_origins, bound_client_id,
          bound_flow_kind, binding, token_type, scopes, expires_at, token, token_secret, refresh_token, id_token,
          client_secret, proof_key, generation, refused)
          SELECT 'a_' || n, client_id, resource, role, kind, bound_origins, bound_client_id,
          bound_flow_kind, binding, token_type, scopes, expires_at, token, token_secret, refresh_token, id_token,
          client_secret, proof_key, generation, refused FROM one, number;
        COMMIT
        """,
      ])
    #expect(try fill.exitCode(within: 60) == 0)
    return account
  }

  /// Returns the bytes that each request makes the process read once its caches are filled, and the
  /// peak memory.
  private static func costs(count: Int) throws -> (bytes: [String: Int], memory: Int) {
    let sandbox = try Sandbox()
    defer { sandbox.terminate() }
    let folder = try TemporaryFolder()
    let options = [
      "--store", "\(folder.path)/data/store.db", "--key-file", "\(folder.path)/keys/store.key",
      "--config", try folder.file("config.json", (sandbox.ready["config"] ?? [:]).text),
    ]
    let account = try fill(folder, options, at: sandbox, count: count)
    let front = try FrontEnd(options)
    defer { front.terminate() }
    try front.call("initialize", ["client": ["name": "anonymous"]])
    let choice: JSONValue = ["provider": "twitter", "credential": "none", "interactive": false]
    let named: JSONValue = ["provider": "twitter", "credential": "none", "account": account]
    let address = sandbox.ready["config"]?["origins"]?["https://api.x.com"]?.string ?? ""
    // The second round changes what the first one has set.
    func requests(round: Int) -> [(String, String, JSONValue)] {
      [
        ("page", "accounts.list", ["limit": 1]),
        (
          "page of a provider", "accounts.list", ["limit": 1, "provider": "twitter", "cursor": "5"]
        ),
        ("whole page", "accounts.list", [:]), ("grants", "access.list", ["limit": 1]),
        ("credential", "credentials.get", ["account": account]),
        (
          "signature", "credentials.sign",
          ["account": account, "method": "GET", "url": .string("\(address)/1.1/a.json")]
        ),
        ("resolved", "services.resolve", ["address": .string("\(address)/2/tweets")]),
        ("resolved by name", "services.resolve", ["provider": "twitter", "account": "user5"]),
        ("explained", "accounts.explain", choice), ("chosen", "auth.perform", named),
        (
          "update", "accounts.update", ["account": account, "displayName": .string("Ada \(round)")]
        ),
        (
          "preferred", "accounts.setPreferred",
          round == 1 ? ["provider": "twitter", "account": account] : ["provider": "twitter"]
        ),
        (
          "grant", "access.set",
          [
            "application": "other", "provider": "twitter",
            "state": round == 1 ? "granted" : "denied",
          ]
        ),
        ("providers", "providers.list", [:]),
      ]
    }
    for (_, method, params) in requests(round: 1) { _ = try front.answer(method, params) }
    var bytes: [String: Int] = [:]
    var former = front.readBytes() ?? 0
    func note(_ name: String) {
      let now = front.readBytes()
      bytes[name] = now.map { $0 - former }
      former = now ?? 0
    }
    for (name, method, params) in requests(round: 2) {
      let answer = try front.answer(method, params)
      #expect(answer["error"] == nil, "\(name): \(answer.text)")
      note(name)
    }
    let memory = try front.peakMemory()
    // Negative control: a request that reads every row.
    try front.call("store.check")
    note("check")
    return (bytes, memory)
  }

  @Test func `A request reads as little with 100 000 accounts as with a thousand, in 8 MB`()
    throws
  {
    let (some, many) = (try Self.costs(count: 1000), try Self.costs(count: 100_000))
    #expect(many.memory < 8_000_000)
    guard !many.bytes.isEmpty else {
      return print("skipped: only root can see here how much a process reads")
    }
    // A few pages more, because the B-trees of a larger store are deeper.
    let margin = 40 * 4096
    for (name, count) in some.bytes where name != "check" {
      let count = (count, try #require(many.bytes[name]))
      // The credentials of each account on a page are in another place of the tree.
      let page = name == "whole page" ? 1000 * 4096 : 0
      #expect(count.1 < count.0 + margin + page, "\(name): \(count)")
    }
    #expect(try #require(many.bytes["check"]) > (try #require(some.bytes["check"])) + 50 * margin)
  }
}
