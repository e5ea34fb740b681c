import EinlassJSON
import Foundation
import Testing

/// The audit trail beside a store with several processes. `transcripts/audit.list` shows its
/// entries.
@Suite struct AuditTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private var trail: String { "\(folder.path)/data/store.audit.jsonl" }

  /// A front end connected to the sandbox, with permission for ada's account.
  private func editor(
    at sandbox: Sandbox, configuration members: JSONObject = [:]
  ) throws -> (FrontEnd, account: JSONValue) {
    var configuration = try #require(sandbox.ready["config"]?.object)
    for member in members.members { configuration[member.name] = member.value }
    let file = try folder.file("config.json", JSONValue.object(configuration).text)
    let front = try FrontEnd([
      "--store", "\(folder.path)/data/store.db", "--key-file", "\(folder.path)/keys/store.key",
      "--config", file,
    ])
    try front.call("initialize", ["client": ["name": "editor"]])
    let added = try front.call("accounts.add", sandbox.account("ada"))
    try front.call("access.set", ["provider": "twitter", "state": "granted"])
    return (front, try #require(added["account"]))
  }

  private func perform(_ front: FrontEnd, _ account: JSONValue) throws -> JSONValue {
    try front.answer("auth.perform", ["provider": "twitter", "account": account])
  }

  @Test func `Another process can list the audit entries, and the file contains no secret`() throws
  {
    let sandbox = try Sandbox()
    defer { sandbox.terminate() }
    let (front, account) = try editor(at: sandbox)
    defer { front.terminate() }
    let credential = try perform(front, account)["result"]?["credential"]
    let other = try FrontEnd(["--store", "\(folder.path)/data/store.db"])
    defer { other.terminate() }
    let entries = try other.call("audit.list")["entries"]?.array ?? []
    #expect(entries.map { $0["method"]?.string } == ["auth.perform", "access.set"])
    #expect(entries.first?["process"]?.int64 == Int64(front.process))
    let text = try String(contentsOfFile: trail, encoding: .utf8)
    for name in ["key", "secret"] {
      let secret = try #require(credential?[name]?.string)
      #expect(!text.contains(secret))
    }
    let mode = try FileManager.default.attributesOfItem(atPath: trail)[.posixPermissions]
    #expect(mode as? Int == 0o600)
  }

  @Test func `After a key rotation every process identifies a token in the same way`() throws {
    let sandbox = try Sandbox()
    defer { sandbox.terminate() }
    let (front, account) = try editor(at: sandbox)
    defer { front.terminate() }
    let other = try FrontEnd([
      "--store", "\(folder.path)/data/store.db", "--key-file", "\(folder.path)/keys/store.key",
      "--config", "\(folder.path)/config.json",
    ])
    defer { other.terminate() }
    try other.call("initialize", ["client": ["name": "editor"]])
    try front.call("auth.perform", ["provider": "twitter", "account": account])
    for process in [front, other] { try process.call("credentials.get", ["account": account]) }
    try other.call("store.rotateKey")
    for process in [front, other] { try process.call("credentials.get", ["account": account]) }
    let entries = try front.call("audit.list", ["method": "credentials.get"])["entries"]?.array
    let digests = (entries ?? []).map { $0["tokenDigest"]?.string }
    try #require(digests.count == 4 && !digests.contains(nil), "\(digests)")
    #expect(digests[0] == digests[1] && digests[2] == digests[3] && digests[1] != digests[2])
  }

  @Test(arguments: [false, true])
  func `An entry that cannot be written is logged, or refuses the request if required`(
    isRequired: Bool
  ) throws {
    let sandbox = try Sandbox()
    defer { sandbox.terminate() }
    let (front, account) = try editor(
      at: sandbox, configuration: isRequired ? ["audit": "required"] : [:])
    defer { front.terminate() }
    try FileManager.default.removeItem(atPath: trail)
    try FileManager.default.createSymbolicLink(atPath: trail, withDestinationPath: "/dev/null")
    let answer = try perform(front, account)
    if isRequired {
      #expect(answer["error"]?["data"]?["reason"]?.string == "accountStoreFailure")
      #expect(answer["result"] == nil)
    } else {
      #expect(answer["result"]?["credential"] != nil)
    }
    // This request returns no secret, so it is completed before its entry is written.
    try front.call("access.set", ["provider": "twitter", "state": "denied"])
    try front.closeInput()
    #expect(try front.exitCode() == 0)
    #expect(front.logged.contains("audit"))
  }
}
