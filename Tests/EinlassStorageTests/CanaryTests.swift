import Einlass
import EinlassCrypto
import Foundation
import Testing

@testable import EinlassStorage

/// No file of the store contains a secret in any encoding, even after its deletion.
struct CanaryTests {
  /// The encodings in which a secret could be written by mistake.
  enum Encoding: CaseIterable {
    case raw, hexadecimal, base64, base64URL, percent, utf16, reversed

    /// Returns the texts to search for. Base64 depends on the offset of the secret in the encoded
    /// data.
    func forms(of bytes: [UInt8]) -> [[UInt8]] {
      switch self {
      case .raw: return [bytes]
      case .hexadecimal:
        let text = Hexadecimal.encode(bytes)
        return [Array(text.utf8), Array(text.uppercased().utf8)]
      case .base64: return cuts(of: bytes) { Base64.encode($0) }
      case .base64URL: return cuts(of: bytes) { Base64URL.encode($0) }
      case .percent:
        return [bytes.flatMap { Array("%\(Hexadecimal.encode([$0]).uppercased())".utf8) }]
      case .utf16: return [bytes.flatMap { [$0, 0] }]
      case .reversed: return [bytes.reversed()]
      }
    }

    private func cuts(of bytes: [UInt8], _ encode: ([UInt8]) -> String) -> [[UInt8]] {
      (0..<3).map { offset in
        // Only whole groups of three bytes, because their four letters do not depend on other
        // bytes.
        let rest = Array(bytes.dropFirst(offset))
        return Array(encode(Array(rest.prefix(rest.count / 3 * 3))).utf8)
      }
    }
  }

  /// Returns the files below the home that contain a canary, with its encoding.
  private static func leaks(of canaries: [String], in home: StoreHome) throws -> [String] {
    try leaks(ofBytes: canaries.map { Array($0.utf8) }, in: home)
  }

  private static func leaks(ofBytes canaries: [[UInt8]], in home: StoreHome) throws -> [String] {
    let names = try #require(FileManager.default.subpaths(atPath: home.path))
    var leaks: [String] = []
    for name in names {
      guard let content = FileManager.default.contents(atPath: home.path + "/" + name) else {
        continue
      }
      for encoding in Encoding.allCases {
        for canary in canaries {
          for form in encoding.forms(of: canary) where content.range(of: Data(form)) != nil {
            leaks.append("\(name): \(encoding)")
          }
        }
      }
    }
    return leaks
  }

  @Test(arguments: Encoding.allCases)
  func `The search finds a planted canary in every encoding`(_ encoding: Encoding) throws {
    let home = try StoreHome()
    let canary = "canary-\(UUID().uuidString)"
    let encoded: [UInt8] =
      switch encoding {
      case .base64: Array(Base64.encode(Array("xy\(canary)z".utf8)).utf8)
      case .base64URL: Array(Base64URL.encode(Array("x\(canary)yz".utf8)).utf8)
      default: encoding.forms(of: Array(canary.utf8))[0]
      }
    try Data([1, 2, 3] + encoded + [4]).write(to: URL(fileURLWithPath: home.path + "/planted"))
    #expect(try Self.leaks(of: [canary], in: home).contains("planted: \(encoding)"))
    // Negative control: a different canary is not found.
    #expect(try Self.leaks(of: ["canary-\(UUID().uuidString)"], in: home).isEmpty)
  }

  @Test func `Fifty accounts leave no secret in any file, also after change and removal`() throws {
    let home = try StoreHome()
    let store = home.store()
    let canary = "canary-\(UUID().uuidString)"
    var ids: [Account.ID] = []
    for number in 0..<50 {
      let id = try store.add(
        .example("user\(number)", secrets: "\(canary)-\(number)"), .usual
      ).account.id
      _ = try store.saveCredential(id, .oauth2Example("\(canary)-\(number)"))
      ids.append(id)
    }
    let key = try #require(
      FileManager.default.contents(
        atPath: home.keyDirectory + "/"
          + FileManager.default.contentsOfDirectory(atPath: home.keyDirectory)[0]))
    let root = try #require(KeyText.secret(Array(key)))
    #expect(try Self.leaks(of: [canary], in: home).isEmpty)
    for id in ids { _ = try store.saveCredential(id, .oauth2Example("\(canary)-again")) }
    #expect(try Self.leaks(of: [canary], in: home).isEmpty)
    for id in ids.prefix(25) { _ = try store.remove(id, .usual) }
    #expect(try Self.leaks(of: [canary], in: home).isEmpty)
    // The key is in its own file and in no other. Names are stored unencrypted.
    let keys = try Self.leaks(ofBytes: [root.reveal()], in: home)
    #expect(!keys.isEmpty && keys.allSatisfy { $0.hasPrefix("keys/") }, "\(keys)")
    #expect(try Self.leaks(of: ["user49"], in: home).contains { $0.hasPrefix("data/store.db") })
  }

  @Test func `A deleted account is gone from the database file`() throws {
    let home = try StoreHome()
    var store: AccountStore? = home.store()
    var new = AccountStore.NewAccount.example("canary-\(UUID().uuidString)")
    // A fixed id, because the list of changes keeps the id of a removed account, and the example's
    // id contains the username.
    new.account.id = Account.ID(rawValue: "a_removed")
    let id = try #require(try store?.add(new, .usual).account.id)
    let sealed = try SQLiteTool(path: home.database).run("SELECT hex(token) FROM credential")[0]
    let canaries = [new.account.username, String(sealed.prefix(64))]
    store = nil  // closing moves the journal into the database
    #expect(try content(home.database, contains: new.account.username))
    #expect(try contentHex(home.database, contains: canaries[1]))
    store = home.store()
    _ = try store?.remove(id, .usual)
    _ = try store?.add(.example("next"), .usual)
    store = nil
    #expect(try !content(home.database, contains: canaries[0]))
    #expect(try !contentHex(home.database, contains: canaries[1]))
    let journal = try FileManager.default.attributesOfItem(atPath: home.database + "-wal")
    #expect(journal[.size] as? Int == 0)
  }

  private func content(_ path: String, contains text: String) throws -> Bool {
    try #require(FileManager.default.contents(atPath: path)).range(of: Data(text.utf8)) != nil
  }

  private func contentHex(_ path: String, contains hexadecimal: String) throws -> Bool {
    let bytes = try #require(Hexadecimal.decode(hexadecimal))
    return try #require(FileManager.default.contents(atPath: path)).range(of: Data(bytes)) != nil
  }
}
