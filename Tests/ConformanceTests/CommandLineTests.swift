import EinlassJSON
import Foundation
import Testing

@Suite struct CommandLineTests {
  @Test(arguments: [
    (["--nonsense"], "unknown argument --nonsense"),
    (["a\n\u{1b}[2J\u{202e}b"], "unknown argument a[2Jb. Try"),
    (["--store"], "--store needs a value"),
    (["--log-level", "loud"], "--log-level is one of"),
    (["--key-fd", "2"], "--key-fd needs the number"),
    (["--key-fd", "9999"], "--key-fd 9999 is not open"),
    (["--key-fd", "7", "--key-file", "/nowhere"], "exclude each other"),
    (["call"], "call needs a method"),
    (["call", "--help"], "call needs a method"),
    (["call", "accounts.list", "{}", "more"], "one method and one JSON object"),
    (["call", "accounts.list", "{"], "not one JSON object"),
    (["call", "accounts.list", "[]"], "not one JSON object"),
    (["--test"], "--store memory"),
    (["--answers", "/nowhere"], "--store memory"),
  ])
  func `A wrong command line ends in exit code 64 with the reason and a reference to the help`(
    arguments: [String], reason: String
  ) throws {
    let program = try SpawnedProgram(Program.einlass, arguments)
    defer { program.terminate() }
    #expect(try program.exitCode() == 64)
    #expect(program.logged.contains(reason), "\(program.logged)")
  }

  @Test func `A call prints one line of answer, and an error ends in exit code 1`() throws {
    let good = try SpawnedProgram(Program.einlass, ["--store", "memory", "call", "accounts.list"])
    #expect(try good.message()["result"]?["revision"]?.int64 == 0)
    #expect(try good.exitCode() == 0)
    let bad = try SpawnedProgram(
      Program.einlass, ["--store", "memory", "call", "auth.perform", #"{"provider":"twitter"}"#])
    #expect(try bad.message()["error"]?["code"]?.int64 == 1006)
    #expect(try bad.exitCode() == 1)
  }

  @Test func `A call that needs a person answers error 1010 with a way to do without`() throws {
    let folder = try TemporaryFolder()
    let configuration = try folder.file(
      "config.json", #"{"applications": {"*": {"facebook": {"clientId": "1"}}}}"#)
    let options = [
      "--store", "\(folder.path)/data/store.db", "--key-file", "\(folder.path)/keys/store.key",
      "--config", configuration, "call",
    ]
    let add = try SpawnedProgram(
      Program.einlass,
      options + [
        "accounts.add",
        #"{"provider":"facebook","username":"ada","credential":{"type":"oauth2","token":"t","clientId":"2"}}"#,
      ])
    #expect(try add.exitCode() == 0)
    let perform = try SpawnedProgram(
      Program.einlass, options + ["auth.perform", #"{"provider":"facebook"}"#])
    let error = try #require(perform.message()["error"])
    #expect(error["code"]?.int64 == 1010)
    #expect(error["data"]?["prompts"]?.array?.first?["method"]?.string == "access.set")
    #expect(try perform.exitCode() == 1)
  }

  @Test func `An answer that cannot be written ends in exit code 1`() throws {
    for redirection in [">/dev/full", ">&-"] {
      let shell = try SpawnedProgram(
        "sh",
        ["-c", "\"$1\" --store memory call accounts.list \(redirection)", "sh", Program.einlass])
      #expect(try shell.exitCode() == 1, "\(redirection)")
    }
  }

  @Test(arguments: ["2>&-", "2>/dev/full", "2</dev/null", "2>&5 4<&-"])
  func `An unusable standard error does not prevent an answer`(redirection: String) throws {
    // Descriptor 5 writes to a FIFO without a reader once descriptor 4 is closed.
    let shell = """
      folder=$(mktemp -d /tmp/einlass-XXXXXX) && mkfifo "$folder/fifo" || exit 99
      exec 4<>"$folder/fifo" 5>"$folder/fifo"; rm -r "$folder"
      exec "$0" --store memory --log-level debug "$@" \(redirection)
      """
    let call = try SpawnedProgram("sh", ["-c", shell, Program.einlass, "call", "accounts.list"])
    #expect(try call.message()["result"]?["revision"]?.int64 == 0)
    #expect(try call.exitCode() == 0)
    let server = try SpawnedProgram("sh", ["-c", shell, Program.einlass])
    defer { server.terminate() }
    // Invalid input is logged.
    try server.send(Array("x\n{}\n".utf8))
    try server.send(Array((#"{"jsonrpc":"2.0","id":1,"method":"accounts.list"}"# + "\n").utf8))
    #expect(try server.message()["error"]?["code"]?.int64 == -32700)
    #expect(try server.message()["error"]?["code"]?.int64 == -32600)
    #expect(try server.message()["result"]?["revision"]?.int64 == 0)
    try server.closeInput()
    #expect(try server.exitCode() == 0)
  }

  @Test(arguments: ["--help", "-h", "--version", "--dump-protocol"])
  func `Options for information need no store and end in exit code 0`(option: String) throws {
    let program = try SpawnedProgram(
      Program.einlass, ["--store", "/nowhere/at/all", option], environment: [:])
    #expect(try program.line()?.isEmpty == false)
    #expect(try program.exitCode() == 0)
    #expect(program.logged.isEmpty)
  }

  @Test func `Each scripted answer is used for one prompt, in order`() throws {
    let folder = try TemporaryFolder()
    let answers = try folder.file(
      "answers.jsonl",
      """
      {"kind":"grantAccess","provider":"twitter","action":"accept"}
      {"kind":"selectAccount","action":"accept","username":"grace"}

      """)
    let configuration = try folder.file(
      "config.json",
      #"{"applications": {"*": {"twitter": {"clientId": "1", "clientSecret": "2"}}}}"#)
    let front = try FrontEnd(
      ["--store", "memory", "--config", configuration, "--answers", answers])
    defer { front.terminate() }
    for name in ["ada", "grace"] {
      try front.call(
        "accounts.add",
        [
          "provider": "twitter", "username": .string(name),
          "credential": [
            "type": "oauth1", "key": "key", "secret": "secret", "clientId": "system",
            "clientSecret": "secret",
          ],
        ])
    }
    let result = try front.call("auth.perform", ["provider": "twitter", "credential": "none"])
    let accounts = try #require(front.call("accounts.list")["accounts"]?.array)
    let chosen = accounts.first { $0["account"] == result["account"] }
    #expect(chosen?["username"]?.string == "grace")
    // Both answers are used up, so the next prompt gets none.
    let again = try front.answer("auth.perform", ["provider": "twitter", "credential": "none"])
    #expect(again["error"]?["code"]?.int64 == 1010)
  }
}

extension SpawnedProgram {
  fileprivate func message() throws -> JSONValue {
    guard let line = try line() else { throw Failure(description: "No line. \(logged)") }
    return try JSONReader.read(line)
  }
}
