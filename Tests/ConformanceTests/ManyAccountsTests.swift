import EinlassJSON
import Foundation
import Testing

/// Many secrets and many threads at once: the locked memory for keys is small, and libcrypto wants some of it too.
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
    // The connection was made; what came over it is no HTTP.
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
}
