import EinlassJSON
import Foundation
import Testing

/// Error messages are true, and the next steps help.
@Suite struct MessageTests {
  @Test(arguments: [
    (
      #"{"id":1,"method":"auth.list"}"#,
      #"The member jsonrpc is missing; it must be the text "2.0"."#
    ),
    (
      #"{"jsonrpc":"1.0","id":1,"method":"auth.list"}"#,
      #"The member jsonrpc must be the text "2.0"."#
    ),
    (
      #"{"jsonrpc":"2.0","id":1}"#, "The member method is missing; it must be the name of a method."
    ),
    (#"{"jsonrpc":"2.0","id":1,"method":7}"#, "The member method must be the name of a method."),
    (
      #"{"jsonrpc":"2.0","id":1,"method":"auth.list","params":7}"#,
      "The member params must be an object."
    ),
    (
      #"{"jsonrpc":"2.0","id":1,"method":"auth.list","result":7}"#,
      "A message with a method can't have result or error."
    ),
    ("7", "A message must be a JSON object."),
  ])
  func `The error for an invalid request names the wrong member`(
    line: String, message: String
  ) async throws {
    try await onThread {
      let program = try SpawnedProgram(Program.einlass, ["--store", "memory"])
      defer { program.terminate() }
      try program.send(Array("\(line)\n".utf8))
      let error = try JSONReader.read(#require(try program.line()))["error"]
      #expect(error?["data"]?["reason"]?.string == "invalidRequest")
      #expect(error?["message"]?.string == message)
    }
  }

  @Test(arguments: [false, true])
  func `Work cancelled by the end of input names the cause and the option --finish`(
    isDetached: Bool
  ) async throws {
    try await onThread {
      let front = try Self.asking(detached: isDetached)
      defer { front.terminate() }
      try front.closeInput()
      let error =
        isDetached
        ? try front.next("auth.completed")["error"]
        : try Self.answer("flow", of: front)["error"]
      #expect(error?["code"]?.int64 == -32800)
      #expect(error?["data"]?["by"]?.string == "endOfInput")
      #expect(error?["message"]?.string?.contains("standard input ended") == true)
      #expect(error?["data"]?["next"]?.array?.first?.text.contains("--finish") == true)
    }
  }

  @Test func `The error after a shutdown does not name the end of input`() async throws {
    try await onThread {
      let front = try Self.asking(detached: false)
      defer { front.terminate() }
      try front.send(id: "end", "shutdown", [:])
      let error = try Self.answer("flow", of: front)["error"]
      #expect(error?["data"]?["by"]?.string == "shutdown")
      #expect(error?["data"]?["next"]?.text.contains("--finish") == false)
    }
  }

  @Test func `Following the next steps leads from missing access to a choice of account`() throws {
    let folder = try TemporaryFolder()
    let (sandbox, front) = try Self.sandboxed(folder)
    defer { sandbox.terminate() }
    defer { front.terminate() }
    let account = try front.call("accounts.add", sandbox.account("ada"))["account"] ?? .null

    let get = try front.answer("credentials.get", ["account": account])["error"]
    #expect(get?["data"]?["reason"]?.string == "accessNotGranted")
    #expect(get?["message"]?.string?.contains("The application anonymous has no access to") == true)
    let perform = try front.answer("auth.perform", ["provider": "twitter"])["error"]
    #expect(perform?["data"]?["reason"]?.string == "interactionRequired")
    let steps = perform?["data"]?["next"]?.array?.map { $0["method"]?.string ?? "" }
    #expect(steps == ["access.set", "accounts.list", ""])

    for hint in [get, perform].map({ $0?["data"]?["next"]?.array?.first }) {
      let hint = try #require(hint)
      #expect(hint["method"]?.string == "access.set")
      #expect(hint["params"]?["application"]?.string == "anonymous")
      try front.call("access.reset", ["provider": "twitter"])
      try front.call("access.set", hint["params"] ?? .null)
      #expect(
        try front.call("auth.perform", ["provider": "twitter", "account": account])["account"]
          == account)
      #expect(try front.call("credentials.get", ["account": account])["credential"] != nil)
    }
    // Only the choice of the account is left.
    let choice = try front.answer("auth.perform", ["provider": "twitter"])["error"]
    #expect(choice?["data"]?["next"]?.array?.first?["method"]?.string == "accounts.list")
  }

  @Test func `The next step for a wider grant keeps the earlier permissions`() throws {
    let folder = try TemporaryFolder()
    let (sandbox, front) = try Self.sandboxed(folder)
    defer { sandbox.terminate() }
    defer { front.terminate() }
    let account = try #require(
      sandbox.ready["accounts"]?.array?.first { $0["provider"]?.string == "facebook" })
    try front.call("accounts.add", account)
    try front.call(
      "access.set", ["provider": "facebook", "state": "granted", "permissions": ["email"]])
    let hint = try front.answer(
      "auth.perform", ["provider": "facebook", "permissions": ["public_profile"], "confirm": true])[
        "error"]?["data"]?["next"]?.array?.first
    #expect(hint?["params"]?["permissions"] == ["email", "public_profile"])
  }

