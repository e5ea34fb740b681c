import Einlass
import EinlassCrypto
import EinlassSystem
import Foundation
import TestSupport
import Testing

@testable import EinlassStorage

/// The slots of a store's key. Shell scripts stand in for the keyring's program, so no test needs a
/// keyring.
///
/// Serialized, because scrypt needs much memory for each passphrase.
@Suite(.serialized) struct KeySlotTests {
  private let home: StoreHome

  init() throws {
    // A write to a keyring program that has died would otherwise end the test process.
    signal(SIGPIPE, SIG_IGN)
    home = try StoreHome()
  }

  /// A keyring program that keeps the secret in a file.
  private var keyring: KeySecretService {
    .playing(
      "case $1 in store) cat >'\(home.path)/ring' ;; lookup) cat '\(home.path)/ring' ;; esac")
  }

  /// Returns the store as in a process with these options.
  private func store(
    _ choice: KeySource.Choice = .usual, passphrase: String? = nil,
    keyring: KeySecretService = .playing("exit 1"), command: String? = nil,
    stretching: ScryptParameters = .init(cost: 1 << 10, blockSize: 8, parallelism: 1)
  ) throws -> AccountStore {
    let location = StoreLocation(directory: home.directory, keyDirectory: home.keyDirectory)
    let number = try passphrase.map(descriptor)
    return SQLiteAccountStore.store(
      location: location,
      keys: KeySource(
        choice, passphraseDescriptor: number, stretching: stretching, secretService: keyring,
        command: command.map { KeyCommand(words: ["/bin/sh", "-c", $0]) }, location: location))
  }

  /// Returns a descriptor with one line, of a file rather than a pipe, because a child process
  /// could hold a pipe open.
  private func descriptor(_ line: String) throws -> Int32 {
    let path = "\(home.path)/line-\(UUID().uuidString)"
    try (line + "\n").write(toFile: path, atomically: false, encoding: .utf8)
    let number = open(path, O_RDONLY | O_CLOEXEC)
    try #require(number >= 0)
    return number
  }

  private func slots() throws -> [String] {
    try SQLiteTool(path: home.database)
      .run("SELECT kind || ' ' || hex(wrapped_key) FROM keyslot ORDER BY id")
  }

  /// Returns the detail of the problem when the account's credentials are read, or "opens".
  private func outcome(_ store: AccountStore, _ id: Account.ID) -> String {
    problem { _ = try store.contents(id) }?.detail ?? "opens"
  }

