import Einlass
import EinlassStorage
import Foundation
import TestSupport
import Testing

/// A file that is not a usable store is reported with its path and left unchanged to the byte.
struct RefusedStoreTests {
  /// A change that makes a good store unusable, and the detail of the resulting problem. `nil` for
  /// the negative control.
  struct Damage: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let detail: String?
    let spoil: @Sendable (String) throws -> Void

    init(_ name: String, _ detail: String?, _ spoil: @escaping @Sendable (String) throws -> Void) {
      (testDescription, self.detail, self.spoil) = (name, detail, spoil)
    }

    init(_ name: String, _ detail: String?, sql: String) {
      self.init(name, detail) { try SQLiteTool(path: $0).run(sql) }
    }

    static func bytes(
      _ name: String, _ edit: @escaping @Sendable (inout [UInt8]) -> Void
    ) -> Damage {
      Damage(name, "corrupt") { path in
        var content = Array(FileManager.default.contents(atPath: path)!)
        edit(&content)
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try file.truncate(atOffset: 0)
        try file.write(contentsOf: Data(content))
        try file.close()
      }
    }
  }

  static let damages: [Damage] = [
    Damage("nothing: the negative control", nil) { _ in },
    // Newer stores
    Damage("the next schema", "tooNew") { path in
      let tool = SQLiteTool(path: path)
      let schema = Int(try tool.run("PRAGMA user_version")[0])! + 1
      try tool.run("PRAGMA user_version = \(schema)")
    },
    Damage("a much newer schema", "tooNew", sql: "PRAGMA user_version = 1000"),
    Damage(
      "an unknown column", "tooNew", sql: "ALTER TABLE account ADD COLUMN generation INTEGER"),
    Damage("an unknown table", "tooNew", sql: "CREATE TABLE audit (id INTEGER)"),
    Damage("an unknown key slot", "tooNew", sql: "UPDATE keyslot SET kind = 'unheardOf'"),
    // Files that were never a store
    Damage("another program's database", "corrupt", sql: "PRAGMA application_id = 17"),
    Damage("a database without an application id", "corrupt") {
      try FileManager.default.removeItem(atPath: $0)
      try SQLiteTool(path: $0).run("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
      chmod($0, 0o600)
    },
    Damage.bytes("an empty file") { $0 = [] },
    Damage.bytes("a text") { $0 = Array(repeating: UInt8(ascii: "x"), count: 5000) },
    Damage.bytes("one byte") { $0 = [0] },
    Damage("a directory", "corrupt") {
      try FileManager.default.removeItem(atPath: $0)
      mkdir($0, 0o700)
    },
    Damage("a FIFO", "corrupt") {
      try FileManager.default.removeItem(atPath: $0)
      mkfifo($0, 0o600)
    },
    // Damaged stores
    Damage("schema 0", "corrupt", sql: "PRAGMA user_version = 0"),
    Damage("a missing column", "corrupt", sql: "ALTER TABLE account DROP COLUMN avatar"),
    Damage("a missing table", "corrupt", sql: "DROP TABLE access_grant"),
    Damage("no table of key slots", "corrupt", sql: "DROP TABLE keyslot"),
    Damage("no meta table", "corrupt", sql: "DROP TABLE meta"),
    Damage.bytes("a column's name changed") { bytes in
      let name = Array("username".utf8)
      let place = bytes.indices.first { bytes[$0...].starts(with: name) }
      if let place { bytes[place] = UInt8(ascii: "v") }
    },
    Damage("no store id", "corrupt", sql: "UPDATE meta SET store = '../../../etc/passwd'"),
    Damage("no meta row", "corrupt", sql: "DELETE FROM meta"),
    Damage.bytes("cut after the first page") { $0.removeLast($0.count - 4096) },
    Damage.bytes("cut in the first page") { $0.removeLast($0.count - 700) },
    Damage.bytes("zeroed pages") { bytes in
      for index in 4096..<bytes.count { bytes[index] = 0 }
    },
    // Stores that others can reach
    Damage("readable for the group", "permissions") { chmod($0, 0o640) },
    Damage("a second name", "permissions") { link($0, $0 + ".copy") },
    Damage("a symbolic link", "permissions") {
      try FileManager.default.moveItem(atPath: $0, toPath: $0 + ".real")
      symlink($0 + ".real", $0)
    },
    Damage("its directory open to others", "permissions") {
      chmod(($0 as NSString).deletingLastPathComponent, 0o755)
    },
  ]

  @Test(arguments: damages)
  func `An unusable store is refused and left unchanged`(_ damage: Damage) throws {
    let home = try StoreHome()
    let new = AccountStore.NewAccount.example()
    let id = try home.store().add(new, .usual).account.id
    try damage.spoil(home.database)
    let before = FilePrint(home.database)
    let uses: [(AccountStore) throws -> Void] = [
      { _ = try $0.snapshot(.none) },
      { _ = try $0.protection(.none) },
      { _ = try $0.contents(id) },
      { _ = try $0.add(.example("bob"), .usual) },
      { _ = try $0.update(id, .usual) { $0.displayName = "x" } },
      {
        _ = try $0.setGrant(
          AccessGrant(application: "a", provider: "b", state: .denied, changedAt: 1), .usual)
      },
    ]
    var details: Set<String?> = []
    for use in uses {
      let problem = problem { try use(home.store()) }
      details.insert(problem?.detail)
      guard let problem else { continue }
      #expect(problem.reason == .accountStoreFailure)
      #expect(problem.path?.hasPrefix(home.path) == true)
      #expect(problem.message.contains(home.path))
    }
    // A value of the wrong type is noticed only by the use that reads it, so one use is enough.
    #expect(details.contains(damage.detail))
    #expect(details.isSubset(of: [damage.detail, nil]) || damage.detail == "corrupt")
    #expect(damage.detail != "tooNew" || details == ["tooNew"])
    if damage.detail != nil && details == [damage.detail] {
      #expect(FilePrint(home.database) == before)
    } else if damage.detail == nil {
      #expect(FilePrint(home.database) != before)
    }
  }

  @Test(arguments: ["tooNew", "corrupt"])
  func `A store that becomes unusable while it is open is refused from then on`(_ detail: String)
    throws
  {
    let home = try StoreHome()
    let store = home.store()
    let id = try store.add(.example(), .usual).account.id
    try SQLiteTool(path: home.database).run(
      detail == "tooNew" ? "PRAGMA user_version = 1000" : "PRAGMA application_id = 3")
    #expect(problem { _ = try store.contents(id) }?.detail == detail)
    #expect(problem { _ = try store.update(id, .usual) { $0.email = nil } }?.detail == detail)
    #expect(problem { _ = try store.contents(id) }?.detail == detail)
  }

  @Test func `A store that was moved away is left alone, and a new one is made`() throws {
    let home = try StoreHome()
    let store = home.store()
    _ = try store.add(.example(), .usual)
    try FileManager.default.moveItem(atPath: home.directory, toPath: home.path + "/away")
    #expect(try store.snapshot(.none) == AccountStore.Snapshot())
    _ = try store.add(.example("bob"), .usual)
    #expect(try store.snapshot(.none).accounts.map(\.username) == ["bob"])
    #expect(try home.store().snapshot(.none).accounts.map(\.username) == ["bob"])
  }

  @Test func `A foreign database with a hot journal is not rolled back`() throws {
    let home = try StoreHome()
    mkdir(home.directory, 0o700)
    try SQLiteTool(path: home.database).run("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
    chmod(home.database, 0o600)
    let journal = home.database + "-journal"
    // The magic number of a rollback journal, so that SQLite treats the file as a hot journal.
    let head: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]
    _ = FileManager.default.createFile(
      atPath: journal, contents: Data(head + [UInt8](repeating: 0, count: 504)),
      attributes: [.posixPermissions: 0o600])
    let before = (FilePrint(home.database), FilePrint(journal))
    #expect(problem { _ = try home.store().snapshot(.none) }?.detail == "corrupt")
    #expect(problem { _ = try home.store().add(.example(), .usual) }?.detail == "corrupt")
    #expect(before == (FilePrint(home.database), FilePrint(journal)))
    // Negative control: a read by a plain SQLite connection rolls the database back.
    try SQLiteTool(path: home.database).run("SELECT * FROM t")
    #expect(before != (FilePrint(home.database), FilePrint(journal)))
  }
}
