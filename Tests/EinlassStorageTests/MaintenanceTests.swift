import EinlassCrypto
import Foundation
import TestSupport
import Testing

@testable import Einlass
@testable import EinlassStorage

struct MaintenanceTests {
  private let home: StoreHome
  private let store: AccountStore
  private let new = AccountStore.NewAccount.example()

  init() throws {
    home = try StoreHome()
    store = home.store()
    _ = try store.add(new, .usual)
    _ = try store.saveCredential(new.account.id, .oauth2Example("app"))
  }

  private var tool: SQLiteTool { SQLiteTool(path: home.database) }
  private var keyFile: String {
    get throws {
      let names = try FileManager.default.contentsOfDirectory(atPath: home.keyDirectory)
      return home.keyDirectory + "/" + names[0]
    }
  }

  private func cells() throws -> [String] {
    try tool.run(
      "SELECT hex(token) || hex(token_secret) || hex(refresh_token) FROM credential ORDER BY client_id"
    )
  }

  @Test func `The status needs no key and creates no store`() throws {
    try FileManager.default.removeItem(atPath: keyFile)
    let status = try home.store().maintenance.status(.none)
    #expect(status.path == home.database && status.exists && !status.isReadOnly)
    #expect(status.protection == "keyfile" && status.slots == ["keyfile"])
    #expect((status.schema, status.revision) == (Migrations.released.schema, 2))
    #expect((status.accounts, status.keyUses) == (1, 6))
    #expect(status.databaseBytes > 0 && status.journalBytes > 0)
    let empty = try StoreHome()
    let none = try empty.store().maintenance.status(.none)
    #expect(!none.exists && none.path == empty.database && none.protection == "keyfile")
    #expect(!FileManager.default.fileExists(atPath: empty.directory))
    try FileManager.default.createDirectory(
      atPath: empty.directory, withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700])
    #expect(try !empty.store().maintenance.status(.none).exists)
    #expect(try FileManager.default.contentsOfDirectory(atPath: empty.directory).isEmpty)
  }

  /// Damages by SQL, and the findings of a check.
  static let faults: [(sql: String, kinds: Set<StoreMaintenance.Finding.Kind>)] = [
    ("SELECT 1", []),  // negative control
    ("UPDATE credential SET token = zeroblob(60) WHERE client_id = 'APP'", [.undecryptable]),
    ("UPDATE credential SET token = refresh_token WHERE client_id = 'APP'", [.undecryptable]),
    ("UPDATE credential SET bound_origins = 'https://x.example' || char(10)", [.bindingMismatch]),
    ("UPDATE meta SET key_id = x'00000000'", [.undecryptable]),
    ("DELETE FROM account", [.orphan]),
    ("UPDATE account SET health = 'fine'", [.damage]),
    ("UPDATE account SET username = printf('%.*c', 2049, 'x')", [.damage]),
    ("UPDATE account SET display_name = 'a' || char(8238) || 'b'", [.damage]),
    ("UPDATE account SET email = '', avatar = printf('%.*c', 8192, 'x')", []),
    ("UPDATE keyslot SET wrapped_key = zeroblob(60)", [.keyUnavailable]),
  ]

  @Test(arguments: faults)
  func `A check finds every damage and contains no secret in its messages`(
    _ sql: String, _ kinds: Set<StoreMaintenance.Finding.Kind>
  ) throws {
    try tool.run(sql)
    let check = try home.store().maintenance.check { _, _ in }
    #expect(Set(check.findings.map(\.kind)) == kinds, "\(check.findings)")
    #expect(check.isSound == kinds.isEmpty)
    #expect(!check.findings.contains { $0.message.contains("secret") })
    if kinds.isEmpty { #expect((check.accounts, check.sealedValues) == (1, 6)) }
  }

  @Test(
    arguments: [
      ("SELECT 1", []),  // negative control
      ("UPDATE user_password SET verifier = zeroblob(60)", [.undecryptable]),
      ("UPDATE \"user\" SET email_key = 'eve@example.org'", [.damage]),
      ("UPDATE user_identity SET email_key = NULL", [.damage]),
    ] as [(String, [StoreMaintenance.Finding.Kind])])
  func `A check opens every password and compares the keys of addresses`(
    _ sql: String, _ kinds: [StoreMaintenance.Finding.Kind]
  ) throws {
    var user = User(id: User.ID(rawValue: "u_1"), directory: "", application: "kiosk", createdAt: 1)
    user.email = "Ada@example.org"
    user.identities = [.init(place: .init(User.password, "ada@example.org"), email: user.email)]
    try store.users.change { [user] rows throws(Problem) in
      try rows.put(user)
      try rows.setPasswordVerifier(Secret("verifier"), of: user.id)
    }
    try tool.run(sql)
    let check = try home.store().maintenance.check { _, _ in }
    #expect(check.findings.map(\.kind) == kinds, "\(check.findings)")
    #expect(check.sealedValues == 7)
  }

  @Test func `A check finds an index that lacks a row`() throws {
    // Simulates a flipped bit: the schema names another column for the index.
    try tool.run(
      """
      PRAGMA writable_schema = ON;
      UPDATE sqlite_schema SET sql = replace(sql, 'subject)', 'username)') WHERE name = 'account_subject';
      """)
    let check = try home.store().maintenance.check { _, _ in }
    #expect(check.findings.map(\.kind).contains(.damage))
  }

  @Test func `A backup is the whole store, is private, and opens with the same key file`() throws {
    let path = home.path + "/copy.db"
    let backup = try store.maintenance.backup(path) { _, _ in }
    #expect(backup.path == path && backup.countBytes > 0)
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    _ = try store.maintenance.rotateKey { _, _ in }
    let copy = SQLiteAccountStore.store(
      location: StoreLocation(
        directory: home.path, name: "copy.db", keyDirectory: home.keyDirectory), choice: .usual)
    #expect(try copy.snapshot(.usual).accounts == store.snapshot(.usual).accounts)
    #expect(try copy.credentials(new.account.id) == store.credentials(new.account.id))
  }

  @Test func `A backup never replaces a file and is refused in a folder where others can write`()
    throws
  {
    let free = home.path + "/free"
    mkdir(free, 0o700)
    mkdir(home.path + "/open", 0o775)
    chmod(home.path + "/open", 0o775)
    for name in ["taken", "journaled.db-wal"] {
      _ = FileManager.default.createFile(
        atPath: free + "/" + name, contents: Data([1]), attributes: [.posixPermissions: 0o600])
    }
    for (path, detail) in [
      (free + "/taken", "refused"), (free + "/journaled.db", "corrupt"), (free, "refused"),
      (home.path + "/open/a.db", "permissions"), (home.path + "/nowhere/a.db", "refused"),
      (home.database, "corrupt"), ("relative.db", nil), ("/", nil), (free + "/..", nil),
    ] {
      let problem = problem { _ = try store.maintenance.backup(path) { _, _ in } }
      #expect(
        problem != nil && problem?.detail == detail, "\(path): \(String(describing: problem))")
    }
    let left = try FileManager.default.contentsOfDirectory(atPath: free)
    #expect(Set(left) == ["taken", "journaled.db-wal"])
    chmod(free, 0o755)  // like most home folders; the backup itself is private
    _ = try store.maintenance.backup(free + "/a.db") { _, _ in }  // negative control
    let attributes = try FileManager.default.attributesOfItem(atPath: free + "/a.db")
    #expect(attributes[.posixPermissions] as? Int == 0o600)
  }

  @Test func `A cancelled backup leaves no file`() throws {
    let given = Problem(.cancelled, "Given up.")
    for place in 0...2 {
      let problem = problem {
        _ = try store.maintenance.backup(home.path + "/copy.db") { done, _ throws(Problem) in
          if done == place { throw given }
        }
      }
      #expect(problem == given)
    }
    #expect(
      try Set(FileManager.default.contentsOfDirectory(atPath: home.path)) == ["data", "keys"])
  }

  @Test func `Rotation reseals every cell, and other processes go on working`() throws {
    let other = home.store()
    let before = try other.credentials(new.account.id)
    let old = try cells()
    let slot = try tool.run("SELECT hex(wrapped_key) FROM keyslot")
    let uses = try store.maintenance.status(.usual).keyUses
    let rotation = try store.maintenance.rotateKey { _, _ in }
    #expect(rotation.sealedValues == 6 && rotation.slots == ["keyfile"])
    #expect(rotation.droppedSlots.isEmpty && uses == 6)
    #expect(Set(try cells()).isDisjoint(with: old))
    #expect(try tool.run("SELECT hex(wrapped_key) FROM keyslot") != slot)
    #expect(try other.credentials(new.account.id) == before)
    _ = try other.saveCredential(new.account.id, .oauth2Example("later"))
    #expect(try store.credentials(new.account.id).count == 2)
    #expect(try store.maintenance.check { _, _ in }.isSound)
  }

  @Test func `A rotation that would leave no usable key slot changes no cell`() throws {
    let old = try cells()
    let path = try keyFile
    let key = try #require(FileManager.default.contents(atPath: path))
    // This process has already opened the key and could go on without the file.
    try FileManager.default.removeItem(atPath: path)
    let problem = problem { _ = try store.maintenance.rotateKey { _, _ in } }
    #expect(problem?.detail == "keyUnavailable")
    #expect(try cells() == old)
    // Negative control: with the file restored the rotation succeeds, and another process opens the
    // result.
    _ = FileManager.default.createFile(
      atPath: path, contents: key, attributes: [.posixPermissions: 0o600])
    _ = try store.maintenance.rotateKey { _, _ in }
    #expect(try home.store().credentials(new.account.id).count == 2)
  }

  @Test func `After a rotation no file contains a cell of the old key`() throws {
    let old = try tool.run("SELECT hex(substr(token, 6)) FROM credential")
    #expect(try old.allSatisfy { try isInFiles($0) })  // negative control
    _ = try store.maintenance.rotateKey { _, _ in }
    for cell in old { #expect(try !isInFiles(cell)) }
  }

  private func isInFiles(_ hexadecimal: String) throws -> Bool {
    try ["", "-wal"].contains { suffix in
      let bytes = FileManager.default.contents(atPath: home.database + suffix) ?? Data()
      let cell = try #require(Hexadecimal.decode(hexadecimal))
      return bytes.range(of: Data(cell)) != nil
    }
  }

  @Test func `A slot that could not be opened is dropped and named`() throws {
    try tool.run(
      "INSERT INTO keyslot VALUES (7, 'fd', '', zeroblob(16), zeroblob(60)), (8, 'keyfile', '/gone', zeroblob(16), zeroblob(60))"
    )
    let rotation = try store.maintenance.rotateKey { _, _ in }
    #expect(rotation.slots == ["keyfile"] && rotation.droppedSlots == ["fd", "keyfile"])
    #expect(try home.store().credentials(new.account.id).count == 2)
  }

  @Test func `A rotation that fails or is cancelled changes no cell`() throws {
    let old = try cells()
    let given = Problem(.cancelled, "Given up.")
    #expect(
      problem { _ = try store.maintenance.rotateKey { _, _ throws(Problem) in throw given } }
        == given)
    #expect(try cells() == old)
    try tool.run("UPDATE credential SET token = zeroblob(60) WHERE client_id = 'APP'")
    let damaged = try cells()
    let problem = problem { _ = try store.maintenance.rotateKey { _, _ in } }
    #expect(problem?.detail == "decryptFailed" && problem?.account == new.account.id)
    #expect(try cells() == damaged)
  }

  @Test func `A new store is refused while the journal of a missing one exists`() throws {
    try FileManager.default.removeItem(atPath: home.database)
    let journal = home.database + "-wal"
    let before = FilePrint(journal)
    let problem = problem { _ = try home.store().add(.example("bob"), .usual) }
    #expect(problem?.detail == "corrupt" && problem?.path == journal)
    #expect(FilePrint(journal) == before)
    try FileManager.default.removeItem(atPath: journal)  // negative control
    _ = try home.store().add(.example("bob"), .usual)
    #expect(try home.store().snapshot(.usual).accounts.count == 1)
  }

  @Test func `A store in memory reports its kind and refuses rotation and backup`() throws {
    let memory = MemoryAccountStore.make()
    _ = try memory.add(.example(), .usual)
    let status = try memory.maintenance.status(.none)
    #expect(status.protection == "memory" && status.accounts == 1 && status.path == nil)
    #expect(try memory.maintenance.check { _, _ in }.isSound)
    #expect(
      problem { _ = try memory.maintenance.rotateKey { _, _ in } }?.detail == "refused")
    #expect(
      problem { _ = try memory.maintenance.backup("/a") { _, _ in } }?.detail == "refused")
    #expect(problem { _ = try memory.maintenance.rotateKey { _, _ in } }?.advice == .nameStore)
  }

  @Test func `A store that is not there yet names what makes it`() throws {
    let empty = try StoreHome()
    let none = empty.store()
    #expect(problem { _ = try none.maintenance.rotateKey { _, _ in } }?.advice == .addFirst)
    #expect(
      problem { _ = try none.maintenance.addKeySlot("passphrase", Secret("long enough")) }?.advice
        == .addFirst)
  }
}