  @Test func `A passphrase slot opens a store, also after the key file's slot is removed`() throws {
    let id = try store().add(.example(), .usual).account.id
    #expect(
      try store(passphrase: "right").maintenance.addKeySlot("passphrase", nil)
        == ["keyfile", "passphrase"])
    #expect(outcome(try store(passphrase: "right"), id) == "opens")
    // The key file is tried first, because the passphrase can be that of an accounts file.
    #expect(outcome(try store(passphrase: "wrong"), id) == "opens")
    let mistyped = try store(passphrase: "wrong")
    #expect(
      problem { _ = try mistyped.maintenance.rotateKey { _, _ in } }?.detail == "keyUnavailable")
    #expect(outcome(try store(), id) == "opens")
    #expect(try store().protection(.none) == "keyfile")
    #expect(try store().maintenance.removeKeySlot("keyfile") == ["passphrase"])
    #expect(try store().protection(.none) == "passphrase")
    #expect(outcome(try store(), id) == "keyUnavailable")
    #expect(outcome(try store(passphrase: "right"), id) == "opens")
    #expect(try store().snapshot(.none).accounts.count == 1)
    // The last key slot is never removed.
    let last = problem { _ = try store().maintenance.removeKeySlot("passphrase") }
    #expect(last?.detail == "refused")
    #expect(outcome(try store(passphrase: "right"), id) == "opens")
  }

  @Test func `A new passphrase replaces the first, and rotation keeps all slots`()
    throws
  {
    let id = try store().add(.example(), .usual).account.id
    _ = try store(passphrase: "first").maintenance.addKeySlot("passphrase", nil)
    _ = try store().maintenance.removeKeySlot("keyfile")
    #expect(
      problem { _ = try store().maintenance.addKeySlot("keyfile", nil) }?.detail == "keyUnavailable"
    )
    _ = try store(passphrase: "first").maintenance.addKeySlot("keyfile", nil)
    _ = try store(passphrase: "second").maintenance.removeKeySlot("passphrase")
    _ = try store(passphrase: "second").maintenance.addKeySlot("passphrase", nil)
    _ = try store(keyring: keyring).maintenance.addKeySlot("secretservice", nil)
    let rotation = try store(passphrase: "second", keyring: keyring).maintenance.rotateKey { _, _ in
    }
    #expect(Set(rotation.slots) == ["keyfile", "passphrase", "secretservice"])
    #expect(rotation.droppedSlots == [])
    #expect(outcome(try store(passphrase: "second"), id) == "opens")
    #expect(outcome(try store(), id) == "opens")
    _ = try store().maintenance.removeKeySlot("keyfile")
    #expect(outcome(try store(passphrase: "first"), id) == "keyUnavailable")
    #expect(outcome(try store(keyring: keyring), id) == "opens")
  }

  @Test
  func `A typed passphrase opens a locked store, and a wrong one is not remembered`()
    throws
  {
    let id = try store().add(.example(), .usual).account.id
    _ = try store().maintenance.addKeySlot("passphrase", Secret("right"))
    // Negative controls: with a key file, or with a passphrase from a descriptor, no prompt is
    // needed.
    try store().maintenance.openKey(nil)
    _ = try store().maintenance.removeKeySlot("keyfile")
    let brought = problem { try store(passphrase: "wrong").maintenance.openKey(nil) }
    #expect(brought?.neededPrompts == [])
    let open = try store()
    #expect(
      problem { try open.maintenance.openKey(nil) }?.neededPrompts
        == [.enterPassphrase(.init(.keySlot, path: home.database))])
    #expect(problem { try open.maintenance.openKey(Secret("wrong")) }?.detail == "keyUnavailable")
    #expect(outcome(open, id) == "keyUnavailable")
    try open.maintenance.openKey(Secret("right"))
    #expect(outcome(open, id) == "opens")
    #expect(try open.maintenance.addKeySlot("passphrase", Secret("second")) == ["passphrase"])
    #expect(try open.maintenance.rotateKey { _, _ in }.slots == ["passphrase"])
    let other = try store()
    #expect(problem { try other.maintenance.openKey(Secret("right")) }?.detail == "keyUnavailable")
    try other.maintenance.openKey(Secret("second"))
    #expect(outcome(other, id) == "opens")
  }

  @Test func `The right passphrase opens amid wrong ones, and wrong ones are never kept`()
    throws
  {
    let id = try store().add(.example(), .usual).account.id
    _ = try store().maintenance.addKeySlot("passphrase", Secret("right"))
    _ = try store().maintenance.removeKeySlot("keyfile")
    for _ in 0..<10 {
      let open = try store()
      let refused = Lock<Set<String>>([])
      DispatchQueue.concurrentPerform(iterations: 3) { number in
        let words = ["wrong", "right", "false"][number]
        let detail = problem { try open.maintenance.openKey(Secret(words)) }?.detail
        if detail == "keyUnavailable" { refused.withLock { _ = $0.insert(words) } }
      }
      #expect(!refused.withLock { $0 }.contains("right"))
      #expect(outcome(open, id) == "opens")
      // An open store ignores the passphrase, and rotation uses the right one.
      try open.maintenance.openKey(Secret("wrong"))
      #expect(try open.maintenance.rotateKey { _, _ in }.slots == ["passphrase"])
    }
  }

  @Test
  func `Removing its slot clears the keyring, and rotation drops the slot of a locked keyring`()
    throws
  {
    let ring = "\(home.path)/ring"
    let id = try store().add(.example(), .usual).account.id
    let lock = "\(home.path)/locked"
    let keyring = KeySecretService.playing(
      "test -e '\(lock)' && exit 1; case $1 in store) cat >'\(ring)' ;; lookup) cat '\(ring)' ;; clear) rm '\(ring)' ;; esac"
    )
    let open = try store(keyring: keyring)
    _ = try open.maintenance.addKeySlot("secretservice", nil)
    try Data().write(to: URL(filePath: lock))
    #expect(try open.maintenance.rotateKey { _, _ in }.droppedSlots == ["secretservice"])
    try FileManager.default.removeItem(atPath: lock)
    _ = try open.maintenance.addKeySlot("secretservice", nil)
    #expect(try open.maintenance.rotateKey { _, _ in }.droppedSlots == [])
    #expect(FileManager.default.fileExists(atPath: ring))
    #expect(try open.maintenance.removeKeySlot("secretservice") == ["keyfile"])
    #expect(!FileManager.default.fileExists(atPath: ring))
    #expect(outcome(open, id) == "opens")
  }

  @Test func `Simultaneous requests look up the key once, and each of them gets it`() throws {
    let id = try store(keyring: keyring).add(.example(), .usual).account.id
    _ = try store(keyring: keyring).maintenance.addKeySlot("secretservice", nil)
    _ = try store(keyring: keyring).maintenance.removeKeySlot("keyfile")
    let counting = KeySecretService.playing(
      "echo >>'\(home.path)/count'; cat '\(home.path)/ring'")
    let opening = try store(keyring: counting)
    let outcomes = Lock<[String]>([])
    DispatchQueue.concurrentPerform(iterations: 16) { _ in
      let found = outcome(opening, id)
      outcomes.withLock { $0.append(found) }
    }
    #expect(outcomes.withLock { $0 } == Array(repeating: "opens", count: 16))
    #expect(try String(contentsOfFile: "\(home.path)/count", encoding: .utf8) == "\n")
  }

  @Test func `The keyring's secret is not overwritten while it is the store's only key`()
    throws
  {
    let id = try store(keyring: keyring).add(.example(), .usual).account.id
    _ = try store(keyring: keyring).maintenance.addKeySlot("secretservice", nil)
    _ = try store(keyring: keyring).maintenance.removeKeySlot("keyfile")
    // This keyring accepts a new secret and is locked afterwards.
    let locking = KeySecretService.playing(
      """
      cd '\(home.path)'; case $1 in store) cat >ring; touch locked ;;
      lookup) test -e locked && exit 1; cat ring ;; esac
      """)
    let added = problem {
      _ = try store(keyring: locking).maintenance.addKeySlot("secretservice", nil)
    }
    #expect(added == nil)
    #expect(outcome(try store(keyring: keyring), id) == "opens")
  }

  @Test func `A new store can begin with a passphrase alone, and no key file is made`() throws {
    let id = try store(passphrase: "words", stretching: .standard).add(.example(), .usual)
      .account.id
    #expect(try store().protection(.none) == "passphrase")
    #expect(outcome(try store(passphrase: "words"), id) == "opens")
    #expect(!FileManager.default.fileExists(atPath: home.keyDirectory))
    let empty = try StoreHome()
    let location = StoreLocation(directory: empty.directory, keyDirectory: empty.keyDirectory)
    let store = SQLiteAccountStore.store(
      location: location,
      keys: KeySource(
        .usual, passphraseDescriptor: try descriptor(""), location: location))
    #expect(problem { _ = try store.add(.example(), .usual) }?.detail == "keyUnavailable")
    #expect(!FileManager.default.fileExists(atPath: empty.database))
  }

  /// The slots of the store (k key file, s Secret Service, p passphrase), the available keys (P is
  /// a wrong passphrase), the reported protection, and whether the store opens.
  static let matrix: [(slots: String, there: String, label: String, opens: Bool)] = [
    ("k", "k", "keyfile", true), ("k", "", "keyfile", false), ("k", "sp", "keyfile", false),
    ("s", "s", "secretservice", true), ("s", "", "secretservice", false),
    ("s", "k", "secretservice", false), ("p", "p", "passphrase", true),
    ("p", "", "passphrase", false), ("p", "P", "passphrase", false),
    ("ks", "s", "keyfile", true), ("ksp", "p", "keyfile", true), ("ksp", "ksP", "keyfile", true),
    ("ksp", "P", "keyfile", false), ("ksp", "sP", "keyfile", false),
  ]

  @Test(arguments: matrix)
  func `The reported protection is true, and an unavailable slot leads to no second key`(
    row: (slots: String, there: String, label: String, opens: Bool)
  ) throws {
    let names: [Character: String] = ["k": "keyfile", "s": "secretservice", "p": "passphrase"]
    let id = try store().add(.example(), .usual).account.id
    for (letter, name) in names where letter != "k" && row.slots.contains(letter) {
      _ = try store(passphrase: "right", keyring: keyring).maintenance.addKeySlot(name, nil)
    }
    if !row.slots.contains("k") { _ = try store().maintenance.removeKeySlot("keyfile") }
    if !row.there.contains("k") { try FileManager.default.removeItem(atPath: home.keyDirectory) }
    let before = try slots()
    let store = try store(
      passphrase: row.there.contains("p") ? "right" : row.there.contains("P") ? "wrong" : nil,
      keyring: row.there.contains("s") ? keyring : .playing("exit 1"))
    #expect(try store.protection(.none) == row.label)
    #expect(outcome(store, id) == (row.opens ? "opens" : "keyUnavailable"))
    _ = try? store.add(.example("other"), .usual)
    #expect(try slots() == before)
    #expect(FileManager.default.fileExists(atPath: home.keyDirectory) == row.there.contains("k"))
  }

  /// The first is the negative control.
  static let parameters: [(text: String, isTaken: Bool)] = [
    ("scrypt 131072 8 1", true), ("scrypt 1048576 8 2", true), ("scrypt 1073741824 8 1", false),
    ("scrypt 131072 1048576 1", false), ("scrypt 131072 8 0", false), ("scrypt 131072 0 1", false),
    ("scrypt 131071 8 1", false), ("scrypt 0 8 1", false), ("scrypt 1 8 1", false),
    ("scrypt 1048576 16 1", false), ("scrypt 131072 8 3", false), ("scrypt 131072 8", false),
    ("scrypt 131072 8 1 1", false), ("scrypt -131072 8 1", false),
    ("scrypt 99999999999999999999 8 1", false), ("argon2 131072 8 1", false), ("", false),
    ("scrypt 32768 1 1", true), ("scrypt 65536 1 1", false),
  ]

  @Test(arguments: parameters)
  func `Excessive scrypt parameters are refused before any work is done`(
    row: (text: String, isTaken: Bool)
  ) throws {
    let slot = KeySlot(
      id: 1, kind: .passphrase, parameters: row.text, salt: SecureRandom.bytes(16), wrappedKey: [])
    #expect((ScryptParameters(slot) != nil) == row.isTaken)
    var saltless = slot
    saltless.salt = []
    #expect(ScryptParameters(saltless) == nil)
  }

  @Test func `A slot with forged scrypt parameters for a gigabyte costs no time`() throws {
    let id = try store(passphrase: "words").add(.example(), .usual).account.id
    try SQLiteTool(path: home.database).run(
      "UPDATE keyslot SET parameters = 'scrypt 1073741824 8 1'")
    let isQuick = try (0..<5).contains { _ in
      let store = try store(passphrase: "words")
      let start = ContinuousClock.now
      #expect(outcome(store, id) == "keyUnavailable")
      return ContinuousClock.now - start < .milliseconds(100)
    }
    #expect(isQuick)
    try SQLiteTool(path: home.database).run("UPDATE keyslot SET parameters = 'scrypt 1024 8 1'")
    #expect(outcome(try store(passphrase: "words"), id) == "opens")
  }

  @Test func `A program that prints the key opens a store, and a store names no program`() throws {
    let print = "echo \(String(repeating: "5a", count: 32))"
    let id = try store().add(.example(), .usual).account.id
    let without = problem { _ = try store().maintenance.addKeySlot("command", nil) }
    #expect(without?.detail == "refused")
    #expect(
      try store(command: print).maintenance.addKeySlot("command", nil) == ["keyfile", "command"])
    #expect(try store(command: print).maintenance.removeKeySlot("keyfile") == ["command"])
    #expect(outcome(try store(command: print), id) == "opens")
    #expect(
      outcome(try store(command: "echo \(String(repeating: "5b", count: 32))"), id)
        == "keyUnavailable")
    #expect(outcome(try store(), id) == "keyUnavailable")
    let found = problem { _ = try store().credentials(id) }
    #expect(found?.advice == .nameKeyCommand)
    #expect(try store(command: print).maintenance.rotateKey { _, _ in }.droppedSlots == [])
    #expect(outcome(try store(command: print), id) == "opens")
    let rows = try SQLiteTool(path: home.database).run("SELECT hex(parameters) FROM keyslot")
    #expect(rows == [""])
  }

  @Test func `A new store begins with the program's key, run twice, and makes no key file`()
    throws
  {
    let count = "\(home.path)/count"
    let print = "echo >>'\(count)'; echo \(String(repeating: "5a", count: 32))"
    let open = try store(command: print)
    #expect(problem { _ = try open.add(.example(), .none) }?.detail == "locked")
    #expect(!FileManager.default.fileExists(atPath: count))
    let id = try open.add(.example(), .usual).account.id
    #expect(outcome(open, id) == "opens")
    #expect(try String(contentsOfFile: count, encoding: .utf8) == "\n\n")
    #expect(try store().protection(.none) == "command")
    #expect(!FileManager.default.fileExists(atPath: home.keyDirectory))
  }

  @Test(
    "A program without a key is given up with its reason, and the slots are unchanged",
    arguments: [
      ("exec sleep 60", "did not end within 5 seconds"),
      ("exec >&-; exec sleep 60", "did not end within 5 seconds"),
      ("printf '%01025d' 0", "printed more than 1024 bytes"),
      ("printf '%01024d' 0", "printed no key"),
      (":", "printed nothing"), ("echo 5a", "printed no key"),
      ("echo \(String(repeating: "5a", count: 32)); exit 1", "ended with exit code 1"),
      ("kill -9 $$", "ended with exit code 137"),
      ("head -c 32 /dev/urandom", "printed another key the second time"),
    ])
  func failingCommand(script: String, reason: String) throws {
    let id = try store().add(.example(), .usual).account.id
    let before = try slots()
    let found = problem { _ = try store(command: script).maintenance.addKeySlot("command", nil) }
    #expect(found?.detail == "keyUnavailable")
    #expect(found?.message.contains(reason) == true, "\(found?.message ?? "")")
    #expect(try slots() == before && outcome(try store(command: script), id) == "opens")
  }

  @Test func `A program that is missing is named`() throws {
    let command = KeyCommand(words: ["/nowhere/key"])
    let found = problem { _ = try command.read() }
    #expect(found?.path == "/nowhere/key" && found?.detail == "keyUnavailable")
  }

  /// Scripts in place of the keyring's program. The first is the negative control, the others
  /// misbehave.
  static let programs: [(does: String, isTaken: Bool)] = [
    ("case $1 in store) cat >RING ;; lookup) cat RING ;; esac", true),
    ("exec sleep 60", false),
    ("case $1 in store) cat >RING ;; lookup) exec sleep 60 ;; esac", false),
    ("case $1 in store) cat >RING ;; lookup) echo nonsense ;; esac", false),
    ("case $1 in store) cat >RING ;; lookup) tr A-Za-z N-ZA-Mn-za-m <RING ;; esac", false),
    ("kill -9 $$", false), ("exit 1", false), ("while :; do echo too much; done", false),
  ]

  @Test(arguments: programs)
  func `A keyring that misbehaves is given up in time, and the slots are unchanged`(
    row: (does: String, isTaken: Bool)
  ) throws {
    let program = row.does.replacingOccurrences(of: "RING", with: "'\(home.path)/ring'")
    let id = try store().add(.example(), .usual).account.id
    let before = try slots()
    let start = ContinuousClock.now
    let found = problem {
      let keyring = KeySecretService.playing(
        program, limitMilliseconds: row.isTaken ? 60_000 : KeySecretService().limitMilliseconds)
      _ = try store(keyring: keyring).maintenance.addKeySlot("secretservice", nil)
    }
    // The limit is 3 s. The test allows 30 s for a busy machine, because the script would take 60
    // s.
    #expect(ContinuousClock.now - start < .seconds(30))
    #expect(found?.detail == (row.isTaken ? nil : "keyUnavailable"))
    // Exit code 1 can also mean that no Secret Service runs.
    if row.does == "exit 1" {
      #expect(found?.message.contains("No Secret Service is running") == true)
    }
    #expect((try slots() == before) == !row.isTaken)
    #expect(outcome(try store(), id) == "opens")
  }
}

extension KeySecretService {
  /// Returns a keyring whose program is a shell script.
  ///
  /// - Parameter limit: milliseconds; the default is long enough for a busy machine.
  fileprivate static func playing(
    _ script: String, limitMilliseconds limit: Int = 60_000
  ) -> KeySecretService {
    KeySecretService(
      command: ["/bin/sh", "-c", script, "secret-tool"], limitMilliseconds: limit)
  }
}
