import Einlass
import EinlassCrypto
import EinlassSystem
import Foundation
import TestSupport
import Testing

@testable import EinlassStorage

/// A passphrase slot whose secret the kernel keeps for a while. The keyring is the real one; each store is new, and its
/// secret is forgotten at the end of its test.
///
/// Serialized, because scrypt needs much memory for each passphrase.
@Suite(
  .serialized,
  .enabled(if: (try? KernelKeyring.requireAllowed()) != nil, "the kernel refuses keyrings here"))
struct UnlockTests {
  private let home: StoreHome
  private let id: Account.ID

  /// Makes a store with the slots `keyfile` and `passphrase`.
  init() throws {
    home = try StoreHome()
    id = try Self.store(home).add(.example(), .usual).account.id
    _ = try Self.store(home).maintenance.addKeySlot("passphrase", Secret("right"))
  }

  /// Returns the store as in a process with these options.
  private static func store(
    _ home: StoreHome, _ choice: KeySource.Choice = .usual, command: String? = nil
  ) -> AccountStore {
    let location = StoreLocation(directory: home.directory, keyDirectory: home.keyDirectory)
    return SQLiteAccountStore.store(
      location: location,
      keys: KeySource(
        choice, stretching: .init(cost: 1 << 10, blockSize: 8, parallelism: 1),
        secretService: KeySecretService(command: nil),
        command: command.map { KeyCommand(words: ["/bin/sh", "-c", $0]) }, location: location))
  }

  private func store(_ choice: KeySource.Choice = .usual, command: String? = nil) -> AccountStore {
    Self.store(home, choice, command: command)
  }

  /// The store's id, which names the secret in the keyring.
  private var name: String {
    get throws {
      try #require(try SQLiteTool(path: home.database).run("SELECT store FROM meta").first)
    }
  }

  private func opens(_ store: AccountStore) -> Bool {
    problem { _ = try store.contents(id) } == nil
  }

  private func unlock(_ passphrase: String = "right") throws {
    try store().maintenance.unlock(Secret(passphrase), 60, 1_790_000_000)
  }

  private func removeKeyFile() throws {
    _ = try store().maintenance.removeKeySlot("keyfile")
  }

  @Test func `An unlocked store opens in other processes, until it is locked`() throws {
    try removeKeyFile()
    #expect(!opens(store()))
    #expect(try store().maintenance.status(.usual).unlockedUntil == nil)
    try unlock()
    #expect(opens(store()))
    #expect(try store().maintenance.status(.usual).unlockedUntil == 1_790_000_000)
    #expect(try store().maintenance.lock() && !store().maintenance.lock())
    #expect(!opens(store()))
    #expect(try store().maintenance.status(.usual).unlockedUntil == nil)
  }

  @Test func `A wrong passphrase, or none, keeps nothing`() throws {
    let wrong = problem { try unlock("wrong") }
    #expect(wrong?.detail == "keyUnavailable" && wrong?.neededPrompts.count == 1)
    try store().maintenance.unlock(nil, 0, 0)
    #expect(try KeptKey(of: name) == nil)
  }

  @Test func `A store without a passphrase slot is refused`() throws {
    _ = try store().maintenance.removeKeySlot("passphrase")
    for passphrase in [nil, Secret("right")] {
      let found = problem { try store().maintenance.unlock(passphrase, 60, 0) }
      #expect(found?.detail == "refused" && found?.advice == .addSlotFirst)
    }
  }

  @Test func `The error of a locked store has unlocking as its step, and the rest has not`() throws
  {
    try removeKeyFile()
    #expect(problem { _ = try store().contents(id) }?.advice == .unlockStore)
    let named = store(.file("\(home.path)/none.key"))
    #expect(problem { _ = try named.contents(id) }?.advice != .unlockStore)
  }

  @Test(arguments: ["replace", "remove", "rotate"])
  func `The kernel forgets the secret of a replaced or removed slot, and at a rotation`(
    change: String
  ) throws {
    try unlock()
    let kept = try #require(try KeptKey(of: name))
    switch change {
    case "replace": _ = try store().maintenance.addKeySlot("passphrase", Secret("other"))
    case "remove": _ = try store().maintenance.removeKeySlot("passphrase")
    default: _ = try store().maintenance.rotateKey { _, _ in }
    }
    #expect(try KeptKey(of: name) == nil)
    guard change == "replace" else { return }
    // A copy of the secret does not open the slot that came after it, and hides no other way in.
    try kept.keep(for: name, seconds: 60)
    defer { _ = try? KeptKey.forget(name) }
    #expect(opens(store()))
    #expect(try store().maintenance.status(.usual).unlockedUntil == nil)
    try removeKeyFile()
    #expect(!opens(store()))
  }

  @Test func `A rotation in an unlocked store keeps its passphrase slot`() throws {
    try removeKeyFile()
    try unlock()
    #expect(try store().maintenance.rotateKey { _, _ in }.droppedSlots == [])
    try unlock()
    defer { _ = try? KeptKey.forget(name) }
    #expect(opens(store()))
  }

  @Test func `A named key has no fallback, and a failing program is not asked`() throws {
    let print = "echo run >>'\(home.path)/runs'; echo \(String(repeating: "5a", count: 32))"
    _ = try store(command: print).maintenance.addKeySlot("command", nil)
    try removeKeyFile()
    try unlock()
    defer { _ = try? KeptKey.forget(name) }
    #expect(!opens(store(.file("\(home.path)/none.key"))))
    let runs = try String(contentsOfFile: "\(home.path)/runs", encoding: .utf8)
    #expect(opens(store(command: "echo run >>'\(home.path)/runs'; exit 1")))
    #expect(try String(contentsOfFile: "\(home.path)/runs", encoding: .utf8) == runs)
  }
}
