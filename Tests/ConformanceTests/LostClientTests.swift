import EinlassJSON
import Foundation
import Glibc
import Testing

/// Clients that end without closing the connection properly.
@Suite struct LostClientTests {
  /// The prompts at which the client is lost.
  enum Question: CaseIterable {
    case grantAccess, selectAccount, confirmAccount
    case openURL, redirectURL, pin, deviceCode, detached, signInIfNeeded, grantAfterSigningIn
    case newPassphrase, keyPassphrase, filePassphrase

    /// The kinds of prompt until the client is lost, and the kinds that it can show.
    var kinds: [String] {
      switch self {
      case .grantAccess: ["grantAccess"]
      case .selectAccount: ["selectAccount"]
      case .confirmAccount: ["confirmAccount"]
      case .openURL, .detached, .signInIfNeeded: ["openURL"]
      case .redirectURL, .pin: ["openURL", "enterVerifier"]
      case .deviceCode: ["deviceCode"]
      case .grantAfterSigningIn: ["openURL", "grantAccess"]
      case .newPassphrase, .keyPassphrase, .filePassphrase: ["enterPassphrase"]
      }
    }

    /// The purpose of the requested text or passphrase.
    var purpose: String? {
      switch self {
      case .redirectURL: "redirectURL"
      case .pin: "pin"
      case .newPassphrase: "export"
      case .keyPassphrase: "keySlot"
      case .filePassphrase: "import"
      default: nil
      }
    }

    /// Whether the server listens for the redirect of a browser.
    var listens: Bool {
      [.openURL, .redirectURL, .detached, .signInIfNeeded].contains(self)
    }

    /// The request that leads to the prompt. With a locked key the requests before it wait too.
    func request(in folder: TemporaryFolder) -> (method: String, params: JSONValue) {
      switch self {
      case .grantAccess, .selectAccount, .keyPassphrase: ("auth.perform", ["provider": "twitter"])
      case .confirmAccount: ("auth.perform", ["provider": "facebook"])
      case .openURL, .redirectURL:
        ("accounts.signIn", ["provider": "github", "flowKind": "authorizationCode"])
      case .pin: ("accounts.signIn", ["provider": "twitter", "flowKind": "oauth1"])
      case .deviceCode: ("accounts.signIn", ["provider": "github", "flowKind": "deviceCode"])
      case .detached: ("accounts.signIn", ["provider": "github", "detached": true])
      case .signInIfNeeded: ("auth.perform", ["provider": "github", "signIn": "ifNeeded"])
      case .grantAfterSigningIn:
        // The sign-in grants no refresh tokens.
        (
          "auth.perform",
          ["provider": "sequencing", "signIn": "ifNeeded", "includeRefreshToken": true]
        )
      case .newPassphrase: ("accounts.export", ["path": .string("\(folder.path)/data/accounts")])
      case .filePassphrase: ("accounts.import", ["path": .string("\(folder.path)/before/accounts")])
      }
    }
  }

  /// Makes a store that only a passphrase opens, and an accounts file beside it.
  private static func seal(_ place: String, in folder: TemporaryFolder) throws {
    let passphrase = try folder.file("passphrase", "correct horse\n")
    let front = try FrontEnd(
      ["--store", "\(folder.path)/\(place)/store.db", "--passphrase-fd", "3"],
      environment: environment(of: folder), redirecting: "3<'\(passphrase)'")
    defer { front.terminate() }
    try front.call(
      "accounts.add",
      [
        "provider": "github", "username": "grace",
        "credential": ["type": "oauth2", "token": "t", "clientId": "2"],
      ])
    try front.call("accounts.export", ["path": .string("\(folder.path)/\(place)/accounts")])
    try front.closeInput()
    #expect(try front.exitCode() == 0)
  }

  /// An environment without the user's key file, because a key file would make the passphrase
  /// prompt unnecessary.
  private static func environment(of folder: TemporaryFolder) -> [String: String] {
    ProcessInfo.processInfo.environment.merging(["XDG_STATE_HOME": "\(folder.path)/state"]) { $1 }
  }

