import Einlass
import EinlassSystem
import Foundation
import TestSupport
import Testing

@testable import EinlassStorage

/// An older store is copied and then migrated in one transaction.
struct MigrationTests {
  /// The migrations of a later version, with these further statements.
  private static func later(_ statements: [String]) -> Migrations {
    var migrations = Migrations.released
    migrations.steps.append(statements)
    migrations.columns["account"]?.insert("generation")
    migrations.fingerprint = 0
    migrations.needs = "7.1.0"
    return migrations
  }

  private static let addColumn =
    "ALTER TABLE account ADD COLUMN generation INTEGER NOT NULL DEFAULT 0"

  /// Makes a store of schema 1.
  private static func firstStore(in home: StoreHome) throws -> OpenFile {
    var first = Migrations.released
    first.steps = Array(first.steps.prefix(1))
    first.needs = nil
    first.columns["meta"]?.remove("needs")
    first.columns["access_grant"]?.subtract(["includes", "accounts", "title"])
    first.columns["account"]?.subtract(["email_verified", "reported"])
    first.columns["credential"]?.subtract([
      "generation", "refused", "resource", "proof_key", "id_token_former", "assertion_source",
      "bound_trust", "refresh_expires_at",
    ])
    let newTables = [
      "preference", "registration", "change", "login_refusal", "server_setting", "user",
      "user_identity", "user_password", "current_user", "pending_credential",
      "service_refusal",
    ]
    for table in newTables { first.columns[table] = nil }
    let location = StoreLocation(directory: home.directory, keyDirectory: home.keyDirectory)
    let opening = StoreOpening(
      location: location, keys: KeySource(.usual, location: location), migrations: first)
    return try #require(
      try opening.openExclusive(by: AccountStore.Patience.usual.deadline, makesStore: true))
  }

  private func open(_ home: StoreHome, _ migrations: Migrations) throws -> OpenFile? {
    let location = StoreLocation(directory: home.directory, keyDirectory: home.keyDirectory)
    return try StoreOpening(
      location: location, keys: KeySource(.usual, location: location), migrations: migrations
    ).openForReading(by: AccountStore.Patience.usual.deadline)
  }

  @Test func `An older store is migrated, with a backup beside it`() throws {
    let home = try StoreHome()
    let new = AccountStore.NewAccount.example()
    _ = try home.store().add(new, .usual)
    let store = try #require(try open(home, Self.later([Self.addColumn])))
    #expect(try store.accounts(of: nil, after: .min, limit: 2).map(\.id) == [new.account.id])
    #expect(try store.file.pragma("user_version") == Migrations.released.schema + 1)
    store.release()
    // The older version refuses the migrated store, and opens the backup.
    let (found, known) = (Migrations.released.schema + 1, Migrations.released.schema)
    let reason = "(schema \(found), this einlass knows \(known))."
    for (needs, words) in [
      (nil, "needs einlass 7.1.0"), ("7.1.0 \u{1B}[2J", "is from a newer einlass"),
      ("", "is from a newer einlass"),
    ] {
      if let needs {
        try SQLiteTool(path: home.database).run("UPDATE meta SET needs = '\(needs)'")
      }
      let problem = problem { _ = try home.store().snapshot(.none) }
      #expect(problem?.detail == "tooNew")
      #expect(problem?.message == "The account store \(home.database) \(words) \(reason)")
    }
    let copy = home.directory + "/store.schema\(Migrations.released.schema).revision1.db"
    let attributes = try FileManager.default.attributesOfItem(atPath: copy)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    let old = SQLiteAccountStore.store(
      location: StoreLocation(
        directory: home.directory, name: "store.schema\(Migrations.released.schema).revision1.db",
        keyDirectory: home.keyDirectory), choice: .usual)
    #expect(try old.contents(new.account.id) == [new.credential])
  }

  @Test(arguments: ["a_ada", "sign-in-ada"])
  func `A store is not migrated while another process waits for a token`(lease: String) throws {
    let home = try StoreHome()
    _ = try home.store().add(.example(), .usual)
    let locks = try SafeDirectory.create(home.directory + "/locks")
    var held = try FileLock("\(lease).lock", in: locks)
    try #require(try held.acquire(.exclusive, by: .now))
    let location = StoreLocation(directory: home.directory, keyDirectory: home.keyDirectory)
    let opening = StoreOpening(
      location: location, keys: KeySource(.usual, location: location),
      migrations: Self.later([Self.addColumn]))
    let problem = problem {
      _ = try opening.openForReading(by: Deadline(milliseconds: 300))
    }
    // A person may take minutes for a sign-in.
    #expect(problem?.detail == (lease == "a_ada" ? "locked" : nil))
    held.release()
    #expect(try opening.openForReading(by: AccountStore.Patience.usual.deadline) != nil)
  }

  @Test func `An older store with inconsistent rows is reported as damaged and left unchanged`()
    throws
  {
    let home = try StoreHome()
    _ = try home.store().add(.example(), .usual)
    try SQLiteTool(path: home.database).run(
      "UPDATE credential SET account = 'a_nobody'; PRAGMA user_version = 3")
    let before = try Data(contentsOf: URL(filePath: home.database))
    #expect(problem { _ = try home.store().snapshot(.usual) }?.detail == "corrupt")
    #expect(try Data(contentsOf: URL(filePath: home.database)) == before)
  }

  @Test func `A grant of schema 1 includes no token`()
    throws
  {
    let home = try StoreHome()
    let old = try Self.firstStore(in: home)
    try old.file.run(
      "INSERT INTO access_grant VALUES ('editor', 'example', 'granted', '', NULL, 7)")
    #expect(try old.file.pragma("user_version") == 1)
    old.release()
    let grant = AccessGrant(
      application: "editor", provider: "example", state: .granted, changedAt: 7)
    #expect(try home.store().snapshot(.usual).grants == [grant])
  }

  @Test func `A migrated store has the statements of a new one`() throws {
    let (old, new) = (try StoreHome(), try StoreHome())
    try Self.firstStore(in: old).release()
    _ = try new.store().add(.example(), .usual)
    let fingerprints = try [old, new].map { home in
      let store = try #require(try open(home, .released))
      return try StoreCheck.fingerprint(of: store.file)
    }
    #expect(fingerprints[0] == fingerprints[1])
  }

  @Test(arguments: [nil, "ADD COLUMN later TEXT", "DROP COLUMN avatar"])
  func `A new store is known by the statements of its tables, and any other by its columns`(
    change: String?
  ) throws {
    let home = try StoreHome()
    _ = try home.store().add(.example(), .usual)
    if let change { try SQLiteTool(path: home.database).run("ALTER TABLE account \(change)") }
    let file = try SQLiteConnection(path: home.database, access: .readOnly)
    let fingerprint = try StoreCheck.fingerprint(of: file)
    let version = try file.first("SELECT sqlite_version()") { row throws(Problem) in
      try row.text(0)
    }
    // Other versions may write the statement of ALTER TABLE differently.
    if change != nil || version?.hasPrefix("3.40.") == true {
      #expect(
        (fingerprint == Migrations.released.fingerprint) == (change == nil),
        "0x\(String(fingerprint, radix: 16))")
    }
    // A store of another version of SQLite.
    var unknown = Migrations.released
    unknown.fingerprint = 0
    for migrations in [.released, unknown] {
      let found = problem { _ = try open(home, migrations) }?.detail
      #expect(found == (change.map { $0.hasPrefix("ADD") ? "tooNew" : "corrupt" }))
    }
  }

  @Test func `A credential of schema 2 opens, can be replaced and is preferred by no application`()
    throws
  {
    let home = try StoreHome()
    let new = AccountStore.NewAccount.example()
    _ = try home.store().add(new, .usual)
    let tool = SQLiteTool(path: home.database)
    try tool.run(StoreHome.backToSchema2)
    let read = try home.store().credentials(new.account.id)
    #expect(read == [new.credential])
    let settlement = AccountStore.Settlement(basis: read, credential: .oauth2Example("a"))
    #expect(try home.store().settle(new.account.id, settlement) == 2)
    #expect(try home.store().snapshot(.usual).accounts.map(\.preferredBy) == [[]])
    #expect(try tool.run("PRAGMA user_version") == ["\(Migrations.released.schema)"])
  }

  @Test func `An account of an older store is not reported, and its credential opens`() throws {
    let home = try StoreHome()
    var new = AccountStore.NewAccount.example(subject: "17")
    (new.account.isEmailVerified, new.account.reportedBy) = (true, 1)
    _ = try home.store().add(new, .usual)
    let older = Migrations.released.steps.firstIndex { $0[0].contains("email_verified") } ?? 0
    try #require(older > 0)
    let tool = SQLiteTool(path: home.database)
    try tool.run(
      "\(StoreHome.withoutFlowRegistrations); \(StoreHome.withoutNeeds); \(StoreHome.withoutServiceRefusals); \(StoreHome.withoutUsers); \(StoreHome.withoutAccountGrants); \(StoreHome.withoutReports); ALTER TABLE server_setting DROP COLUMN digest; PRAGMA user_version = \(older)"
    )
    let account = try #require(try home.store().snapshot(.usual).accounts.first)
    #expect(account.subject == "17" && !account.isReported && !account.isEmailVerified)
    #expect(try home.store().contents(account.id) == [new.credential])
    _ = try home.store().update(account.id, .usual) { $0.reportedBy = 1 }
    #expect(try home.store().snapshot(.usual).accounts.map(\.isReported) == [true])
    #expect(try home.store().contents(account.id) == [new.credential])
    #expect(try tool.run("PRAGMA user_version") == ["\(Migrations.released.schema)"])
  }

  @Test func `A migration that fails leaves the old store unchanged`() throws {
    let home = try StoreHome()
    let new = AccountStore.NewAccount.example()
    _ = try home.store().add(new, .usual)
    for statements in [
      [Self.addColumn, "UPDATE nothing SET a = 1"], ["UPDATE account SET username = 'x'"],
    ] {
      #expect(throws: Problem.self) { try open(home, Self.later(statements)) }
      #expect(try home.store().snapshot(.none).accounts.map(\.username) == ["ada"])
      #expect(try home.store().contents(new.account.id) == [new.credential])
    }
    #expect(try open(home, Self.later([Self.addColumn])) != nil)  // negative control
  }

  @Test func `A store with a changed journal mode gets the write-ahead log back`() throws {
    let home = try StoreHome()
    var store: AccountStore? = home.store()
    _ = try store?.add(.example(), .usual)
    store = nil
    let tool = SQLiteTool(path: home.database)
    try #require(try tool.run("PRAGMA journal_mode = DELETE") == ["delete"])
    #expect(try home.store().snapshot(.usual).accounts.count == 1)
    #expect(try tool.run("PRAGMA journal_mode") == ["wal"])
  }

  @Test func `Files of an interrupted creation are removed`() throws {
    let home = try StoreHome()
    mkdir(home.directory, 0o700)
    for suffix in ["", "-wal", "-journal", "-shm"] {
      try Data([1, 2, 3]).write(to: URL(fileURLWithPath: home.database + ".new" + suffix))
    }
    #expect(try home.store().snapshot(.none) == AccountStore.Snapshot())
    _ = try home.store().add(.example(), .usual)
    let names = try FileManager.default.contentsOfDirectory(atPath: home.directory)
    #expect(names.allSatisfy { !$0.contains(".new") })
  }

  @Test func `Every connection has the settings that protect data and secrets`() throws {
    let home = try StoreHome()
    _ = try home.store().add(.example(), .usual)
    let store = try #require(try open(home, .released))
    for (pragma, value) in [
      ("synchronous", 2), ("secure_delete", 1), ("cell_size_check", 1), ("mmap_size", 0),
      ("foreign_keys", 1), ("trusted_schema", 0), ("temp_store", 2),
    ] as [(String, Int64)] { #expect(try store.file.pragma(pragma) == value) }
    #expect(throws: Problem.self) { try store.file.run("ATTACH ':memory:' AS other") }
    #expect(throws: Problem.self) { try store.file.run("SELECT \"text\"") }
    #expect(throws: Problem.self) { try store.file.run("SELECT load_extension('x')") }
    #expect(throws: Problem.self) { try store.file.run("SELECT zeroblob(2000000)") }
  }

  @Test func `A connection runs no trigger, view or overlong statement, and keeps the schema`()
    throws
  {
    let home = try StoreHome()
    _ = try home.store().add(.example(), .usual)
    // Negative control: another program runs all of it.
    let tool = SQLiteTool(path: home.database)
    let trigger = """
      CREATE TRIGGER planted AFTER UPDATE OF username ON account
      BEGIN UPDATE account SET username = 'planted'; END
      """
    let edit = "UPDATE sqlite_schema SET sql = sql WHERE name = 'planted'"
    let long = "SELECT 1 -- " + String(repeating: "x", count: 100_000)
    try tool.run("\(trigger); CREATE VIEW planted_view AS SELECT 1")
    #expect(
      try tool.run("UPDATE account SET username = 'eve'; SELECT username FROM account")
        == ["planted"])
    #expect(try tool.run("SELECT * FROM planted_view") == ["1"])
    try tool.run("PRAGMA writable_schema = ON; \(edit)")
    try tool.run(long)

    let store = try #require(try open(home, .released))
    try store.file.run("UPDATE account SET username = 'ada'")
    let username = try store.file.first("SELECT username FROM account") {
      row throws(Problem) in try row.text(0)
    }
    #expect(username == "ada")
    #expect(throws: Problem.self) { try store.file.run("SELECT * FROM planted_view") }
    try store.file.run("PRAGMA writable_schema = ON")
    #expect(throws: Problem.self) { try store.file.run(edit) }
    #expect(throws: Problem.self) { try store.file.run(long) }
  }

  @Test func `A database is not opened through a symbolic link`() throws {
    let home = try StoreHome()
    _ = try home.store().add(.example(), .usual)
    let link = home.directory + "/link.db"
    try FileManager.default.createSymbolicLink(
      atPath: link, withDestinationPath: home.database)
    #expect(throws: Problem.self) { try Self.openDirectly(link) }
    try Self.openDirectly(home.database)  // negative control
  }

  private static func openDirectly(_ path: String) throws {
    let connection = try SQLiteConnection(path: path, access: .readWrite)
    try connection.run("SELECT * FROM account")
  }

  @Test(
    arguments: [
      ([:], nil, nil), (["HOME": "/h"], "/h/.local/share/einlass", "/h/.local/state/einlass/keys"),
      (["HOME": "/h", "XDG_DATA_HOME": "/d"], "/d/einlass", "/h/.local/state/einlass/keys"),
      (["HOME": "/h", "XDG_STATE_HOME": "/s"], "/h/.local/share/einlass", "/s/einlass/keys"),
      (
        ["HOME": "/h", "XDG_DATA_HOME": "relative"], "/h/.local/share/einlass",
        "/h/.local/state/einlass/keys"
      ),
    ] as [([String: String], String?, String?)])
  func `The default places are those of the XDG base directory specification`(
    _ environment: [String: String], _ directory: String?, _ keyDirectory: String?
  ) throws {
    let location = try? StoreLocation(path: nil, environment: { environment[$0] })
    #expect(location?.directory == directory)
    #expect(location?.keyDirectory == keyDirectory)
    let named = try StoreLocation(path: "/a/b/my.db", environment: { environment[$0] })
    #expect((named.directory, named.name, named.lockName) == ("/a/b", "my.db", "my.lock"))
    #expect(named.keyDirectory == keyDirectory)
  }

  @Test func `Two stores in a folder share no file, unless their names differ only by .db`() {
    func files(_ name: String) -> Set<String> {
      let location = StoreLocation(directory: "/a", name: name, keyDirectory: nil)
      return [
        location.lockName, location.auditName, location.providersName, location.temporaryName,
        location.backupName(schema: 1, revision: 1),
      ]
    }
    #expect(files("a.db").count == 5)
    for other in ["a.sqlite", "b.db", "a.db.db", "a.sqlite.db", "a.b.db"] {
      #expect(files("a.db").isDisjoint(with: files(other)), "\(other)")
    }
    // protocol/README.md documents this case. A change would break existing stores.
    #expect(files("a.db").intersection(files("a")).count == 4)
  }
}
