import EinlassCrypto
import EinlassJSON
import EinlassStorage
import TestSupport
import Testing

@testable import Einlass

/// The format and limits of an accounts file, and the import of its accounts one by one.
@Suite struct AccountsFileTests {
  private static let cheap = ScryptParameters(cost: 2, blockSize: 1, parallelism: 1)
  private static let words = Secret("correct horse")

  private static func seal(_ contents: [UInt8]) throws -> [UInt8] {
    try AccountsFile.seal(
      contents, with: words, randomBytes: { SecureRandom.bytes($0) }, stretching: cheap)
  }

  /// Imports these accounts into the store.
  private static func importing(
    _ accounts: JSONValue, into store: AccountStore = MemoryAccountStore.make(),
    replaces: Bool = false
  ) throws -> [AccountsImport.Entry] {
    let einlass = Einlass(
      catalog: .builtIn, store: store,
      effects: Effects(
        send: { _ throws(Problem) in throw Problem(.internal, "Nothing is sent.") },
        sleepUntil: { _ in }, now: { 0 }, randomBytes: { SecureRandom.bytes($0) }))
    let bytes = try seal(JSONValue.object(["accounts": accounts]).bytes())
    return try einlass.importAccounts(
      AccountsFileContents(AccountsFile(bytes, path: "/file"), openedWith: words),
      replaces: replaces
    ).entries
  }

  private static func entry(_ change: (inout JSONObject, inout JSONObject) -> Void) -> JSONValue {
    var credential: JSONObject = [
      "role": "system", "type": "oauth1", "clientId": "c", "clientSecret": "cs", "key": "k",
      "secret": "s", "flowKind": "reverseAuth", "origins": ["https://api.example.com"],
    ]
    var account: JSONObject = [
      "provider": .string(provider), "username": "ada", "health": "ok", "addedAt": 1,
    ]
    change(&account, &credential)
    if account["credentials"] == nil { account["credentials"] = [.object(credential)] }
    return .object(account)
  }

  private static let provider = ProviderCatalog.builtIn.providers.first?.id ?? ""

  @Test func `The registrations of flows go to another store, and a file without them is read`()
    throws
  {
    func client(_ id: String, _ flow: FlowKind?) -> StoredRegistration {
      StoredRegistration(
        provider: "google", flow: flow,
        registration: ClientRegistration(clientID: id, clientSecret: Secret("\(id)-secret")),
        origins: (try? ProviderCatalog.builtIn.provider("google"))?.origins ?? [])
    }
    let written = [client("devices", .deviceCode), client("desktop", nil)]
    let bytes = AccountsFileContents.encode([], written)
    let read = try #require(AccountsFileContents(bytes))
    #expect(read.registrations == [written[1], written[0]])
    let store = MemoryAccountStore.make()
    let engine = Einlass(
      catalog: .builtIn, store: store,
      effects: Effects(
        send: { _ throws(Problem) in throw Problem(.internal, "Nothing is sent.") },
        sleepUntil: { _ in }, now: { 0 }, randomBytes: { SecureRandom.bytes($0) }))
    #expect(try engine.importAccounts(read, replaces: false).registrations == ["google"])
    for stored in written {
      #expect(try store.registrations.get("google", stored.flow, .usual) == stored)
    }
    // An older einlass reads `registrations` alone, so that member has the general one.
    var file = try #require(try JSONReader.read(bytes).object)
    #expect(file["registrations"]?.array?.map { $0["clientId"]?.string } == ["desktop"])
    var unknown = try #require(file["flowRegistrations"]?.array?.first?.object)
    unknown["flow"] = "unheardOf"
    for member in [nil, JSONValue.array([.object(unknown)])] {
      file["flowRegistrations"] = member
      let other = try #require(AccountsFileContents(JSONValue.object(file).bytes()))
      #expect(other.registrations == [written[1]])
    }
  }

