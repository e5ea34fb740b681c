import Einlass
import Foundation
import TestSupport
import Testing

@testable import EinlassStorage

/// A damaged store file leads to a typed problem or to the right credential, never to a crash, and
/// reading writes nothing.
///
/// `EINLASS_FAULT_ROUNDS` sets the number of flipped bits; the default is 200.
struct CorruptionTests {
  @Test func `With any damage in the file, a credential is either right or refused`() async {
    await #expect(processExitsWith: .success) {
      var trial = try DamageTrial()
      let damages = trial.damages
      for damage in damages { try trial.run(damage) }
      let outcome = trial.outcome
      #expect(damages.count >= 200 && outcome.wrong.isEmpty, "\(outcome)")
      #expect(outcome.right > 0 && outcome.refused > 0)
      // Negative control: a program that does not check the file reads changed values.
      #expect(outcome.believedWrong > 0)
    }
  }
}

/// A good store that is damaged again and again.
private struct DamageTrial {
  /// A change of the bytes of the database or of its journal.
  struct Damage {
    var name: String
    var suffix = ""
    var edit: ([UInt8]) -> [UInt8]?
  }

  struct Outcome {
    var right = 0
    var refused = 0
    var believedWrong = 0
    /// The damages after which a check failed, each with the step and the error.
    var wrong: [String] = []
  }

  private static let pageCount = 4096
  private static var flips: Int {
    ProcessInfo.processInfo.environment["EINLASS_FAULT_ROUNDS"].flatMap(Int.init) ?? 200
  }

  private let home: StoreHome
  private let originals: [Account.ID: StoredCredential]
  private let database: [UInt8]
  private let journal: [UInt8]
  private let tokens: [String]
  private(set) var outcome = Outcome()

  init() throws {
    home = try StoreHome()
    var originals: [Account.ID: StoredCredential] = [:]
    // Stays open, so that a part of its changes is still in the journal.
    let store = home.store()
    for name in ["ada", "grace", "hedy"] {
      let new = AccountStore.NewAccount.example(name, secrets: name)
      originals[new.account.id] = new.credential
      _ = try store.add(new, .usual)
      if name == "ada" {
        try SQLiteTool(path: home.database).run("PRAGMA wal_checkpoint(TRUNCATE)")
      }
    }
    self.originals = originals
    tokens = try SQLiteTool(path: home.database).run(Self.readTokens)
    journal = try Self.bytes(home.database + "-wal")
    let whole = home.path + "/whole.db"
    _ = try store.maintenance.backup(whole) { _, _ in }
    // The backup has no journal, but a store in use has one.
    try SQLiteTool(path: whole).run("PRAGMA journal_mode = WAL")
    database = try Self.bytes(whole)
  }

  private static let readTokens = "SELECT hex(token) FROM credential ORDER BY account"

