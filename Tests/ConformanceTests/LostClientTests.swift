import EinlassJSON
import Foundation
import Glibc
import Testing

/// Clients that go away in every way but the proper one. T-55 to T-57.
@Suite struct LostClientTests {
  /// The kinds of prompt, and the request that stops at it.
  enum Question: String, CaseIterable {
    case grantAccess, selectAccount, confirmAccount, openURL, enterVerifier, deviceCode
    case enterPassphrase

    /// What the client can show: who can bring something is sent to a page first.
    var kinds: [String] {
      self == .enterVerifier ? ["openURL", rawValue] : [rawValue]
    }

    func request(in folder: TemporaryFolder) -> (method: String, params: JSONValue) {
      switch self {
      case .grantAccess, .selectAccount: ("auth.perform", ["provider": "twitter"])
      case .confirmAccount: ("auth.perform", ["provider": "facebook"])
      case .openURL, .enterVerifier:
        ("accounts.signIn", ["provider": "github", "flowKind": "authorizationCode"])
      case .deviceCode: ("accounts.signIn", ["provider": "github", "flowKind": "deviceCode"])
      case .enterPassphrase: ("accounts.export", ["path": .string("\(folder.path)/data/accounts")])
      }
    }
  }

  /// Introduces itself, adds accounts, and asks for what stops at a question.
  private static func input(_ question: Question, in folder: TemporaryFolder) -> String {
    var requests: [(method: String, params: JSONValue)] = [
      (
        "initialize",
        ["client": ["name": "test"], "capabilities": ["prompts": JSONValue(question.kinds)]]
      ),
      (
        "accounts.add",
        [
          "provider": "twitter", "username": "ada",
          "credential": [
            "type": "oauth1", "key": "k", "secret": "s", "clientId": "2", "clientSecret": "c",
          ],
        ]
      ),
      (
        "accounts.add",
        [
          "provider": "facebook", "username": "ada",
          "credential": ["type": "oauth2", "token": "t", "clientId": "2"],
        ]
      ),
    ]
    if question != .grantAccess {
      for provider in ["twitter", "facebook"] {
        requests.append(("access.set", ["provider": .string(provider), "state": "granted"]))
      }
    }
    requests.append(question.request(in: folder))
    return requests.enumerated().map { number, request in
      let message: JSONValue = [
        "jsonrpc": "2.0", "id": JSONValue(Int64(number)), "method": .string(request.method),
        "params": request.params,
      ]
      return message.text + "\n"
    }.joined()
  }

  /// A client that asks, passes on what it hears, and never ends by itself; its log ends when the server has.
  private static let client = """
    requests=$1; shift
    coproc E { "$0" "$@"; echo "exit $?" >&2; }
    cat "$requests" >&"${E[1]}"
    while IFS= read -r line; do printf '%s\\n' "$line"; done <&"${E[0]}"
    """

  @Test(arguments: Question.allCases)
  func `A client that is killed at a question takes the server with it, and leaves nothing`(
    question: Question
  ) async throws {
    try await onThread {
      let sandbox = try Sandbox()
      defer { sandbox.terminate() }
      var rounds: [Duration] = []
      for _ in 0..<20 {
        let folder = try TemporaryFolder()
        let configuration = try folder.file("config.json", (sandbox.ready["config"] ?? [:]).text)
        let requests = try folder.file("requests", Self.input(question, in: folder))
        let client = try SpawnedProgram(
          "bash",
          [
            "-c", Self.client, Program.einlass, requests, "--config", configuration,
            "--store", "\(folder.path)/data/store.db", "--key-file", "\(folder.path)/keys/key",
          ])
        defer { client.terminate() }
        var opened: [JSONValue] = []
        while opened.count < question.kinds.count, let line = try client.line() {
          let message = try JSONReader.read(line)
          if message["method"]?.string == "prompt.opened", let prompt = message["params"] {
            opened.append(prompt)
          }
          try #require(message["error"] == nil, "\(message.text)")
        }
        #expect(Set(opened.compactMap { $0["kind"]?.string }) == Set(question.kinds))
        let port = opened.compactMap { $0["url"]?.string }.compactMap(Self.redirectPort).first
        #expect((port != nil) == question.kinds.contains("openURL"))
        #expect(try port.map(Self.isOpen) ?? true)
        let start = ContinuousClock.now
        client.signal(SIGKILL)
        // Server and client have the log in common, and whatever else they may have started.
        #expect(try client.exitCode() == 128 + SIGKILL)
        rounds.append(ContinuousClock.now - start)
        // It reads the end, or it has something to say and nobody to say it to.
        #expect(client.logged.contains("exit 0\n") || client.logged.contains("exit 1\n"))
        #expect(try !(port.map(Self.isOpen) ?? false))
        let lock = open("\(folder.path)/data/store.lock", O_RDWR)
        #expect(lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0)
        close(lock)
      }
      try expectAll(rounds, within: .milliseconds(1500))
    }
  }

