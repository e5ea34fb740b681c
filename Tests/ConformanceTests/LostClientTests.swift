import EinlassJSON
import Foundation
import Glibc
import Testing

/// Clients that go away in every way but the proper one. T-55 to T-57.
@Suite struct LostClientTests {
  /// Where a client may be lost.
  enum Question: CaseIterable {
    case grantAccess, selectAccount, confirmAccount
    case openURL, redirectURL, pin, deviceCode, detached, signInIfNeeded, grantAfterSigningIn
    case newPassphrase, keyPassphrase, filePassphrase

    /// What is asked before the client is lost, and what it can show.
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

    /// What a verifier or a passphrase is asked for.
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

    /// Whether a browser is waited for.
    var listens: Bool {
      [.openURL, .redirectURL, .detached, .signInIfNeeded].contains(self)
    }

    /// The request that stops at it; at the key's passphrase, each before it does, too.
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
        ("auth.perform", ["provider": "sequencing", "signIn": "ifNeeded"])
      case .newPassphrase: ("accounts.export", ["path": .string("\(folder.path)/data/accounts")])
      case .filePassphrase: ("accounts.import", ["path": .string("\(folder.path)/before/accounts")])
      }
    }
  }

  /// Makes what only a passphrase opens: a store, and a file of its accounts beside it.
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

  /// With a place of its own for keys: who names a key is asked for no passphrase.
  private static func environment(of folder: TemporaryFolder) -> [String: String] {
    ProcessInfo.processInfo.environment.merging(["XDG_STATE_HOME": "\(folder.path)/state"]) { $1 }
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
      try sandbox.patch(["sequencing": ["manners": ["consent": "allow"]]])
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

  /// The prompts up to the last one. A browser goes where it is sent when there is more to come.
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
