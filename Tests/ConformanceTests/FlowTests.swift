import EinlassJSON
import Foundation
import Glibc
import Testing

/// Flows that wait for a person, in the spawned program.
@Suite struct FlowTests {
  /// Starts a front end that shows every prompt, with this number of accounts in a store in the
  /// folder.
  private static func started(
    in folder: TemporaryFolder, accounts count: Int
  ) throws -> (FrontEnd, accounts: [JSONValue]) {
    let front = try FrontEnd([
      "--store", "\(folder.path)/data/store.db", "--key-file", "\(folder.path)/keys/store.key",
    ])
    try front.call(
      "initialize",
      [
        "client": ["name": "editor"],
        "capabilities": ["prompts": ["grantAccess", "selectAccount"]],
        "applications": ["twitter": ["clientId": "key", "clientSecret": "secret"]],
      ])
    let accounts = try (0..<count).map { number in
      let added = try front.call(
        "accounts.add",
        [
          "provider": "twitter", "username": .string("ada\(number)"),
          "credential": [
            "type": "oauth1", "key": "key", "secret": "secret", "clientId": "system",
            "clientSecret": "secret",
          ],
        ])
      return try #require(added["account"])
    }
    return (front, accounts)
  }

  @Test(arguments: ["credentials.sign", "verify", "accounts.renew"])
  func `A method asks no more of a registration than it needs`(method: String) throws {
    let sandbox = try Sandbox()
    defer { sandbox.terminate() }
    let folder = try TemporaryFolder()
    let front = try FrontEnd([
      "--store", "memory",
      "--config", try folder.file("config.json", (sandbox.ready["config"] ?? [:]).text),
    ])
    defer { front.terminate() }
    try front.call(
      "initialize",
      [
        "client": ["name": "editor"], "applications": ["sequencing": ["clientId": "public"]],
      ])
    let credential: JSONValue = ["type": "oauth2", "token": "token", "clientId": "public"]
    let account = try #require(
      try front.call(
        "accounts.add", ["provider": "sequencing", "username": "ada", "credential": credential])[
          "account"])
    try front.call("access.set", ["provider": "sequencing", "state": "granted"])
    let params: [String: JSONValue] = [
      "credentials.sign": ["account": account, "method": "GET", "url": "https://a.example/"],
      "verify": ["provider": "sequencing", "account": account],
      "accounts.renew": ["account": account],
    ]
    let answer = try front.answer(method, params[method] ?? .null)
    let isUnconfigured = answer["error"]?["data"]?["reason"] == "authenticatorUnconfigured"
    #expect(isUnconfigured == (method == "accounts.renew"), "\(answer.text)")
  }

  @Test
  func
    `An interactive flow is cancelled at once while three requests wait for a locked store`()
    throws
  {
    // Up to three attempts, because on a busy machine the other requests may have waited their ten
    // seconds before the cancellation was sent.
    for attempt in 1...3 {
      let folder = try TemporaryFolder()
      let (front, accounts) = try Self.started(in: folder, accounts: 4)
      defer { front.terminate() }
      try front.send(id: "flow", "auth.perform", ["provider": "twitter", "credential": "none"])
      let flow = try #require(try front.next("prompt.opened")["flows"]?.array?.first)

      let lock = open("\(folder.path)/data/store.lock", O_RDWR)
      try #require(lock >= 0 && flock(lock, LOCK_EX) == 0)
      for (number, account) in accounts.prefix(3).enumerated() {
        try front.send(id: "remove-\(number)", "accounts.remove", ["account": account])
      }
      try front.call("auth.cancel", ["flow": flow])
      var answered: [String] = []
      while answered.last != "flow" { try front.next()["id"]?.string.map { answered.append($0) } }
      close(lock)
      guard answered == ["flow"] else {
        #expect(attempt < 3, "\(answered)")
        continue
      }
      var removed = 0
      while removed < 3 { if try front.next()["result"]?["revision"] != nil { removed += 1 } }
      return
    }
  }

  @Test func `A notification of auth.perform prompts the person without a request id`() throws {
    let folder = try TemporaryFolder()
    let (front, _) = try Self.started(in: folder, accounts: 1)
    defer { front.terminate() }
    try front.notify("auth.perform", ["provider": "twitter", "credential": "none"])
    let prompt = try front.next("prompt.opened")
    #expect(prompt["flows"]?.array?.count == 1)
    #expect(prompt["requests"] == nil)
  }

  @Test
  func `Sixty-four detached flows run at once, and each completes once even if the process ends`()
    throws
  {
    let folder = try TemporaryFolder()
    let (front, _) = try Self.started(in: folder, accounts: 1)
    defer { front.terminate() }
    for number in 0..<65 {
      try front.send(
        id: "\(number)", "auth.perform",
        // Different permissions, so that no two flows share a prompt.
        [
          "provider": "twitter", "credential": "none", "detached": true,
          "permissions": [.string("p\(number)")],
        ])
    }
    var open: Set<String> = []
    var refused: [Int64?] = []
    for _ in 0..<65 {
      var message = try front.next()
      while message["id"] == nil { message = try front.next() }
      if let flow = message["result"]?["flow"]?.string { open.insert(flow) }
      if let error = message["error"] { refused.append(error["code"]?.int64) }
    }
    #expect(open.count == 64)
    #expect(refused == [-32001])
    try front.closeInput()
    while !open.isEmpty {
      let completed = try front.next("auth.completed")
      #expect(open.remove(completed["flow"]?.string ?? "") != nil)
      #expect(completed["error"]?["code"]?.int64 == -32800)
    }
    #expect(try front.exitCode() == 0)
  }
}
