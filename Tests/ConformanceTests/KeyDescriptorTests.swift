import EinlassJSON
import Foundation
import Glibc
import Testing

/// `--key-fd`: a spawner that takes its time holds up nothing but what needs the key.
@Suite struct KeyDescriptorTests {
  @Test func `A silent key descriptor delays nothing else, and the end of input ends the process`()
    throws
  {
    let folder = try TemporaryFolder()
    try #require(mkfifo("\(folder.path)/key", 0o600) == 0)
    // Open for reading and writing: nothing comes, and it does not end.
    let front = try FrontEnd(
      ["--store", "\(folder.path)/data/store.db", "--key-fd", "3"],
      redirecting: "3<>'\(folder.path)/key'")
    defer { front.terminate() }
    try front.call("initialize", ["client": ["name": "test"]])
    try front.send(id: "add", "accounts.add", Self.account)
    let start = ContinuousClock.now
    #expect(try front.call("providers.list")["providers"]?.array?.isEmpty == false)
    // Far less than the ten seconds that the key is waited for, here and at the end.
    #expect(ContinuousClock.now - start < .seconds(8))
    let end = ContinuousClock.now
    try front.closeInput()
    let answer = try front.next()
    #expect(answer["id"]?.string == "add")
    #expect(answer["error"]?["data"]?["by"]?.string == "shutdown")
    #expect(try front.exitCode() == 0)
    #expect(ContinuousClock.now - end < .seconds(8))
    #expect(!FileManager.default.fileExists(atPath: "\(folder.path)/data/store.db"))
  }

  @Test func `A descriptor that brings the key opens the store`() throws {
    let folder = try TemporaryFolder()
    let key = try folder.file("key", String(repeating: "07", count: 32))
    let front = try FrontEnd(
      ["--store", "\(folder.path)/data/store.db", "--key-fd", "3"], redirecting: "3<'\(key)'")
    defer { front.terminate() }
    #expect(try front.call("accounts.add", Self.account)["created"]?.bool == true)
  }

  private static let account: JSONValue = [
    "provider": "twitter", "username": "ada",
    "credential": [
      "type": "oauth1", "key": "key", "secret": "secret", "clientId": "system",
      "clientSecret": "secret",
    ],
  ]
}