  @Test func `An exported account is imported unchanged, with the origins of each credential`()
    throws
  {
    var account = Account(
      id: Account.ID(rawValue: "a_1"), provider: Self.provider, username: "ada", displayName: "Ada",
      subject: "17", email: "ada@example.com", avatar: String(repeating: "a", count: 8192),
      health: .banned,
      isSignedIn: true, addedAt: 5, lastUsedAt: 6)
    (account.isEmailVerified, account.reportedBy) = (true, 1)
    let credentials = [
      StoredCredential(
        role: .system, registration: ClientRegistration(clientID: "c", clientSecret: Secret("cs")),
        credential: .oauth1(OAuth1Credential(token: Secret("k"), tokenSecret: Secret("s"))),
        binding: ProviderBinding(
          origins: ["https://b.example.com", "http://127.0.0.1:8080"], clientID: "c",
          flowKind: .reverseAuth)),
      StoredCredential(
        role: .application, registration: ClientRegistration(clientID: "APP"),
        credential: .oauth2(
          OAuth2Credential(
            accessToken: Secret("t"), tokenType: "Bearer", scopes: ["a", "b"], expiresAt: 7,
            refreshToken: Secret("r"), idToken: Secret("i"), proofKey: Secret([0x30, 0xFF, 0]))),
        binding: ProviderBinding(
          origins: ["https://b.example.com"], clientID: "APP", flowKind: .systemToken)),
      StoredCredential(
        role: .application, registration: ClientRegistration(clientID: "OWN"),
        credential: .session(SessionCredential(id: Secret("SESSION"), username: "ada")),
        binding: ProviderBinding(
          origins: ["http://pbx.example.com:8080"], clientID: "OWN", flowKind: .passwordSession,
          trust: ServerTrust(
            publicKey: "sha256//" + Base64.encode(Array(1...32)), caFile: "/authority.pem",
            allowsPlainHTTP: true))),
    ]
    let file = try AccountsFile(
      Self.seal(
        AccountsFileContents.encode([PortableAccount(account: account, credentials: credentials)])),
      path: "/file")
    let read = try #require(try AccountsFileContents(file, openedWith: Self.words).entries.first)
    var expected = account
    expected.id = Account.ID(rawValue: "")
    // A program can write such a file, so it vouches for nothing.
    (expected.isEmailVerified, expected.reportedBy) = (false, 0)
    #expect(read.account == PortableAccount(account: expected, credentials: credentials))
  }

  @Test func `A file says of no account that the provider has named it or verified its address`()
    throws
  {
    let store = MemoryAccountStore.make()
    let entry = Self.entry { account, _ in
      (account["email"], account["subject"]) = ("a@x", "7")
      (account["emailVerified"], account["reported"], account["reportedBy"]) = (true, true, 1)
    }
    _ = try Self.importing([entry], into: store)
    let account = try #require(try store.snapshot(.usual).accounts.first)
    #expect(account.email == "a@x" && !account.isEmailVerified && !account.isReported)
  }

  /// Entries that are refused, each with its only fault. The first is the negative control.
  private static let accounts: [(what: String, entry: JSONValue)] = [
    ("nothing", entry { _, _ in }), ("no object", []), ("null", .null),
    ("provider unknown", entry { account, _ in account["provider"] = "nope" }),
    ("name empty", entry { account, _ in account["username"] = "" }),
    (
      "name long",
      entry { account, _ in account["username"] = .string(String(repeating: "x", count: 2049)) }
    ),
    (
      "picture long",
      entry { account, _ in account["avatar"] = .string(String(repeating: "x", count: 8193)) }
    ),
    ("name turned round", entry { account, _ in account["username"] = "a\u{202E}b" }),
    ("subject with a line feed", entry { account, _ in account["subject"] = "a\nb" }),
    ("health unknown", entry { account, _ in account["health"] = "splendid" }),
    ("time before time", entry { account, _ in account["addedAt"] = -1 }),
    ("no credentials", entry { account, _ in account["credentials"] = .null }),
    (
      "one registration twice",
      entry { account, credential in
        account["credentials"] = [.object(credential), .object(credential)]
      }
    ),
    (
      "65 credentials",
      entry { account, credential in
        account["credentials"] = .array(
          (0..<65).map { number in
            var credential = credential
            credential["clientId"] = .string("c\(number)")
            return .object(credential)
          })
      }
    ),
    ("plain http", entry { _, credential in credential["origins"] = ["http://api.example.com"] }),
    ("no origin", entry { _, credential in credential["origins"] = [] }),
    (
      "an address",
      entry { _, credential in credential["origins"] = ["https://api.example.com/a/../b"] }
    ),
    ("flow unknown", entry { _, credential in credential["flowKind"] = "magic" }),
    ("role unknown", entry { _, credential in credential["role"] = "magic" }),
    ("type unknown", entry { _, credential in credential["type"] = "magic" }),
    ("token with a line feed", entry { _, credential in credential["key"] = "a\nb" }),
    ("no token", entry { _, credential in credential["key"] = nil }),
    (
      "header",
      entry { _, credential in
        credential["type"] = "oauth2"
        credential["token"] = "a b"
        credential["tokenType"] = "Bearer"
      }
    ),
  ]

