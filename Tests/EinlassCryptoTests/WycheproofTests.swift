import EinlassCrypto
import Foundation
import Testing

/// The valid and invalid cases of Wycheproof for the algorithms of einlass.
@Suite struct WycheproofTests {
  private struct File: Decodable {
    var numberOfTests: Int
    var testGroups: [Group]
  }

  private struct Group: Decodable {
    var keySize: Int
    var ivSize: Int?
    var tagSize: Int
    var tests: [Row]
  }

  private struct Row: Decodable {
    var tcId: Int
    var key: String
    var iv: String?
    var aad: String?
    var msg: String
    var ct: String?
    var tag: String
    var result: String

    var isValid: Bool { result == "valid" }
  }

  private static func groups(_ name: String, count: Int) throws -> [Group] {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let path = folder.appending(path: "Vectors/Wycheproof/\(name)_test.json")
    let file = try JSONDecoder().decode(File.self, from: Data(contentsOf: path))
    try #require(file.numberOfTests == count)
    try #require(file.testGroups.reduce(0) { $0 + $1.tests.count } == count)
    return file.testGroups
  }

  @Test func `AES-256-GCM opens exactly the valid cases and seals them to the same bytes`() throws {
    let groups = try Self.groups("aes_gcm", count: 316).filter { $0.keySize == 256 }
    var seen = (valid: 0, invalid: 0, otherNonce: 0)
    for group in groups {
      for row in group.tests {
        let key = Secret(bytes(row.key))
        let nonce = bytes(row.iv ?? "")
        let data = bytes(row.aad ?? "")
        let sealed = bytes(row.ct ?? "") + bytes(row.tag)
        let opened = try? AuthenticatedEncryption.open(
          sealed, key: key, nonce: nonce, associatedData: data)
        // Nonces of einlass have 96 bits. Other sizes are refused, also in valid cases.
        guard group.ivSize == 96 else {
          #expect(opened == nil, "case \(row.tcId)")
          seen.otherNonce += 1
          continue
        }
        #expect(opened == (row.isValid ? bytes(row.msg) : nil), "case \(row.tcId)")
        let resealed = AuthenticatedEncryption.seal(
          bytes(row.msg), key: key, nonce: nonce, associatedData: data)
        #expect((resealed == sealed) == row.isValid, "case \(row.tcId)")
        if row.isValid { seen.valid += 1 } else { seen.invalid += 1 }
      }
    }
    #expect(seen == (39, 27, 39))
  }

  @Test(arguments: [("hmac_sha1", 170, 66), ("hmac_sha256", 174, 66)])
  func `HMAC gives the tag of exactly the valid cases`(name: String, count: Int, valid: Int) throws
  {
    var seen = 0
    for group in try Self.groups(name, count: count) {
      for row in group.tests {
        let (key, message) = (bytes(row.key), bytes(row.msg))
        let code =
          name == "hmac_sha1"
          ? MessageAuthentication.hmacSHA1(key: key, message: message)
          : MessageAuthentication.hmacSHA256(key: key, message: message)
        let isRight = constantTimeEqual(Array(code.prefix(group.tagSize / 8)), bytes(row.tag))
        #expect(isRight == row.isValid, "case \(row.tcId)")
        if row.isValid { seen += 1 }
      }
    }
    #expect(seen == valid)
  }
}