  private static func redirectPort(of address: String) -> UInt16? {
    let items = URLComponents(string: address)?.queryItems
    let redirect = items?.first { $0.name == "redirect_uri" }?.value
    return redirect.flatMap { URLComponents(string: $0)?.port }.map { UInt16($0) }
  }

  /// Whether somebody listens there on loopback.
  private static func isOpen(_ port: UInt16) throws -> Bool {
    let connection = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    try #require(connection >= 0)
    defer { close(connection) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(connection, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
  }

  @Test(arguments: [[2, 2, 2], [0.1, 4, 4], [0.1, 0.1, 20]])
  func `One slow end of many is found, and so are slow ones on the whole`(seconds: [Double]) {
    withKnownIssue {
      try expectAll(seconds.map { .seconds($0) }, within: .milliseconds(1500))
    }
  }

  @Test func `A client that closes its end of the output ends the process with 1, not by a signal`()
    async throws
  {
    try await onThread {
      let rounds = try (0..<50).map { _ in
        let program = try SpawnedProgram(
          Program.einlass, ["--store", "memory"], reading: false)
        defer { program.terminate() }
        let start = ContinuousClock.now
        try program.closeOutput()
        try program.send(Array((#"{"jsonrpc":"2.0","id":1,"method":"accounts.list"}"# + "\n").utf8))
        #expect(try program.exitCode() == 1)
        return ContinuousClock.now - start
      }
      try expectAll(rounds, within: .milliseconds(1500))
    }
  }

  /// A sibling that inherited the pipe keeps it open, so that no end of input comes.
  @Test(arguments: [true, false])
  func `An orphan whose input a sibling holds ends with the process that it was told of`(
    told: Bool
  ) async throws {
    try await onThread {
      var rounds: [Duration] = []
      for _ in 0..<(told ? 20 : 1) {
        let parent = try SpawnedProgram("sleep", ["60"])
        let program = try SpawnedProgram(Program.einlass, ["--store", "memory"])
        defer {
          parent.terminate()
          program.terminate()
        }
        let process = told ? #","processId":\#(parent.process)"# : ""
        try program.send(
          Array(
            """
            {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"client":{"name":"test"},\
            "capabilities":{"prompts":["openURL"]},"applications":{"github":{"clientId":"1"}}\(process)}}
            {"jsonrpc":"2.0","id":2,"method":"accounts.signIn","params":{"provider":"github"}}

            """.utf8))
        while let line = try program.line(),
          try JSONReader.read(line)["method"] != "prompt.opened"
        {}
        let start = ContinuousClock.now
        parent.terminate()
        // This test holds the pipe, as the sibling would.
        if told {
          #expect(try program.exitCode() == 0)
          rounds.append(ContinuousClock.now - start)
        } else {
          // The negative control: nobody has told it.
          #expect(throws: SpawnedProgram.Failure.self) { try program.exitCode(within: 1) }
        }
      }
      if told { try expectAll(rounds, within: .seconds(5)) }
    }
  }
}
