import Einlass
import EinlassCrypto
import Foundation
import Testing

@testable import EinlassStorage

/// An attacker with write access to the file but without the key can neither read, move nor change
/// a secret.
struct SealingTests {
  private static let account = Account(
    id: Account.ID(rawValue: "a_1"), provider: "example", username: "ada", isSignedIn: true,
    addedAt: 1)
  private static func key(store: String = "s", id: [UInt8] = [1, 2, 3, 4]) -> StoreKey {
    StoreKey(id: id, store: store, root: Secret([UInt8](repeating: 7, count: 32)))
  }

  @Test func `Every bit of a sealed cell counts`() {
    let cell = SealedCell(table: "t", column: "c", account: "a", binding: [1], row: [2])
    let key = Self.key()
    // About the length of a JSON Web Token.
    let secret = Secret([UInt8](repeating: UInt8(ascii: "x"), count: 900))
    let sealed = key.seal(secret, in: cell)
    #expect(sealed.count == 1 + 4 + 12 + 900 + 16)
    #expect(key.open(sealed, in: cell) == secret)  // negative control
    for bit in 0..<sealed.count * 8 {
      var changed = sealed
      changed[bit / 8] ^= 1 << (bit % 8)
      if key.open(changed, in: cell) != nil { Issue.record("a flipped bit \(bit) is accepted") }
    }
    for count in 0..<sealed.count where key.open(Array(sealed.prefix(count)), in: cell) != nil {
      Issue.record("the first \(count) bytes open")
    }
    #expect(key.open(sealed + [0], in: cell) == nil)
  }

  @Test func `Every bit of a key slot counts`() {
    let root = SecureRandom.secret(32)
    let secret = SecureRandom.secret(32)
    let slot = KeySlot.wrap(
      root, id: 1, kind: .keyfile, parameters: "", salt: SecureRandom.bytes(16), store: "s",
      with: secret)
    #expect(slot.unwrap(store: "s", with: secret) == root)  // negative control
    for bit in 0..<slot.wrappedKey.count * 8 {
      var changed = slot
      changed.wrappedKey[bit / 8] ^= 1 << (bit % 8)
      #expect(changed.unwrap(store: "s", with: secret) == nil)
    }
    for bit in 0..<slot.salt.count * 8 {
      var changed = slot
      changed.salt[bit / 8] ^= 1 << (bit % 8)
      #expect(changed.unwrap(store: "s", with: secret) == nil)
    }
    var changed = slot
    changed.id = 2
    #expect(changed.unwrap(store: "s", with: secret) == nil)
    changed = slot
    changed.kind = .fd
    #expect(changed.unwrap(store: "s", with: secret) == nil)
    changed = slot
    changed.parameters = "/tmp/k"
    #expect(changed.unwrap(store: "s", with: secret) == nil)
    #expect(slot.unwrap(store: "t", with: secret) == nil)
    #expect(slot.unwrap(store: "s", with: SecureRandom.secret(32)) == nil)
  }