  @Test func `An account that is refused does not prevent the import of the others`() throws {
    let entries = try Self.importing(.array(Self.accounts.map(\.entry)))
    for (entry, row) in zip(entries, Self.accounts).dropFirst() {
      guard case .refused = entry.outcome else {
        Issue.record("taken: \(row.what)")
        continue
      }
    }
    guard case .added = entries[0].outcome else {
      Issue.record("the control was not taken: \(entries[0])")
      return
    }
    #expect(entries.allSatisfy { !$0.username.contains("\u{202E}") })
  }

  @Test func `An account that is in the file twice is imported once`() throws {
    let store = MemoryAccountStore.make()
    let twice: JSONValue = [Self.entry { _, _ in }, Self.entry { _, _ in }]
    let entries = try Self.importing(twice, into: store)
    let account = try #require(try store.snapshot(.none).accounts.first)
    #expect(entries.map(\.outcome) == [.added(account.id), .alreadyThere(account.id)])
    let again = try Self.importing(twice, into: store, replaces: true)
    #expect(again.map(\.outcome) == [.replaced(account.id), .replaced(account.id)])
    #expect(try store.snapshot(.none).accounts.count == 1)
  }

  @Test func `A file of the maximum length is read, and a longer one is refused`() throws {
    let empty = try Self.seal([]).count
    let most = [UInt8](repeating: 0x20, count: AccountsFile.limitBytes - empty)
    let file = try AccountsFile(Self.seal(most), path: "/file")
    #expect(try file.open(with: Self.words) == most)
    let problem = #expect(throws: Problem.self) { _ = try Self.seal(most + [0x20]) }
    #expect(problem?.detail == "full")
  }

  @Test func `A wrong passphrase, a changed file and a newer format have different errors`() throws
  {
    let bytes = try Self.seal(Array("{}".utf8))
    func detail(_ bytes: [UInt8], _ words: Secret = Self.words) -> String? {
      do throws(Problem) {
        _ = try AccountsFile(bytes, path: "/file").open(with: words)
        return nil
      } catch { return error.detail }
    }
    #expect(detail(bytes) == nil)
    #expect(detail(bytes, Secret("correct horses")) == "decryptFailed")
    #expect(detail(Array("einlass accounts 2\nwhatever".utf8)) == "tooNew")
    for text in [
      "", "einlass accounts 0\n\n\n", "einlass accounts \n\n\n", "einlass accounts 1\n", "x\n\n\n",
    ] {
      #expect(detail(Array(text.utf8)) == "corrupt", "\(text)")
    }
    // Every byte counts, in the header and in the sealed part.
    for index in bytes.indices {
      var changed = bytes
      changed[index] ^= 1
      #expect(detail(changed) != nil, "\(index)")
    }
    for count in bytes.indices { #expect(detail(Array(bytes[..<count])) != nil, "\(count)") }
    #expect(detail(bytes + [0]) == "corrupt")
  }
}
