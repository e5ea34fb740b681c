import EinlassJSON
import Foundation
import Glibc
import Testing

/// `--key-fd`: a slow parent process delays only the requests that need the key.
@Suite struct KeyDescriptorTests {
  @Test func `A silent key descriptor delays no other request and not the end of the process`()
    throws
  {
    // Up to three attempts, because a busy machine can exceed the limits.
    for attempt in 1...3 {
      let folder = try TemporaryFolder()
      try #require(mkfifo("\(folder.path)/key", 0o600) == 0)
      // Open for reading and writing, so that the FIFO is empty and never ends.
      let front = try FrontEnd(
        ["--store", "\(folder.path)/data/store.db", "--key-fd", "3"],
        redirecting: "3<>'\(folder.path)/key'")
      defer { front.terminate() }
      try front.call("initialize", ["client": ["name": "test"]])
      let start = ContinuousClock.now
      try front.send(id: "add", "accounts.add", Self.account)
      #expect(try front.call("providers.list")["providers"]?.array?.isEmpty == false)
      try front.closeInput()
      let answer = try front.next()
      #expect(answer["id"]?.string == "add")
      #expect(try front.exitCode() == 0)
      #expect(!FileManager.default.fileExists(atPath: "\(folder.path)/data/store.db"))
      // The request waited for the key until the end of input, and not for its whole ten seconds.
      let by = answer["error"]?["data"]?["by"]?.string
      if by == "endOfInput", ContinuousClock.now - start < .seconds(8) { return }
      #expect(attempt < 3, "\(answer.text)")
    }
  }

  @Test func `A descriptor with the key opens the store`() throws {
    let folder = try TemporaryFolder()
    let key = try folder.file("key", String(repeating: "07", count: 32))
    let front = try FrontEnd(
      ["--store", "\(folder.path)/data/store.db", "--key-fd", "3"], redirecting: "3<'\(key)'")
    defer { front.terminate() }
    #expect(try front.call("accounts.add", Self.account)["created"]?.bool == true)
  }

  @Test(arguments: ["--passphrase-fd", "--file-passphrase-fd"])
  func `A store in memory uses the passphrase of a descriptor for an accounts file`(option: String)
    throws
  {
    let folder = try TemporaryFolder()
    let passphrase = try folder.file("passphrase", "correct horse battery\n")
    let front = try FrontEnd(
      ["--store", "memory", option, "3"], redirecting: "3<'\(passphrase)'")
    defer { front.terminate() }
    try front.call("accounts.add", Self.account)
    let exported = try front.call(
      "accounts.export", ["path": .string("\(folder.path)/accounts.einlass")])
    #expect(exported["accounts"] == 1)
  }

  private static let account: JSONValue = [
    "provider": "twitter", "username": "ada",
    "credential": [
      "type": "oauth1", "key": "key", "secret": "secret", "clientId": "system",
      "clientSecret": "secret",
    ],
  ]
}