  /// Returns the input of the client: `initialize`, accounts, and the request that leads to the
  /// prompt.
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
    if ![.grantAccess, .grantAfterSigningIn].contains(question) {
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

  /// A client that sends the requests, copies the output and never ends. Its log ends when the
  /// server has ended.
  private static let client = """
    requests=$1; shift
    coproc E { "$0" "$@"; echo "exit $?" >&2; }
    cat "$requests" >&"${E[1]}"
    while IFS= read -r line; do printf '%s\\n' "$line"; done <&"${E[0]}"
    """

  @Test(arguments: Question.allCases)
  func `A client killed at any prompt ends the server, and no port or lock remains`(
    question: Question
  ) async throws {
    try await onThread {
      let sandbox = try Sandbox()
      defer { sandbox.terminate() }
      try sandbox.patch(["sequencing": ["behaviour": ["consent": "allow"]]])
      var rounds: [Duration] = []
      for _ in 0..<20 {
        let folder = try TemporaryFolder()
        if question == .keyPassphrase { try Self.seal("data", in: folder) }
        if question == .filePassphrase { try Self.seal("before", in: folder) }
        let configuration = try folder.file("config.json", (sandbox.ready["config"] ?? [:]).text)
        let requests = try folder.file("requests", Self.input(question, in: folder))
        let client = try SpawnedProgram(
          "bash",
          [
            "-c", Self.client, Program.einlass, requests, "--config", configuration,
            "--store", "\(folder.path)/data/store.db",
          ], environment: Self.environment(of: folder))
        defer { client.terminate() }
        let opened = try Self.prompts(question, of: client)
        let kinds = Set(opened.compactMap { $0["kind"]?.string })
        let purpose = opened.compactMap { ($0["purpose"] ?? $0["expects"])?.string }.first
        let port = opened.compactMap { $0["url"]?.string }.compactMap(Self.redirectPort).first
        #expect(kinds == Set(question.kinds))
        #expect(purpose == question.purpose)
        let listens = try port.map(Self.isOpen) ?? false
        #expect(listens || !question.listens)
        let start = ContinuousClock.now
        client.signal(SIGKILL)
        // Client, server and their child processes share the log, so its end means that all have
        // ended.
        #expect(try client.exitCode() == 128 + SIGKILL)
        rounds.append(ContinuousClock.now - start)
        // The server reads the end of input, or fails to write a message.
        #expect(client.logged.contains("exit 0\n") || client.logged.contains("exit 1\n"))
        #expect(try !(port.map(Self.isOpen) ?? false))
        let lock = open("\(folder.path)/data/store.lock", O_RDWR)
        #expect(lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0)
        close(lock)
      }
      try expectAll(rounds, within: .milliseconds(1500))
    }
  }

  /// Returns the prompts up to the last one. A browser opens the address of a prompt if another
  /// follows.
  private static func prompts(
    _ question: Question, of client: SpawnedProgram
  ) throws -> [JSONValue] {
    var opened: [JSONValue] = []
    while opened.count < question.kinds.count, let line = try client.line() {
      let message = try JSONReader.read(line)
      try #require(message["error"] == nil, "\(message.text)")
      guard message["method"]?.string == "prompt.opened", let prompt = message["params"] else {
        continue
      }
      opened.append(prompt)
      if question == .grantAfterSigningIn, let page = prompt["url"]?.string {
        #expect(try Sandbox.browse(page) == 200)
      }
    }
    return opened
  }

  private static func redirectPort(of address: String) -> UInt16? {
    let items = URLComponents(string: address)?.queryItems
    let redirect = items?.first { $0.name == "redirect_uri" }?.value
    return redirect.flatMap { URLComponents(string: $0)?.port }.map { UInt16($0) }
  }

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
  func `The time check finds a single slow round as well as slow rounds in general`(
    seconds: [Double]
  ) {
    withKnownIssue {
      try expectAll(seconds.map { .seconds($0) }, within: .milliseconds(1500))
    }
  }

  @Test func `A client that closes its end of the output ends the process with exit code 1`()
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

  /// A sibling process that inherited the pipe keeps it open, so that the input does not end.
  @Test(arguments: [true, false])
  func `With an open input the process ends with the parent process that it was told of`(
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
        // This test keeps the pipe open in place of the sibling.
        if told {
          #expect(try program.exitCode() == 0)
          rounds.append(ContinuousClock.now - start)
        } else {
          // Negative control: without a processId the process goes on.
          #expect(throws: SpawnedProgram.Failure.self) { try program.exitCode(within: 1) }
        }
      }
      if told { try expectAll(rounds, within: .seconds(5)) }
    }
  }
}
