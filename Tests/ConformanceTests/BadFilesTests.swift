import EinlassJSON
import Foundation
import Testing

/// Unusable files are reported with path and fix and stay unchanged to the byte, and the front end
/// still starts.
@Suite struct BadFilesTests {
  /// An unusable store: the change that spoils a good store, and the detail of the resulting
  /// problem.
  struct BadStore: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var detail: String
    var spoil: @Sendable (String) throws -> Void
  }

  static let stores = [
    BadStore(testDescription: "a text", detail: "corrupt") { path in
      try Data("This is no database, and somebody may want it.".utf8).write(
        to: URL(filePath: path))
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    },
    BadStore(testDescription: "somebody else's database", detail: "corrupt") { path in
      try FileManager.default.removeItem(atPath: path)
      try sqlite(path, "PRAGMA application_id = 7; CREATE TABLE t (a); INSERT INTO t VALUES (1);")
    },
    BadStore(testDescription: "a newer store", detail: "tooNew") { path in
      try sqlite(path, "PRAGMA user_version = 1000;")
    },
    BadStore(testDescription: "a store that others can read", detail: "permissions") { path in
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
    },
    BadStore(testDescription: "a folder in its place", detail: "corrupt") { path in
      try FileManager.default.removeItem(atPath: path)
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    },
  ]

  @Test(arguments: stores)
  func `An unusable store is reported with its path and left unchanged`(bad: BadStore) throws {
    let folder = try TemporaryFolder()
    let store = try Self.goodStore(in: folder)
    for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: store + suffix) }
    try bad.spoil(store)
    let before = try? Data(contentsOf: URL(filePath: store))

    let front = try FrontEnd(Self.options(folder))
    defer { front.terminate() }
    let greeting = try front.call("initialize", ["client": ["name": "test"]])
    #expect(greeting["store"]?["problem"]?["detail"]?.string == bad.detail)
    let error = try #require(try front.answer("accounts.list")["error"])
    #expect(error["code"]?.int64 == 1009)
    #expect(error["data"]?["detail"]?.string == bad.detail)
    #expect(error["message"]?.string?.contains(store) == true, "\(error.text)")
    #expect(try front.answer("accounts.add", Self.account)["error"]?["code"]?.int64 == 1009)
    // A method without access to the store still works.
    #expect(try front.call("providers.list")["providers"]?.array?.isEmpty == false)
    try front.closeInput()
    #expect(try front.exitCode() == 0)
    let after = try? Data(contentsOf: URL(filePath: store))
    #expect(after == before)
  }

  @Test func `Negative control: the good store is read and written`() throws {
    let folder = try TemporaryFolder()
    let store = try Self.goodStore(in: folder)
    let before = try Self.contents(store)
    let front = try FrontEnd(Self.options(folder))
    defer { front.terminate() }
    #expect(try front.call("accounts.list")["accounts"]?.array?.count == 1)
    try front.call("accounts.add", Self.account.merging(["username": "grace"]))
    #expect(try Self.contents(store) != before)
  }

  /// Edits of a good store, a list that contains the edited text, and the number of entries still
  /// listed.
  static let longTexts: [(sql: String, method: String, member: String, count: Int)] = [
    ("SELECT 1;", "accounts.list", "accounts", 1),  // negative control
    ("UPDATE account SET username = printf('%.*c', 100000, 'x');", "accounts.list", "accounts", 1),
    ("UPDATE account SET avatar = printf('%.*c', 100000, 'x');", "accounts.list", "accounts", 1),
    ("UPDATE account SET provider = printf('%.*c', 100000, 'x');", "accounts.list", "accounts", 1),
    ("UPDATE account SET id = printf('%.*c', 100000, 'x');", "accounts.list", "accounts", 0),
    (
      "INSERT INTO access_grant VALUES (printf('%.*c', 100000, 'x'), 'twitter', 'denied', '', NULL, 0, '', NULL, NULL);",
      "access.list", "grants", 0
    ),
  ]

  @Test(arguments: longTexts)
  func `A text that is too long for a line is cut or left out, and is never an error`(
    sql: String, method: String, member: String, count: Int
  ) throws {
    let folder = try TemporaryFolder()
    try sqlite(try Self.goodStore(in: folder), sql)
    let front = try FrontEnd(Self.options(folder))
    defer { front.terminate() }
    let page = try front.call(method)
    let list = page[member]?.array
    #expect(list?.count == count && page["nextCursor"] == nil)
    let check = try front.call("store.check")
    let isReported = sql.hasPrefix("UPDATE")
    #expect(check["sound"]?.bool == !isReported)
    if isReported, let account = list?.first?["account"] {
      #expect(try front.answer("accounts.remove", ["account": account])["error"] == nil)
      #expect(try front.call("store.check")["sound"]?.bool == true)
    }
  }

  @Test(arguments: [
    ("{", "is not JSON at line 1, column 2"), ("[]", "an object"), ("", "is empty"),
    ("{\n  // a comment\n}", "is not JSON at line 2, column 3"),
    (#"{"origins": {}, "origins": {}}"#, #"has the name "origins" twice"#),
    (#"{"origins": {"https://a.example": 7}}"#, "string"),
    (#"{"orgins": {}}"#, "origins"),
    (#"{"applications": {"*": {"twitter": {}}}}"#, "/applications/*/twitter/clientId"),
    (
      #"{"applications": {"*": {"twitter": {"clientId": "x\u0085"}}}}"#,
      "/applications/*/twitter/clientId"
    ),
    (#"{"caFile": "/nowhere\u0000/else"}"#, "/caFile"), (#"{"caFile": "~/ca.pem"}"#, "/caFile"),
    (#"{"proxy": "http://a b"}"#, "/proxy"), (#"{"proxy": "ftp://a.example"}"#, "/proxy"),
    (#"{"proxy": "://a.example"}"#, "/proxy"), (#"{"proxy": "http://é.example"}"#, "/proxy"),
    (#"{"proxy": "http://"}"#, "/proxy"), (#"{"proxy": ":3128"}"#, "/proxy"),
    (#"{"proxy": "p:65536"}"#, "/proxy"), (#"{"proxy": "p?x"}"#, "/proxy"),
    (#"{"proxy": "http://a:b@"}"#, "/proxy"), (#"{"proxy": "p/x"}"#, "/proxy"),
    (
      #"{"applications": {"*": {"twitter": {"clientId": "x", "privateKey": 7}}}}"#,
      "/applications/*/twitter/privateKey"
    ),
    (
      #"{"applications": {"*": {"twitter": {"clientId": "x", "authentication": "magic"}}}}"#,
      "/applications/*/twitter/authentication"
    ),
    (#"{"origins": {"https://api.twitter.com": "http://example.org"}}"#, "loopback"),
    (#"{"internalHosts": "a.example"}"#, "/internalHosts"),
    (#"{"internalHosts": ["a.example", "B.example"]}"#, "/internalHosts/1"),
    (#"{"internalHosts": ["a.example:443"]}"#, "/internalHosts/0"),
    (#"{"internalHosts": ["https://a.example"]}"#, "/internalHosts/0"),
    (#"{"internalHosts": ["*.example"]}"#, "/internalHosts/0"),
    (#"{"internalHosts": ["a.example/"]}"#, "/internalHosts/0"),
    (#"{"internalhosts": ["a.example"]}"#, "/internalhosts"),
    (#"{"folders": {}}"#, "/folders"), (#"{"folders": [7]}"#, "/folders/0"),
    (#"{"folders": [{"folder": "/a", "provider": "github"}]}"#, "/folders/0"),
    (
      #"{"folders": [{"folder": "a", "provider": "github", "account": "ada"}]}"#,
      "/folders/0/folder"
    ),
    (
      #"{"folders": [{"folder": "/a/", "provider": "github", "account": "ada"}]}"#,
      "/folders/0/folder"
    ),
    (#"{"prompter": []}"#, "/prompter"), (#"{"prompter": ["relative"]}"#, "/prompter"),
    (#"{"keyCommand": []}"#, "/keyCommand"), (#"{"keyCommand": ["age"]}"#, "/keyCommand"),
    (#"{"services": {}}"#, "/services"), (#"{"services": [7]}"#, "/services/0"),
    (#"{"services": [{"provider": "github"}]}"#, "/services/0/address"),
    (
      #"{"services": [{"address": "http://a.example", "provider": "github"}]}"#,
      "/services/0/address"
    ),
    (#"{"services": [{"address": "a.example"}]}"#, "/services/0/provider"),
    (
      #"{"services": [{"address": "a.example", "provider": "github", "user": "x"}]}"#,
      "/services/0/user"
    ),
    (
      #"{"services": [{"address": "a.example", "provider": "github", "username": "x:y"}]}"#,
      "/services/0/username"
    ),
    (
      #"{"services": [{"address": "a.example", "provider": "github", "scheme": "x"}]}"#,
      "/services/0/scheme"
    ),
    (
      #"{"services": [{"address": "a.example", "provider": "github", "scopes": [""]}]}"#,
      "/services/0/scopes"
    ),
    (
      #"{"services": [{"address": "https://a.example", "provider": "a"}, {"address": "https://a.example/", "provider": "b"}]}"#,
      "/services/1/address"
    ),
  ])
  func `A bad configuration is reported, and no request goes to a provider`(
    text: String, complaint: String
  ) throws {
    let folder = try TemporaryFolder()
    let file = try folder.file("config.json", text)
    let front = try FrontEnd(["--store", "memory", "--config", file])
    defer { front.terminate() }
    let greeting = try front.call("initialize", ["client": ["name": "test"]])
    let problem = try #require(greeting["configuration"]?["problem"])
    #expect(problem["message"]?.string?.contains(complaint) == true, "\(problem.text)")
    #expect(problem["message"]?.string?.contains(file) == true, "\(problem.text)")
    for method in ["accounts.add", "auth.perform", "verify"] {
      let params: JSONValue =
        switch method {
        case "accounts.add": Self.account
        case "verify": ["provider": "twitter", "account": "a_ada"]
        default: ["provider": "twitter"]
        }
      #expect(try front.answer(method, params)["error"]?["code"]?.int64 == 1006, "\(method)")
    }
    #expect(try front.call("accounts.list")["accounts"]?.array?.isEmpty == true)
    try front.closeInput()
    #expect(try front.exitCode() == 78)
    #expect(try String(contentsOfFile: file, encoding: .utf8) == text)
  }

  @Test func `With a bad configuration no user, no key and no store is made`() throws {
    let folder = try TemporaryFolder()
    for (text, code) in [
      (#"{"users": {"directory": "shard"}}"#, Int64(1006)),
      (#"{"users": {"directory": "shared"}, "prompter": ["relative"]}"#, 1006),
      // The negative control.
      (#"{"users": {"directory": "shared"}}"#, nil),
    ] {
      let file = try folder.file("config.json", text)
      let front = try FrontEnd(Self.options(folder) + ["--config", file])
      defer { front.terminate() }
      for (method, params) in [
        ("users.create", ["email": "a@example.org", "password": "difference"]),
        ("users.signInWithPassword", ["email": "a@example.org", "password": "difference"]),
        ("users.providersForEmail", ["email": "a@example.org"]), ("users.list", [:]),
        ("users.current", [:]), ("users.update", ["displayName": "Ada"]),
        ("store.addKeySlot", ["kind": "keyfile"]), ("users.signOut", [:]), ("users.delete", [:]),
      ] as [(String, JSONValue)] where code != nil || method.hasPrefix("users.") {
        let error = try front.answer(method, params)["error"]?["code"]?.int64
        // After the sign-out there is no user to delete.
        #expect(error == (code ?? (method == "users.delete" ? 17067 : nil)), "\(method)")
      }
      #expect(
        FileManager.default.fileExists(atPath: "\(folder.path)/data/store.db") == (code == nil))
      #expect(FileManager.default.fileExists(atPath: "\(folder.path)/keys") == (code == nil))
    }
  }

  @Test(arguments: ["accounts.signOut", "accounts.remove"])
  func `Without a readable configuration no account is signed out or removed`(
    method: String
  ) throws {
    let folder = try TemporaryFolder()
    _ = try Self.goodStore(in: folder)
    var accounts: [JSONValue?] = []
    for (configuration, code) in [
      ("\(folder.path)/typo.json", Int64(1006)), (try folder.file("bad.json", "{"), 1006),
      (try folder.file("good.json", "{}"), nil),
    ] {
      let front = try FrontEnd(Self.options(folder) + ["--config", configuration])
      defer { front.terminate() }
      accounts.append(try front.call("accounts.list")["accounts"])
      let error = try front.answer(
        method, ["account": accounts[0]?.array?.first?["account"] ?? ""])["error"]
      #expect(
        error?["code"]?.int64 == code
          && error?["data"]?["path"]?.string == code.map { _ in configuration })
      accounts.append(try front.call("accounts.list")["accounts"])
    }
    // The last configuration is the negative control.
    #expect(accounts.dropLast().allSatisfy { $0 == accounts[0] } && accounts.last != accounts[0])
  }

  @Test(arguments: [
    (#"{"applications": {"*": {"github": {"clientId": "c", "clientSecret": "s"}}}}"#, 0o644, true),
    (#"{"applications": {"a": {"github": {"clientId": "c", "privateKey": "k"}}}}"#, 0o444, true),
    (#"{"proxy": "http://127.0.0.1:9"}"#, 0o640, true), (#"{"store": "memory"}"#, 0o604, true),
    (#"{"keyCommand": ["/bin/true"]}"#, 0o644, true), (#"{"services": []}"#, 0o664, true),
    (#"{"services": []}"#, 0o646, true),
    // The controls: nobody else may change these, and they hold no secret.
    (#"{"services": []}"#, 0o444, false), ("{}", 0o644, false),
    (#"{"applications": {"*": {"github": {"clientId": "c"}}}}"#, 0o444, false),
  ])
  func `A configuration that others can read is refused with its mode and the fix`(
    text: String, mode: Int, isRefused: Bool
  ) throws {
    let folder = try TemporaryFolder()
    let file = try folder.file("config.json", text)
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
    let front = try FrontEnd(["--store", "memory", "--config", file])
    defer { front.terminate() }
    let greeting = try front.call("initialize", ["client": ["name": "test"]])
    let problem = greeting["configuration"]?["problem"]
    guard isRefused else {
      #expect(problem == nil, "\(problem?.text ?? "")")
      return
    }
    #expect(problem?["message"]?.string?.contains("0\(String(mode, radix: 8))") == true)
    #expect(problem?["next"]?.array?.first?["command"]?.string == "chmod go-rwx '\(file)'")
  }

  private static let account: JSONValue = [
    "provider": "twitter", "username": "ada",
    "credential": [
      "type": "oauth1", "key": "key", "secret": "secret", "clientId": "system",
      "clientSecret": "secret",
    ],
  ]

  private static func options(_ folder: TemporaryFolder) -> [String] {
    ["--store", "\(folder.path)/data/store.db", "--key-file", "\(folder.path)/keys/store.key"]
  }

  private static func contents(_ store: String) throws -> [Data?] {
    ["", "-wal"].map { try? Data(contentsOf: URL(filePath: store + $0)) }
  }

  /// Makes a closed store with one account and returns its path.
  private static func goodStore(in folder: TemporaryFolder) throws -> String {
    let front = try FrontEnd(options(folder))
    defer { front.terminate() }
    try front.call("accounts.add", account)
    try front.closeInput()
    #expect(try front.exitCode() == 0)
    let store = "\(folder.path)/data/store.db"
    try sqlite(store, "PRAGMA wal_checkpoint(TRUNCATE);")
    return store
  }
}

private func sqlite(_ path: String, _ sql: String) throws {
  let program = try SpawnedProgram("sqlite3", [path, sql])
  let code = try program.exitCode()
  guard code == 0 else { throw SpawnedProgram.Failure(description: program.logged) }
  try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
}