  @Test func `A cell opens only where it was sealed`() {
    let home = SealedCell(table: "t", column: "c", account: "a", binding: [1], row: [2])
    let sealed = Self.key().seal(Secret("x"), in: home)
    var others = [home, home, home, home, home, home]
    others[0].table = "u"
    others[1].column = "d"
    others[2].account = "b"
    others[3].binding = [1, 0]
    others[4].row = []
    (others[5].table, others[5].column) = ("tc", "")  // the same text, divided differently
    for other in others { #expect(Self.key().open(sealed, in: other) == nil) }
    #expect(Self.key(store: "u").open(sealed, in: home) == nil)
    #expect(Self.key(id: [1, 2, 3, 5]).open(sealed, in: home) == nil)
    #expect(Self.key().open(sealed, in: home) == Secret("x"))  // negative control
  }

  @Test func `The same secret is sealed to different bytes each time`() {
    let cell = SealedCell(table: "t", column: "c", account: "a", binding: [], row: [])
    let sealed = (0..<1000).map { _ in Self.key().seal(Secret("x"), in: cell) }
    #expect(Set(sealed).count == 1000)
    #expect(Set(sealed.map { Array($0[5..<17]) }).count == 1000)
  }

  /// A million nonces in a long run (`EINLASS_FAULT_ROUNDS` of 1000 or more), which takes a debug
  /// build over ten seconds. The store itself counts the uses of its key, as a test below checks.
  @Test func `No nonce repeats, however often a key is used`() {
    let rounds = ProcessInfo.processInfo.environment["EINLASS_FAULT_ROUNDS"].flatMap(Int.init) ?? 0
    let count = rounds >= 1000 ? 1_000_000 : 200_000
    let (key, secret) = (Self.key(), Secret("x"))
    let cell = SealedCell(table: "t", column: "c", account: "a", binding: [], row: [])
    var nonces = (0..<count).map { _ in
      key.seal(secret, in: cell).withUnsafeBytes {
        Nonce(
          first: $0.loadUnaligned(fromByteOffset: 5, as: UInt64.self),
          rest: $0.loadUnaligned(fromByteOffset: 13, as: UInt32.self))
      }
    }
    #expect(Set(nonces).count == nonces.count)
    // Negative control: a repeated nonce is noticed.
    nonces[7] = nonces[count - 1]
    #expect(Set(nonces).count == nonces.count - 1)
  }

  private struct Nonce: Hashable {
    var first: UInt64
    var rest: UInt32
  }

  @Test func `No exchange of cells between rows and columns goes unnoticed`() throws {
    let stored: [StoredCredential] = [.oauth1Example("s"), .oauth2Example("s")]
    var rows: [(Account, CredentialRow)] = []
    for number in 0..<10 {
      var account = Self.account
      account.id = Account.ID(rawValue: "a_\(number)")
      rows += stored.map { (account, CredentialRow($0, account: account, key: Self.key())) }
    }
    var swaps = 0
    for (account, row) in rows {
      for (column, cell) in row.cells {
        for (_, other) in rows {
          for (_, otherCell) in other.cells where otherCell != cell {
            var changed = row
            changed.cells[column] = otherCell
            let problem = problem {
              _ = try changed.open(account: account, key: Self.key(), path: "p")
            }
            if problem?.detail != "decryptFailed" { Issue.record("\(column) was exchanged") }
            swaps += 1
          }
        }
      }
    }
    #expect(swaps == 60 * 59)
    for (account, row) in rows {
      _ = try row.open(account: account, key: Self.key(), path: "p")  // negative control
    }
  }

  /// Edits by a program without the key, and the resulting problem of the account's next use.
  static let edits: [(sql: String, reason: Problem.Reason?, detail: String?)] = [
    ("UPDATE account SET display_name = 'x'", nil, nil),  // negative control
    (
      "UPDATE credential SET bound_origins = 'https://evil.example' || char(10)", .bindingMismatch,
      nil
    ),
    (
      "UPDATE credential SET bound_origins = bound_origins || 'https://evil.example' || char(10)",
      .bindingMismatch, nil
    ),
    ("UPDATE credential SET bound_client_id = 'EVIL'", .bindingMismatch, nil),
    ("UPDATE credential SET bound_flow_kind = 'systemToken'", .bindingMismatch, nil),
    ("UPDATE credential SET bound_flow_kind = 'unheardOf'", .bindingMismatch, nil),
    ("UPDATE credential SET bound_trust = '{\"plainHTTP\":true}'", .bindingMismatch, nil),
    ("UPDATE credential SET binding = x'00'", .bindingMismatch, nil),
    ("UPDATE account SET provider = 'evil'", .bindingMismatch, nil),
    ("UPDATE credential SET client_id = 'EVIL'", .accountStoreFailure, "decryptFailed"),
    ("UPDATE credential SET role = 'application'", .accountStoreFailure, "decryptFailed"),
    ("UPDATE credential SET kind = 'oauth2'", .accountStoreFailure, "decryptFailed"),
    ("UPDATE credential SET scopes = 'all' || char(10)", .accountStoreFailure, "decryptFailed"),
    ("UPDATE credential SET expires_at = 9999999999", .accountStoreFailure, "decryptFailed"),
    ("UPDATE credential SET token_type = 'mac'", .accountStoreFailure, "decryptFailed"),
    ("UPDATE credential SET client_secret = NULL", .accountStoreFailure, "decryptFailed"),
    ("UPDATE credential SET token = token_secret", .accountStoreFailure, "decryptFailed"),
    ("UPDATE credential SET token = x''", .accountStoreFailure, "decryptFailed"),
    (
      "UPDATE credential SET refresh_token = token", .accountStoreFailure, "decryptFailed"
    ),
    ("UPDATE account SET id = 'a_other'", .unknownAccount, nil),
    (
      "UPDATE meta SET store = '00000000000000000000000000000000'", .accountStoreFailure,
      "keyUnavailable"
    ),
    ("UPDATE meta SET key_id = x'01020304'", .accountStoreFailure, "decryptFailed"),
    ("UPDATE keyslot SET wrapped_key = zeroblob(60)", .accountStoreFailure, "keyUnavailable"),
    ("UPDATE keyslot SET salt = x''", .accountStoreFailure, "keyUnavailable"),
  ]

  @Test(arguments: edits.indices)
  func `An edit without the key makes the credential unusable`(_ row: Int) throws {
    let (sql, reason, detail) = Self.edits[row]
    let home = try StoreHome()
    let id = try home.store().add(.example(), .usual).account.id
    try SQLiteTool(path: home.database).run(sql)
    let problem = problem { _ = try home.store().contents(id) }
    #expect(problem?.reason == reason)
    #expect(problem?.detail == detail)
  }

  @Test func `A binding that is edited together with its hash is noticed`() throws {
    let home = try StoreHome()
    let id = try home.store().add(.example(), .usual).account.id
    let other = try home.store().add(.example("bob"), .usual).account.id
    // The attacker takes the hash of the other binding from a store of their own.
    let foreign = try StoreHome()
    var evil = AccountStore.NewAccount.example()
    evil.credential.binding = ProviderBinding(
      origins: ["https://evil.example"], clientID: "SYS", flowKind: .reverseAuth)
    _ = try foreign.store().add(evil, .usual)
    let hash = try SQLiteTool(path: foreign.database).run("SELECT hex(binding) FROM credential")[0]
    try SQLiteTool(path: home.database).run(
      """
      UPDATE credential SET bound_origins = 'https://evil.example' || char(10), binding = x'\(hash)'
      WHERE account = '\(id.rawValue)'
      """)
    let problem = problem { _ = try home.store().contents(id) }
    #expect(problem?.detail == "decryptFailed" && problem?.account == id)
    #expect(problem?.message.contains("token") == true)
    #expect(problem?.message.contains(home.database) == true)
    // Other accounts keep working.
    #expect(try home.store().contents(other).count == 1)
  }

  @Test func `A whole row of another store does not open`() throws {
    let (home, foreign) = (try StoreHome(), try StoreHome())
    let new = AccountStore.NewAccount.example()
    _ = try home.store().add(new, .usual)
    _ = try foreign.store().add(new, .usual)
    try SQLiteTool(path: home.database).run(
      """
      ATTACH '\(foreign.database)' AS f; DELETE FROM credential;
      INSERT INTO credential SELECT * FROM f.credential
      """)
    let problem = problem { _ = try home.store().contents(new.account.id) }
    #expect(problem?.detail == "decryptFailed")
    #expect(try foreign.store().contents(new.account.id) == [new.credential])
  }

  @Test func `Uses of the key end at half of the safe number, and those of renewals at the whole`()
    throws
  {
    let home = try StoreHome()
    let id = try home.store().add(.example(), .usual).account.id
    _ = try home.store().saveCredential(id, .oauth2Example("a"))
    let tool = SQLiteTool(path: home.database)
    #expect(try tool.run("SELECT encryptions FROM meta") == ["6"])
    try tool.run("UPDATE meta SET encryptions = \(1 << 31 - 3)")
    _ = try home.store().add(.example("bob"), .usual)
    let refusal = problem { _ = try home.store().add(.example("eve"), .usual) }
    #expect(refusal?.detail == "refused")
    // A renewed token cannot be asked for again.
    try tool.run("UPDATE meta SET encryptions = \(1 << 32 - 3)")
    _ = try home.store().saveCredential(id, .oauth2Example("b"))
    let problem = problem { _ = try home.store().saveCredential(id, .oauth2Example("c")) }
    #expect(problem?.detail == "refused")
    #expect(try home.store().contents(id).contains(.oauth2Example("b")))
    // The new key's count begins again.
    _ = try home.store().maintenance.rotateKey { _, _ in }
    _ = try home.store().saveCredential(id, .oauth2Example("c"))
    #expect(try tool.run("SELECT encryptions FROM meta") == ["12"])
  }
}