  private static func bytes(_ path: String) throws -> [UInt8] {
    try Array(#require(FileManager.default.contents(atPath: path)))
  }

  var damages: [Damage] {
    var random = SeededChance(11)
    let count = database.count
    var all = (0..<Self.flips).map { _ in
      flip(Int.random(in: 0..<8, using: &random), of: Int.random(in: 0..<count, using: &random))
    }
    // These flips are certain to hit a sealed value.
    for token in tokens.compactMap({ Hexadecimal.decode($0) }) {
      guard let place = Data(database).firstRange(of: token)?.lowerBound else { continue }
      all += stride(from: 0, to: token.count, by: 5).map { flip($0 % 8, of: place + $0) }
    }
    for start in stride(from: 0, to: count, by: Self.pageCount) {
      // The start of the page's cells: the next insert writes over one of them.
      all.append(flip(3, of: start + 6))
      all.append(
        Damage(name: "page at \(start) zeroed") { bytes in
          bytes[..<start] + [UInt8](repeating: 0, count: Self.pageCount)
            + bytes[(start + Self.pageCount)...]
        })
    }
    for length in stride(from: 0, to: count, by: 512) {
      all.append(Damage(name: "cut to \(length)") { Array($0[..<length]) })
    }
    let noise = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
    for length in [1, 100, 511, 4096, 10_000] {
      all.append(Damage(name: "\(length) bytes appended") { $0 + noise[..<length] })
      all.append(
        Damage(name: "\(length) bytes replaced") { Array(noise[..<length] + $0[length...]) })
    }
    all.append(Damage(name: "noise") { _ in noise })
    all.append(Damage(name: "noise with the right header") { Array($0[..<100] + noise[100...]) })
    all.append(Damage(name: "a directory in its place") { _ in nil })
    for place in stride(from: 0, to: journal.count, by: journal.count / 20) {
      all.append(
        Damage(name: "a journal with another byte \(place)", suffix: "-wal") { [journal] _ in
          var bytes = journal
          bytes[place] ^= 0x10
          return bytes
        })
    }
    all.append(Damage(name: "a journal of noise", suffix: "-wal") { _ in noise })
    return all
  }

  private func flip(_ bit: Int, of place: Int) -> Damage {
    Damage(name: "bit \(bit) of byte \(place)") { bytes in
      var bytes = bytes
      bytes[place] ^= 1 << bit
      return bytes
    }
  }

  mutating func run(_ damage: Damage) throws {
    _ = try? FileManager.default.removeItem(atPath: home.directory)
    mkdir(home.directory, 0o700)
    write(database, to: home.database)
    write(damage.edit(database), to: home.database + damage.suffix)
    let before = FileManager.default.contents(atPath: home.database)
    let store = home.store()
    check("snapshot", after: damage) {
      _ = try store.snapshot(.usual)
      return 0
    }
    check("check", after: damage) {
      _ = try store.maintenance.check { _, _ in }
      return 0
    }
    for (id, original) in originals {
      check("contents", after: damage) {
        let credentials = try store.contents(id)
        for var stored in credentials {
          stored.isRefused = false  // stored unencrypted; a change only causes another request
          guard stored == original else { throw Wrong() }
        }
        return credentials.count
      }
    }
    if damage.suffix.isEmpty, FileManager.default.contents(atPath: home.database) != before {
      outcome.wrong.append("\(damage.name): reading has written")
    }
    // A plain SQLite connection reads the damaged file before the store is changed.
    if let read = try? SQLiteTool(path: home.database).run(Self.readTokens), read != tokens {
      outcome.believedWrong += 1
    }
    check("add", after: damage) {
      let new = AccountStore.NewAccount.example("new")
      _ = try store.add(new, .usual)
      let stored = try store.contents(new.account.id)
      if stored.isEmpty {
        // A damaged index can hide the new row, but not from SQLite's own check.
        let findings = try store.maintenance.check { _, _ in }.findings
        guard findings.contains(where: { $0.message.contains("missing from index") }) else {
          throw Wrong()
        }
        return 0
      }
      guard stored == [new.credential] else { throw Wrong() }
      return 1
    }
  }

  private struct Wrong: Error {}

  /// Counts the right credentials of the body. Records an error without a documented reason.
  private mutating func check(_ step: String, after damage: Damage, _ body: () throws -> Int) {
    do { outcome.right += try body() } catch let error {
      let reason = (error as? Problem)?.reason
      if let reason, [.accountStoreFailure, .bindingMismatch, .unknownAccount].contains(reason) {
        outcome.refused += 1
      } else {
        outcome.wrong.append("\(damage.name): \(step): \(error)")
      }
    }
  }

  private func write(_ bytes: [UInt8]?, to path: String) {
    guard let bytes else {
      _ = try? FileManager.default.removeItem(atPath: path)
      mkdir(path, 0o700)
      return
    }
    _ = FileManager.default.createFile(
      atPath: path, contents: Data(bytes), attributes: [.posixPermissions: 0o600])
  }
}