  @Test func `If no person can enter a passphrase, the error names the option for it`() throws {
    let folder = try TemporaryFolder()
    let front = try FrontEnd(["--store", "memory"])
    defer { front.terminate() }
    let error = try front.answer("accounts.export", ["path": .string("\(folder.path)/file")])[
      "error"]
    #expect(error?["data"]?["prompts"]?.array?.first?["option"]?.string == "--file-passphrase-fd")
    #expect(
      error?["data"]?["next"]?.array?.first?["label"]?.string
        == "Pass the passphrase with --file-passphrase-fd")
  }

  @Test func `A requested validity longer than any token's is logged once`() throws {
    let folder = try TemporaryFolder()
    let (sandbox, front) = try Self.sandboxed(folder)
    defer { sandbox.terminate() }
    defer { front.terminate() }
    try sandbox.patch(["spotify": ["behaviour": ["consent": "allow"]]])
    let account = try Self.signIn("spotify", front)
    for seconds: JSONValue in [60, 1_000_000, 1_000_000] {
      try front.call("credentials.get", ["account": account, "minValiditySeconds": seconds])
    }
    try front.closeInput()
    #expect(try front.exitCode() == 0)
    #expect(front.logged.components(separatedBy: "more than a token of spotify lasts").count == 2)
  }

  @Test func `A client that leaves without open requests causes no error in the log`() throws {
    let front = try SpawnedProgram(Program.einlass, ["--store", "memory"], reading: false)
    defer { front.terminate() }
    try front.closeOutput()
    #expect(try front.exitCode() == 1)
    #expect(front.logged == "")
  }

  /// Starts a sandbox, and a front end for its providers. The folder holds the configuration.
  private static func sandboxed(_ folder: TemporaryFolder) throws -> (Sandbox, FrontEnd) {
    let sandbox = try Sandbox()
    let config = try folder.file("config.json", try #require(sandbox.ready["config"]).text)
    return (sandbox, try FrontEnd(["--store", "memory", "--config", config]))
  }

  /// Starts a front end whose request or flow waits for a person.
  private static func asking(detached: Bool) throws -> FrontEnd {
    let front = try FrontEnd(["--store", "memory"])
    try front.call(
      "initialize",
      [
        "client": ["name": "test"], "capabilities": ["prompts": ["openURL"]],
        "applications": ["github": ["clientId": "c", "clientSecret": "s"]],
      ])
    try front.send(
      id: "flow", "accounts.signIn", ["provider": "github", "detached": .bool(detached)])
    _ = try front.next("prompt.opened")
    return front
  }

  private static func answer(_ id: String, of front: FrontEnd) throws -> JSONValue {
    while true {
      let message = try front.next()
      if message["id"]?.string == id { return message }
    }
  }

  /// Signs in through a browser and returns the account.
  private static func signIn(_ provider: String, _ front: FrontEnd) throws -> JSONValue {
    try front.call(
      "initialize", ["client": ["name": "test"], "capabilities": ["prompts": ["openURL"]]])
    try front.call("access.set", ["provider": .string(provider), "state": "granted"])
    try front.send(id: "flow", "accounts.signIn", ["provider": .string(provider)])
    let address = try #require(try front.next("prompt.opened")["url"]?.string)
    _ = try Sandbox.browse(address)
    return try #require(try answer("flow", of: front)["result"]?["account"])
  }
}
